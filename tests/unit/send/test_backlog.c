// SPDX-License-Identifier: Apache-2.0
/* What an agent says of films that it has not delivered, and how often. */
#include "../prelude.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "send/backlog.h"
#include "spool_fixture.h"

#define SECOND UINT64_C(1000000000)
#define WALL   (1767225600 * SECOND)

static void assert_backlog(struct fixture *f, uint64_t beside, uint64_t doubt, const char *wanted)
{
	struct backlog backlog;
	char header[128];

	backlog_read(f->spool, beside, doubt, WALL + 100 * SECOND, &backlog);
	backlog_put_header(&backlog, header, sizeof(header));
	assert_string_equal(header, wanted);
}

/* One that the spool removed to make room, or whose file is not there. */
static void leave(struct fixture *f, uint64_t number)
{
	struct spool_film film;

	assert_true(spool_after(f->spool, number - 1, &film) && film.number == number);
	unlink(film.path);
	spool_gone(f->spool, &film);
}

static void counts(void **state)
{
	const uint64_t first = WALL / 1000000, second = first + 30000, later = first + 200000;
	struct fixture *f = *state;

	open_spool(f, 1000000);
	assert_backlog(f, 0, 0, "X-Stackcam-Backlog: doubt=0, films=0, oldest=0, bytes=0");
	add_film(f, WALL, 1000);
	assert_backlog(f, 0, 1, "X-Stackcam-Backlog: doubt=1, films=1, oldest=100, bytes=1000");
	/* what is on its way does not wait */
	assert_backlog(f, first, 0, "X-Stackcam-Backlog: doubt=0, films=0, oldest=0, bytes=0");
	add_film(f, WALL + 30 * SECOND, 20);
	assert_backlog(f, first, 0, "X-Stackcam-Backlog: doubt=0, films=1, oldest=70, bytes=20");
	assert_backlog(f, second, 1,
		       "X-Stackcam-Backlog: doubt=1, films=1, oldest=100, bytes=1000");
	assert_backlog(f, first + 1, 0,
		       "X-Stackcam-Backlog: doubt=0, films=2, oldest=100, bytes=1020");
	/* one that made room for others meanwhile, and a clock that went back */
	leave(f, first);
	assert_backlog(f, first, 0, "X-Stackcam-Backlog: doubt=0, films=1, oldest=70, bytes=20");
	leave(f, second);
	add_film(f, WALL + 200 * SECOND, 3);
	assert_backlog(f, 0, 0, "X-Stackcam-Backlog: doubt=0, films=1, oldest=0, bytes=3");
	assert_backlog(f, later, 0, "X-Stackcam-Backlog: doubt=0, films=0, oldest=0, bytes=0");
}

/* How many lines a time has in which a film is sent each second. */
static unsigned int lines(struct backlog_pace *pace, uint64_t *now, uint64_t seconds, bool is_stuck,
			  uint64_t doubt)
{
	unsigned int count = 0;

	for (uint64_t i = 0; i < seconds; i++, *now += SECOND)
		count += backlog_is_due(pace, *now, is_stuck, doubt);
	return count;
}

static void pace_of_lines(void **state)
{
	struct backlog_pace pace = {0};
	uint64_t now = 5 * SECOND;

	(void)state;
	assert_int_equal(lines(&pace, &now, 1000, false, 0), 0);
	/* in doubt: at once, after 1, 3, 7, 15, 31, 63 minutes, then each hour */
	assert_int_equal(lines(&pace, &now, 1, true, 1), 1);
	assert_int_equal(lines(&pace, &now, 59, true, 1), 0);
	assert_int_equal(lines(&pace, &now, 1, true, 1), 1);
	assert_int_equal(lines(&pace, &now, 119, true, 1), 0);
	assert_int_equal(lines(&pace, &now, 3661, true, 1), 5);
	assert_int_equal(lines(&pace, &now, 36000, true, 1), 10);
	/* where a doubt comes and goes: no more than one a minute */
	pace = (struct backlog_pace){0};
	for (unsigned int i = 0, said = 0; i < 600; i++) {
		said += lines(&pace, &now, 1, i % 2, i % 2);
		assert_true(said <= 1 + i / 60);
		if (i == 599)
			assert_true(said >= 9);
	}
	/* no film is in doubt: not before they have waited a minute */
	pace = (struct backlog_pace){0};
	assert_int_equal(lines(&pace, &now, 60, true, 0), 0);
	assert_int_equal(lines(&pace, &now, 1, true, 0), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(counts, set_up, tear_down),
		cmocka_unit_test(pace_of_lines),
	};

	return cmocka_run_group_tests_name("send-backlog", tests, NULL, NULL);
}
