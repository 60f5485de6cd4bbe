// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <stdio.h>
#include <string.h>

#include "film/events.h"
#include "film_build.h"
#include "query/slices.h"

#define US   1000ull
#define FROM FILM_BUILD_START

/* linux/unistd.h of x86-64 */
#define READ  0
#define FUTEX 202

static struct film_build build;
static uint32_t worker, waker;

static void begin(void)
{
	build = (struct film_build){0};
	film_build_begin(&build, event_type(EVENT_THREADS)->name, "ns");
	waker = film_build_thread(&build, 10, "web", 10, "web");
	worker = film_build_thread(&build, 10, "web", 11, "worker");
	build.end = FROM + 10 * FILM_TURN_MAX;
}

/* A turn that ends at a time, in us since the film's begin. */
static struct film_turn turn_until(uint64_t us)
{
	return (struct film_turn){
		.end = FROM + us * US, .thread = worker, .state = FILM_WAIT_SLEEPS, .cpu = 3};
}

static void put(const struct film_turn *turn)
{
	film_turn(build.w, build.event, turn);
}

/* As words: "on-cpu 0-10; lock 10-30" in us, "<" and ">": it is a part, "!": the last one. */
struct told {
	char words[2000];
	uint32_t thread;
	uint64_t sums[SLICE_KINDS];
	struct slice last;
	struct slice_evidence evidence; /* of that one */
};

static int tell(void *context, const struct slice *slice, const struct slice_evidence *evidence)
{
	struct told *told = context;
	size_t used = strlen(told->words);

	assert_true(slice->end > slice->start);
	told->sums[slice->kind] += slice->end - slice->start;
	if (slice->thread != told->thread)
		return 0;
	if (told->last.end)
		assert_int_equal(slice->start, told->last.end);
	told->last = *slice;
	told->evidence = *evidence;
	if (used < sizeof(told->words) - 100)
		snprintf(told->words + used, sizeof(told->words) - used, "%s%s%s %llu-%llu%s%s",
			 used ? "; " : "", slice->began_before ? "<" : "",
			 slice_kind_name(slice->kind),
			 (unsigned long long)((slice->start - FROM) / US),
			 (unsigned long long)((slice->end - FROM) / US), slice->goes_on ? ">" : "",
			 slice->is_last ? "!" : "");
	return 0;
}

/* What a thread did in a range of us since the film's begin. */
static struct told ask(struct film *film, uint32_t thread, uint64_t from, uint64_t to)
{
	struct told told = {.thread = thread};
	struct fail why = {0};

	assert_int_equal(slices_event(film), 1);
	assert_int_equal(slices_each(film, 1, FROM + from * US, FROM + to * US, tell, &told, &why),
			 0);
	return told;
}

#define check_slices(film, from, to, expected) \
	assert_string_equal(ask(film, worker, from, to).words, expected)

/* A life of all that there is. */
static struct film *film_of_life(void)
{
	struct film_turn turn;

	begin();
	turn = turn_until(15);
	turn.state = 0;
	turn.ready = 5 * US;
	turn.flags = FILM_TURN_BEGINS;
	put(&turn);
	turn = turn_until(45);
	turn.ran = 10 * US;
	turn.waited = 15 * US;
	turn.ready = 5 * US;
	turn.call = FUTEX + 1;
	turn.waker = waker;
	turn.context = FILM_WAIT_BY_THREAD;
	turn.arguments[0] = 0xabc;
	put(&turn);
	turn = turn_until(80);
	turn.ran = 15 * US;
	turn.ready = 20 * US;
	turn.state = FILM_WAIT_READY;
	turn.call = FUTEX + 1;
	put(&turn);
	turn = turn_until(100);
	turn.ran = 5 * US;
	turn.waited = 15 * US;
	turn.call = READ + 1;
	turn.descriptor = FILM_FD_PIPE;
	put(&turn);
	turn = turn_until(102);
	turn.ran = 2 * US;
	turn.flags = FILM_TURN_ENDS;
	put(&turn);
	return film_build_open(&build);
}

static void test_life(void **state)
{
	struct film *film = film_of_life();
	struct told told;

	(void)state;
	check_slices(film, 0, 1000,
		     "woken 10-15; on-cpu 15-25; lock 25-40; woken 40-45; on-cpu 45-60; "
		     "preempted 60-80; on-cpu 80-85; ipc 85-100; on-cpu 100-102!");
	told = ask(film, worker, 26, 40);
	assert_string_equal(told.words, "<lock 26-40");
	assert_int_equal(told.last.waker, waker);
	assert_int_equal(told.last.call, FUTEX + 1);
	assert_int_equal(told.last.address, 0xabc);
	assert_int_equal(told.evidence.arguments[0], 0xabc);
	assert_int_equal(told.last.cpu, 3);
	check_slices(film, 27, 30, "<lock 27-30>");
	check_slices(film, 40, 50, "woken 40-45; on-cpu 45-50>");
	check_slices(film, 0, 10, "");
	check_slices(film, 102, 1000, "");
	film_free(film);
}

