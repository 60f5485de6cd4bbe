// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "film/events.h"
#include "film_build.h"
#include "query/threads.h"
#include "show/threads.h"

/*
 * Two workers that wait alike, one elsewhere, one that runs (three samples); and another process.
 */
static struct film *film_of_threads(void)
{
	struct film_event on_cpu = event_from(EVENT_ON_CPU, "cpu-clock");
	uint32_t cpus, web, busy, threads[3];
	struct film_build b;
	struct film_wait row = {.count = 1, .state = FILM_WAIT_SLEEPS, .call = SYS_futex + 1};

	film_build_begin(&b, "dump", "ns");
	cpus = film_add_event(b.w, &on_cpu);
	web = film_build_thread(&b, 20, "web\033[31m", 20, "web\033[31m");
	for (uint32_t i = 0; i < 3; i++)
		threads[i] = film_build_thread(&b, 10, "db", 12 - i, "worker");
	busy = film_build_thread(&b, 10, "db", 13, "busy");
	b.end += 1000000000;
	row.end = FILM_BUILD_START + 1000000;
	row.duration = 500000;
	row.stack = film_build_stack(&b, "main;lock;k!futex_wait");
	for (uint32_t i = 0; i < 2; i++) {
		row.thread = threads[i];
		film_wait(b.w, b.event, &row);
	}
	row.thread = threads[2];
	row.stack = film_build_stack(&b, "main;get;k!tcp_recvmsg");
	row.call = SYS_read + 1;
	row.descriptor = FILM_FD_SOCKET;
	film_wait(b.w, b.event, &row);
	row.thread = web;
	row.stack = 0;
	film_wait(b.w, b.event, &row);
	row.thread = busy;
	row.state = FILM_WAIT_RUNS;
	row.duration = 0;
	film_wait(b.w, b.event, &row);
	film_sample(b.w, cpus, row.end - 700000, busy, film_build_stack(&b, "main;before"), 1);
	film_sample(b.w, cpus, row.end + 300000, busy, film_build_stack(&b, "main;then"), 1);
	film_sample(b.w, cpus, row.end + 900000, busy, film_build_stack(&b, "main;later"), 1);
	return film_build_open(&b);
}

static void make(struct film *film, const struct shape *shape, struct thread_dump *dump)
{
	struct fail why = {0};

	if (thread_dump_make(film, shape, dump, &why)) {
		fail_print(&why);
		fail_msg("no dump");
	}
}

static void test_order_and_groups(void **state)
{
	static const uint32_t tids[] = {10, 11, 12, 13, 20};
	static const size_t groups[] = {0, 1, 1, 3, 4};
	struct shape shape = {0};
	struct film *film = film_of_threads();
	struct thread_dump dump;

	(void)state;
	make(film, &shape, &dump);
	assert_int_equal(dump.count, 5);
	for (size_t i = 0; i < dump.count; i++) {
		assert_int_equal(film->threads[dump.threads[i].thread].tid, tids[i]);
		assert_int_equal(dump.threads[i].group, groups[i]);
	}
	assert_int_equal(dump.threads[0].class, WAIT_RECEIVE);
	assert_int_equal(dump.threads[1].class, WAIT_LOCK);
	assert_string_equal(dump.threads[1].call, "futex");
	assert_int_equal(dump.threads[3].state, FILM_WAIT_RUNS);
	assert_string_equal(dump.threads[3].call, "");
	thread_dump_free(&dump);
	film_free(film);
}

/* What is written, to be freed. */
static char *text_of(bool each, bool json)
{
	struct shape shape = {0};
	struct film *film = film_of_threads();
	struct thread_dump dump;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	make(film, &shape, &dump);
	assert_int_equal(json ? show_threads_json(&dump, out) : show_threads_text(&dump, each, out),
			 0);
	fclose(out);
	thread_dump_free(&dump);
	film_free(film);
	return text;
}

static void test_text(void **state)
{
	char *text = text_of(false, false), *each = text_of(true, false);

	(void)state;
	assert_non_null(strstr(text, "10 db: 4 threads\n"));
	assert_non_null(
		strstr(text, "  2 threads: worker (11), worker (12)\n    waits: lock (futex)"));
	assert_null(strstr(each, "2 threads: "));
	/* the sample that is next to the moment */
	assert_non_null(strstr(text, "running\n      then"));
	assert_null(strstr(text, "before"));
	assert_null(strstr(text, "later"));
	assert_non_null(strstr(text, "[no stack]"));
	/* names are harmless */
	assert_null(strchr(text, '\033'));
	free(text);
	free(each);
}

static void test_json(void **state)
{
	char *text = text_of(false, true);

	(void)state;
	assert_non_null(strstr(text, "\"wait\":\"socket-read\""));
	assert_non_null(strstr(text, "\"state\":\"O\""));
	assert_null(strchr(text, '\033'));
	free(text);
}

static void test_no_dump(void **state)
{
	struct shape shape = {0};
	struct film *film = film_build_small();
	struct thread_dump dump;
	struct fail why = {0};

	(void)state;
	assert_int_equal(thread_dump_make(film, &shape, &dump, &why), -ENOENT);
	thread_dump_free(&dump);
	film_free(film);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_and_groups),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_no_dump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
