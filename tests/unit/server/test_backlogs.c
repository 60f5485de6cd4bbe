// SPDX-License-Identifier: Apache-2.0
/* What agents say of films that wait with them: hostile headers, sums, and how long they count. */
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/backlogs.h"

#define SECOND UINT64_C(1000000000)
#define NOW    (1000 * SECOND)

static struct backlogs_sum sum_at(struct backlogs *b, uint64_t now)
{
	struct backlogs_sum sum;

	backlogs_sum(b, now, &sum);
	return sum;
}

static void assert_sum(struct backlogs *b, uint64_t now, struct backlogs_sum wanted)
{
	struct backlogs_sum sum = sum_at(b, now);

	assert_memory_equal(&sum, &wanted, sizeof(sum));
}

static void sums(void **state)
{
	struct backlogs *b = backlogs_new();

	(void)state;
	assert_sum(b, NOW, (struct backlogs_sum){0});
	backlogs_read(b, 1, "doubt=0, films=0, oldest=0", NOW);
	backlogs_read(b, 2, "doubt=1, films=12, oldest=93", NOW);
	backlogs_read(b, 3, "doubt=2, films=3, oldest=40", NOW + SECOND);
	assert_sum(b, NOW,
		   (struct backlogs_sum){
			   .agents = 3, .behind = 2, .films = 15, .doubt = 3, .oldest = 93});
	/* what an agent says replaces what it said before; one that says nothing does not count */
	backlogs_read(b, 2, "doubt=0, films=0, oldest=0", NOW + 2 * SECOND);
	backlogs_read(b, 4, NULL, NOW);
	assert_sum(b, NOW + 2 * SECOND,
		   (struct backlogs_sum){
			   .agents = 3, .behind = 1, .films = 3, .doubt = 2, .oldest = 40});
	/* and of who is silent nothing counts */
	assert_sum(b, NOW + BACKLOGS_FRESH_NS,
		   (struct backlogs_sum){
			   .agents = 2, .behind = 1, .films = 3, .doubt = 2, .oldest = 40});
	assert_sum(b, NOW + SECOND + BACKLOGS_FRESH_NS, (struct backlogs_sum){.agents = 1});
	backlogs_free(b);
}

static void hostile(void **state)
{
	static const char *const wrong[] = {
		"",
		"doubt",
		"doubt=",
		"doubt=, films=, oldest=",
		"doubt=1",
		"doubt=1, films=1",
		"doubt=1, films=1, oldest=",
		"doubt=1, films=1, oldest=1 ",
		"doubt=1, films=1, oldest=1, oldest=1",
		"doubt=1,films=1,oldest=1",
		" doubt=1, films=1, oldest=1",
		"doubt=-1, films=1, oldest=1",
		"doubt=+1, films=1, oldest=1",
		"doubt=0x1, films=1, oldest=1",
		"doubt=1e1, films=1, oldest=1",
		"films=1, doubt=1, oldest=1",
		/* more in doubt than waits, and an age of nothing */
		"doubt=2, films=1, oldest=1",
		"doubt=0, films=0, oldest=1",
		/* too many */
		"doubt=1, films=1000001, oldest=1",
		"doubt=18446744073709551617, films=18446744073709551617, oldest=1",
		"doubt=1, films=1, oldest=99999999999999999999999999999999999999",
		"doubt=1, films=1, oldest=3153600001",
	};
	size_t count = sizeof(wrong) / sizeof(wrong[0]);
	struct backlogs *b = backlogs_new();

	(void)state;
	for (size_t i = 0; i < count; i++)
		backlogs_read(b, i, wrong[i], NOW);
	assert_sum(b, NOW, (struct backlogs_sum){.malformed = count});
	backlogs_read(b, 1, "doubt=0, films=1000000, oldest=3153600000", NOW);
	assert_sum(b, NOW,
		   (struct backlogs_sum){.agents = 1,
					 .behind = 1,
					 .films = 1000000,
					 .oldest = 3153600000,
					 .malformed = count});
	backlogs_free(b);
}

/* However many there are, or are made up, memory has its bound, and each one left out counts. */
static void many(void **state)
{
	struct backlogs *b = backlogs_new();

	(void)state;
	for (uint64_t i = 0; i < BACKLOGS_AGENTS_MAX; i++)
		backlogs_read(b, i, "doubt=1, films=1, oldest=7", NOW + i % 2 * SECOND);
	for (uint64_t i = 0; i < 10; i++)
		backlogs_read(b, BACKLOGS_AGENTS_MAX + i, "doubt=1, films=1, oldest=9", NOW);
	assert_sum(b, NOW,
		   (struct backlogs_sum){.agents = BACKLOGS_AGENTS_MAX,
					 .behind = BACKLOGS_AGENTS_MAX,
					 .films = BACKLOGS_AGENTS_MAX,
					 .doubt = BACKLOGS_AGENTS_MAX,
					 .oldest = 7,
					 .crowded = 10});
	/* those that are known go on, and silent ones make room */
	backlogs_read(b, 3, "doubt=0, films=0, oldest=0", NOW + SECOND);
	backlogs_read(b, BACKLOGS_AGENTS_MAX, "doubt=1, films=2, oldest=9",
		      NOW + BACKLOGS_FRESH_NS);
	backlogs_read(b, 5, "doubt=0, films=0, oldest=0", NOW + BACKLOGS_FRESH_NS);
	assert_sum(b, NOW + BACKLOGS_FRESH_NS,
		   (struct backlogs_sum){.agents = BACKLOGS_AGENTS_MAX / 2 + 1,
					 .behind = BACKLOGS_AGENTS_MAX / 2 - 1,
					 .films = BACKLOGS_AGENTS_MAX / 2,
					 .doubt = BACKLOGS_AGENTS_MAX / 2 - 1,
					 .oldest = 9,
					 .crowded = 10});
	backlogs_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums),
		cmocka_unit_test(hostile),
		cmocka_unit_test(many),
	};

	return cmocka_run_group_tests_name("server-backlogs", tests, NULL, NULL);
}