/* What lasts longer than a row is one slice, with the evidence of its end. */
static void test_long(void **state)
{
	struct film_turn turn;
	struct film *film;
	struct told told;

	(void)state;
	begin();
	turn = turn_until(5500000);
	turn.ran = 1500000 * US;
	turn.waited = 4000000 * US - 7 * US;
	turn.ready = 7 * US;
	turn.call = READ + 1;
	turn.descriptor = FILM_FD_SOCKET;
	turn.flags = FILM_TURN_BEGINS;
	turn.waker = waker;
	put(&turn);
	turn = turn_until(8000000);
	turn.ran = 2500000 * US;
	turn.flags = FILM_WAIT_OPEN;
	put(&turn);
	film = film_build_open(&build);
	told = ask(film, worker, 0, 9000000);
	assert_string_equal(told.words, "on-cpu 0-1500000; socket-read 1500000-5499993; woken "
					"5499993-5500000; on-cpu 5500000-8000000>");
	/* of a moment in it, no row but those around is read */
	check_slices(film, 2500000, 2500001, "<socket-read 2500000-2500001>");
	check_slices(film, 5499990, 5499999,
		     "<socket-read 5499990-5499993; woken "
		     "5499993-5499999>");
	film_free(film);
}

/* One row of a wait that goes on names the lock and its holder, and the slice has both. */
static void test_lock_of_a_part(void **state)
{
	struct film_turn turn;
	struct film *film;
	struct told told;

	(void)state;
	begin();
	turn = turn_until(500000);
	turn.waited = 500000 * US;
	turn.call = FUTEX + 1;
	turn.flags = FILM_TURN_BEGINS | FILM_WAIT_OPEN | FILM_HOLDER_OWNER * FILM_TURN_SURE;
	turn.lock = 0xabc0;
	turn.lock_kind = FILM_LOCK_MUTEX_PI;
	turn.holder = waker;
	put(&turn);
	turn = turn_until(900000);
	turn.waited = 400000 * US;
	turn.call = FUTEX + 1;
	turn.waker = waker;
	put(&turn);
	film = film_build_open(&build);
	told = ask(film, worker, 0, 900000);
	assert_string_equal(told.words, "lock 0-900000");
	assert_int_equal(told.evidence.lock.address, 0xabc0);
	assert_int_equal(told.evidence.lock.kind, FILM_LOCK_MUTEX_PI);
	assert_int_equal(told.evidence.lock.holder, waker);
	assert_int_equal(told.evidence.lock.sure, FILM_HOLDER_OWNER);
	film_free(film);
}

/* What is not known is a slice, too, wherever it is missing. */
static void test_holes(void **state)
{
	struct film_turn turn;
	struct film *film;

	(void)state;
	begin();
	/* rows before it are missing */
	turn = turn_until(20);
	turn.thread = worker;
	turn.ran = 10 * US;
	put(&turn);
	turn = turn_until(50);
	turn.unseen = 7 * US;
	turn.ran = 3 * US;
	turn.waited = 5 * US;
	turn.call = FUTEX + 1;
	put(&turn);
	turn = turn_until(70);
	turn.thread = waker;
	turn.ran = 70 * US;
	turn.flags = FILM_TURN_BEGINS | FILM_WAIT_BEFORE;
	put(&turn);
	film = film_build_open(&build);
	check_slices(film, 0, 1000,
		     "hole 0-10; on-cpu 10-20; hole 20-35; hole 35-42; on-cpu 42-45; lock 45-50; "
		     "hole 50-70");
	check_slices(film, 15, 60,
		     "<on-cpu 15-20; hole 20-35; hole 35-42; on-cpu 42-45; lock 45-50; hole 50-60");
	assert_string_equal(ask(film, waker, 0, 1000).words, "<on-cpu 0-70");
	assert_string_equal(ask(film, waker, 20, 1000).words, "<on-cpu 20-70");
	film_free(film);
}

/* Numbers that no recorder writes. */
static void test_hostile(void **state)
{
	struct film_turn turn;
	struct film *film;
	struct told told;

	(void)state;
	begin();
	turn = turn_until(20);
	turn.ran = 10 * US;
	turn.ready = 5 * US;
	turn.waited = 5 * US;
	turn.flags = FILM_TURN_BEGINS;
	put(&turn);
	/* it begins before that one ended */
	turn = turn_until(30);
	turn.ran = 25 * US;
	put(&turn);
	/* and one without any time, of no thread */
	turn = turn_until(40);
	put(&turn);
	turn.thread = 0;
	put(&turn);
	film = film_build_open(&build);
	told = ask(film, worker, 0, UINT64_MAX / US / 4);
	assert_string_equal(told.words, "on-cpu 0-10; page-fault 10-15; woken 15-20; on-cpu 20-30; "
					"hole 30-40");
	film_free(film);
}

/* All that is handed out of a life is as long as the life. */
static void test_sums(void **state)
{
	struct film *film = film_of_life();
	struct told told = ask(film, worker, 0, 1000);
	uint64_t sum = 0;

	(void)state;
	for (unsigned int i = 0; i < SLICE_KINDS; i++)
		sum += told.sums[i];
	assert_int_equal(sum, 92 * US);
	assert_int_equal(told.sums[SLICE_ON_CPU], 32 * US);
	assert_int_equal(told.sums[SLICE_WAIT + WAIT_LOCK], 15 * US);
	film_free(film);
}

static int stop(void *context, const struct slice *slice, const struct slice_evidence *evidence)
{
	(void)slice;
	(void)evidence;
	return ++*(int *)context == 3 ? -77 : 0;
}

static void test_stop(void **state)
{
	struct film *film = film_of_life();
	int count = 0;

	(void)state;
	assert_int_equal(slices_each(film, 1, 0, UINT64_MAX, stop, &count, NULL), -77);
	assert_int_equal(count, 3);
	film_free(film);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lock_of_a_part), cmocka_unit_test(test_life),
		cmocka_unit_test(test_long),	       cmocka_unit_test(test_holes),
		cmocka_unit_test(test_hostile),	       cmocka_unit_test(test_sums),
		cmocka_unit_test(test_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
