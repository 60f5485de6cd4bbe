// SPDX-License-Identifier: Apache-2.0
/* What agents say of films that wait with them: hostile headers, sums, and how long they count. */
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	backlogs_read(b, 1, "a", "doubt=0, films=0, oldest=0", NOW);
	backlogs_read(b, 2, "a", "doubt=1, films=12, oldest=93", NOW);
	backlogs_read(b, 3, "a", "doubt=2, films=3, oldest=40", NOW + SECOND);
	assert_sum(b, NOW,
		   (struct backlogs_sum){
			   .agents = 3, .behind = 2, .films = 15, .doubt = 3, .oldest = 93});
	/* what an agent says replaces what it said before; one that says nothing does not count */
	backlogs_read(b, 2, "a", "doubt=0, films=0, oldest=0", NOW + 2 * SECOND);
	backlogs_read(b, 4, "a", NULL, NOW);
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
		"doubt=0, films=0, oldest=0, bytes=1",
		"doubt=1, films=1, oldest=1, bytes=",
		"doubt=1, films=1, oldest=1, bytes=1,",
		/* too many */
		"doubt=1, films=1, oldest=1, bytes=281474976710657",
		"doubt=1, films=1000001, oldest=1",
		"doubt=18446744073709551617, films=18446744073709551617, oldest=1",
		"doubt=1, films=1, oldest=99999999999999999999999999999999999999",
		"doubt=1, films=1, oldest=3153600001",
	};
	size_t count = sizeof(wrong) / sizeof(wrong[0]);
	struct backlogs *b = backlogs_new();

	(void)state;
	for (size_t i = 0; i < count; i++)
		backlogs_read(b, i, "a", wrong[i], NOW);
	assert_sum(b, NOW, (struct backlogs_sum){.malformed = count});
	backlogs_read(b, 1, "a", "doubt=0, films=1000000, oldest=3153600000", NOW);
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
		backlogs_read(b, i, "a", "doubt=1, films=1, oldest=7", NOW + i % 2 * SECOND);
	for (uint64_t i = 0; i < 10; i++)
		backlogs_read(b, BACKLOGS_AGENTS_MAX + i, "a", "doubt=1, films=1, oldest=9", NOW);
	assert_sum(b, NOW,
		   (struct backlogs_sum){.agents = BACKLOGS_AGENTS_MAX,
					 .behind = BACKLOGS_AGENTS_MAX,
					 .films = BACKLOGS_AGENTS_MAX,
					 .doubt = BACKLOGS_AGENTS_MAX,
					 .oldest = 7,
					 .crowded = 10});
	/* those that are known go on, and silent ones make room */
	backlogs_read(b, 3, "a", "doubt=0, films=0, oldest=0", NOW + SECOND);
	backlogs_read(b, BACKLOGS_AGENTS_MAX, "a", "doubt=1, films=2, oldest=9",
		      NOW + BACKLOGS_FRESH_NS);
	backlogs_read(b, 5, "a", "doubt=0, films=0, oldest=0", NOW + BACKLOGS_FRESH_NS);
	assert_sum(b, NOW + BACKLOGS_FRESH_NS,
		   (struct backlogs_sum){.agents = BACKLOGS_AGENTS_MAX / 2 + 1,
					 .behind = BACKLOGS_AGENTS_MAX / 2 - 1,
					 .films = BACKLOGS_AGENTS_MAX / 2,
					 .doubt = BACKLOGS_AGENTS_MAX / 2 - 1,
					 .oldest = 9,
					 .crowded = 10});
	backlogs_free(b);
}

/* A list with a bound, by age, of however many agents; each id once, and none that is silent. */
static void worst_agents(void **state)
{
	struct backlogs *b = backlogs_new();
	struct backlogs_agent worst[BACKLOGS_WORST];
	char name[2 * BACKLOGS_NAME_MAX], header[80];

	(void)state;
	assert_int_equal(backlogs_worst(b, NOW, worst), 0);
	for (uint64_t i = 0; i < 1000; i++) {
		/* 7 and 1000 have no divisor: each age once, in no order */
		uint64_t age = i * 7 % 1000;

		snprintf(name, sizeof(name), "agent-%u", (unsigned int)age);
		snprintf(header, sizeof(header), "doubt=0, films=1, oldest=%u, bytes=%u",
			 (unsigned int)age, 10 * (unsigned int)age);
		backlogs_read(b, i, name, header, NOW);
	}
	assert_int_equal(backlogs_worst(b, NOW, worst), BACKLOGS_WORST);
	for (uint64_t i = 0; i < BACKLOGS_WORST; i++) {
		snprintf(name, sizeof(name), "agent-%u", (unsigned int)(999 - i));
		assert_string_equal(worst[i].name, name);
		assert_int_equal(worst[i].oldest, 999 - i);
		assert_int_equal(worst[i].bytes, 10 * (999 - i));
		assert_int_equal(worst[i].films, 1);
	}
	/* the same id with another token, older and younger */
	backlogs_read(b, 2000, "agent-998", "doubt=0, films=2, oldest=5000, bytes=1", NOW);
	backlogs_read(b, 2001, "agent-999", "doubt=0, films=2, oldest=5, bytes=1", NOW);
	assert_int_equal(backlogs_worst(b, NOW, worst), BACKLOGS_WORST);
	assert_string_equal(worst[0].name, "agent-998");
	assert_int_equal(worst[0].bytes, 1);
	assert_string_equal(worst[1].name, "agent-999");
	assert_string_equal(worst[2].name, "agent-997");
	assert_int_equal(sum_at(b, NOW).bytes, 10 * 999 * 1000 / 2 + 2);
	/* of one with a long id, and one that has sent all */
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = 0;
	backlogs_read(b, 1, name, "doubt=0, films=1, oldest=3, bytes=4", NOW + BACKLOGS_FRESH_NS);
	backlogs_read(b, 2, "agent-14", "doubt=0, films=0, oldest=0, bytes=0",
		      NOW + BACKLOGS_FRESH_NS);
	assert_int_equal(backlogs_worst(b, NOW + BACKLOGS_FRESH_NS, worst), 1);
	assert_int_equal(strlen(worst[0].name), BACKLOGS_NAME_MAX);
	backlogs_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums),
		cmocka_unit_test(hostile),
		cmocka_unit_test(many),
		cmocka_unit_test(worst_agents),
	};

	return cmocka_run_group_tests_name("server-backlogs", tests, NULL, NULL);
}
