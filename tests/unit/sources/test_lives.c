// SPDX-License-Identifier: Apache-2.0
/* Switches become lives without a gap; what was not seen of them is in them as such. */
#include "../prelude.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "sources/sched/lives.h"

#define BEGIN	1000000ull
#define FUTEX	203 /* its number, and 1 */
#define READ	1
#define UNKNOWN 99 /* number of an object that was never described */

/* The turns that were reported, as words: "2: ran 10 waited 20 ready 5 S" of each. */
static struct told {
	char words[2000];
	uint64_t end[8], life[8]; /* by thread */
	unsigned int stacks, objects;
} told;

static uint32_t row_of(void *context, const struct capture_identity *identity)
{
	(void)context;
	return identity->tid;
}

static struct lives_lock given; /* with the stacks of waits */

static uint32_t stack_of(void *context, uint32_t number, uint64_t in, struct lives_lock *lock)
{
	(void)context;
	(void)in;
	told.stacks++;
	if (given.address)
		*lock = given;
	return 100 + number;
}

static uint32_t object_of(void *context, uint32_t number)
{
	(void)context;
	told.objects++;
	return number == UNKNOWN ? 0 : 500 + number;
}

static void add(const char *format, uint64_t value)
{
	size_t used = strlen(told.words);

	if (value)
		snprintf(told.words + used, sizeof(told.words) - used, format,
			 (unsigned long long)value);
}

static void take(void *context, const struct film_turn *turn)
{
	uint64_t time = turn->unseen + turn->ran + turn->waited + turn->ready;

	(void)context;
	/* each begins where the one before ended */
	if (told.end[turn->thread])
		assert_int_equal(turn->end - time, told.end[turn->thread]);
	told.end[turn->thread] = turn->end;
	told.life[turn->thread] += time;
	add("%llu:", turn->thread);
	add(" unseen %llu", turn->unseen);
	add(" ran %llu", turn->ran);
	add(" waited %llu", turn->waited);
	add(" ready %llu", turn->ready);
	add(" by %llu", turn->waker);
	add(" stack %llu", turn->stack);
	add(" object %llu", turn->object);
	add(" ready-object %llu", turn->ready_object);
	add(" lock %llx", turn->lock);
	add(" of %llu", turn->holder);
	add(" sure %llu", film_turn_sure(turn->flags));
	if (turn->flags & FILM_TURN_UNRELEASED)
		add(" unreleased", 1);
	if (turn->state)
		add(" %c", turn->state);
	if (turn->flags & FILM_TURN_BEGINS)
		add(turn->flags & FILM_WAIT_BEFORE ? " before" : " begins", 1);
	if (turn->flags & FILM_WAIT_OPEN)
		add(" open", 1);
	if (turn->flags & FILM_TURN_ENDS)
		add(turn->flags & FILM_TURN_EXITS ? " exits" : " ends", 1);
	add("; ", 1);
}

static struct lives *new_lives(void)
{
	const struct lives_to to = {row_of, stack_of, object_of, take, NULL};
	struct lives *lives = lives_new(&to);

	assert_non_null(lives);
	told = (struct told){0};
	given = (struct lives_lock){0};
	lives_begin(lives, BEGIN);
	return lives;
}

/* A thread whose number and row are the same; start: since BEGIN, below 0 it is older. */
static void meet(struct lives *lives, uint32_t number, int64_t start)
{
	const struct capture_identity identity = {
		.pid = 1, .tid = number, .thread_start = (uint64_t)((int64_t)BEGIN + start)};

	lives_meet(lives, number, &identity, true, 0);
}

/* A switch at a time since BEGIN. */
struct event {
	uint64_t time;
	uint32_t prev, next, waker;
	uint64_t ready;
	uint16_t state, call;
	uint8_t prev_count, next_count, flags;
	uint32_t object;
};

static void give(struct lives *lives, const struct event *e)
{
	const struct threads_event event = {
		.time = BEGIN + e->time,
		.ready = e->ready,
		.object = e->object,
		.record =
			{
				.descriptor = e->call == READ ? OFF_CPU_FD_PIPE : 0,
				.prev = e->prev,
				.next = e->next,
				.waker = e->waker,
				.state = e->state,
				.call = e->call,
				.context = e->waker ? OFF_CPU_BY_THREAD : 0,
				.flags = e->flags,
				.prev_count = e->prev_count,
				.next_count = e->next_count,
			},
	};

	lives_handle(lives, &event);
}

#define GIVE(lives, ...) give(lives, &(struct event){__VA_ARGS__})
#define SLEEPS		 .state = OFF_CPU_STATE_SLEEPS, .call = FUTEX
#define READS		 .state = OFF_CPU_STATE_SLEEPS, .call = READ

static void check(struct lives *lives, const char *expected)
{
	assert_string_equal(told.words, expected);
	lives_free(lives);
}

/* Two threads on a CPU: one ran before, the other was made; each wait and each stay is reported. */
static void test_turns(void **state)
{
	struct lives *lives = new_lives();

	(void)state;
	meet(lives, 1, -500);
	meet(lives, 2, 10);
	GIVE(lives, .time = 100, .prev = 1, .next = 2, SLEEPS, .prev_count = 7, .next_count = 0);
	GIVE(lives, .time = 130, .prev = 2, .next = 1, .waker = 2, .ready = 5, .prev_count = 1,
	     .next_count = 7, .flags = THREADS_HAS_STACK);
	GIVE(lives, .time = 150, .prev = 1, .next = 2, SLEEPS, .prev_count = 8, .next_count = 1);
	GIVE(lives, .time = 170, .prev = 2, .state = OFF_CPU_STATE_DEAD, .prev_count = 2);
	assert_int_equal(lives_counts(lives).holes, 0);
	assert_int_equal(lives_counts(lives).now, 1);
	assert_int_equal(told.life[2], 160);
	lives_cut(lives, BEGIN + 200, 0);
	assert_int_equal(told.life[1], 200);
	check(lives, "2: ready 90 begins; 1: ran 100 waited 25 ready 5 by 2 stack 101 S before; "
		     "2: ran 30 ready 20 R; 2: ran 20 ends; 1: ran 20 waited 50 S open; ");
}

/* One that is killed ends in the call in which it waited. */
static void test_exits(void **state)
{
	struct lives *lives = new_lives();

	(void)state;
	for (uint32_t number = 1; number <= 3; number++)
		meet(lives, number, number);
	GIVE(lives, .time = 10, .prev = 1, .state = OFF_CPU_STATE_DEAD, .call = SYS_exit_group + 1);
	GIVE(lives, .time = 20, .prev = 2, .state = OFF_CPU_STATE_DEAD, .call = SYS_futex + 1);
	GIVE(lives, .time = 30, .prev = 3, .state = OFF_CPU_STATE_DEAD, .call = SYS_exit + 1);
	check(lives,
	      "1: unseen 9 begins exits; 2: unseen 18 begins ends; 3: unseen 27 begins exits; ");
}

/* Not meant until it executes a program: its life begins there, and it ran from then on. */
static void test_meant_later(void **state)
{
	struct lives *lives = new_lives();
	struct capture_identity identity = {.pid = 1, .tid = 1, .thread_start = BEGIN + 10};

	(void)state;
	lives_meet(lives, 1, &identity, false, 0);
	GIVE(lives, .time = 20, .next = 1, .next_count = 0);
	GIVE(lives, .time = 30, .prev = 1, SLEEPS, .prev_count = 1);
	/* it is met before the switches of until then are given */
	identity.exec_id = 1;
	lives_meet(lives, 1, &identity, true, BEGIN + 100);
	GIVE(lives, .time = 80, .next = 1, .next_count = 5);
	lives_list(lives, &(struct lives_listed){.time = BEGIN + 90, .number = 1, .count = 5});
	GIVE(lives, .time = 130, .prev = 1, SLEEPS, .prev_count = 6);
	GIVE(lives, .time = 150, .next = 1, .next_count = 6);
	GIVE(lives, .time = 160, .prev = 1, .state = OFF_CPU_STATE_DEAD, .prev_count = 7);
	assert_int_equal(lives_counts(lives).holes, 0);
	assert_int_equal(told.life[1], 60);
	check(lives, "1: ran 30 waited 20 S before; 1: ran 10 ends; ");
}

/* What woke it, of what it waited for, is of that wait alone. */
static void test_what_was_ready(void **state)
{
	struct lives *lives = new_lives();
	struct threads_event waking = {
		.time = BEGIN + 105, .is_waking = true, .object = 4, .record.next = 1};

	(void)state;
	meet(lives, 1, -500);
	GIVE(lives, .time = 100, .prev = 1, READS, .prev_count = 7, .flags = THREADS_NEW_OBJECT,
	     .object = 3);
	lives_handle(lives, &waking);
	GIVE(lives, .time = 110, .next = 1, .next_count = 7);
	GIVE(lives, .time = 120, .prev = 1, READS, .prev_count = 8);
	GIVE(lives, .time = 130, .next = 1, .next_count = 8);
	/* one of several descriptors: they have no object */
	GIVE(lives, .time = 140, .prev = 1, SLEEPS, .prev_count = 9);
	waking.time = BEGIN + 145;
	lives_handle(lives, &waking);
	GIVE(lives, .time = 150, .next = 1, .next_count = 9);
	check(lives, "1: ran 100 waited 10 object 503 ready-object 504 S before; "
		     "1: ran 10 waited 10 object 503 S; "
		     "1: ran 10 waited 10 ready-object 504 S; ");
}

/* What it waits for is reported when it is another one; a wait without a descriptor is for none. */
static void test_objects(void **state)
{
	struct lives *lives = new_lives();

	(void)state;
	meet(lives, 1, -500);
	GIVE(lives, .time = 100, .prev = 1, READS, .prev_count = 7, .flags = THREADS_NEW_OBJECT,
	     .object = 3);
	GIVE(lives, .time = 110, .next = 1, .next_count = 7);
	GIVE(lives, .time = 120, .prev = 1, SLEEPS, .prev_count = 8);
	GIVE(lives, .time = 130, .next = 1, .next_count = 8);
	GIVE(lives, .time = 140, .prev = 1, READS, .prev_count = 9);
	GIVE(lives, .time = 150, .next = 1, .next_count = 9);
	GIVE(lives, .time = 160, .prev = 1, READS, .prev_count = 10, .flags = THREADS_NEW_OBJECT,
	     .object = UNKNOWN);
	/* however many rows the wait has, it is one */
	lives_cut(lives, BEGIN + 170, 0);
	lives_cut(lives, BEGIN + 180, 0);
	assert_int_equal(lives_counts(lives).objects_missed, 1);
	/* another film has it anew */
	GIVE(lives, .time = 190, .next = 1, .next_count = 10);
	GIVE(lives, .time = 200, .prev = 1, READS, .prev_count = 11, .flags = THREADS_NEW_OBJECT,
	     .object = 4);
	lives_cut(lives, BEGIN + 210, 0);
	lives_cut(lives, BEGIN + 220, 0);
	told.objects = 0;
	lives_turn(lives);
	lives_cut(lives, BEGIN + 230, 0);
	assert_int_equal(told.objects, 1);
	check(lives, "1: ran 100 waited 10 object 503 S before; 1: ran 10 waited 10 S; "
		     "1: ran 10 waited 10 object 503 S; 1: ran 10 waited 10 S open; "
		     "1: waited 10 S open; 1: waited 10 S; 1: ran 10 waited 10 object 504 S open; "
		     "1: waited 10 object 504 S open; 1: waited 10 object 504 S before open; ");
}

/* The number of its switches shows that one of them was not seen. */
static void test_missed(void **state)
{
	struct lives *lives = new_lives();

	(void)state;
	meet(lives, 1, -500);
	GIVE(lives, .time = 100, .prev = 1, SLEEPS, .prev_count = 7);
	/* it ran meanwhile, and waited again */
	GIVE(lives, .time = 200, .next = 1, .ready = 1, .next_count = 8);
	GIVE(lives, .time = 230, .prev = 1, SLEEPS, .prev_count = 9);
	/* it came in, which was not seen, and goes out */
	GIVE(lives, .time = 300, .prev = 1, SLEEPS, .prev_count = 10);
	GIVE(lives, .time = 310, .next = 1, .ready = 1, .next_count = 10);
	lives_cut(lives, BEGIN + 320, 0);
	assert_int_equal(lives_counts(lives).holes, 2);
	assert_int_equal(told.life[1], 320);
	check(lives, "1: ran 100 before open; 1: unseen 100 ran 30 open; "
		     "1: unseen 70 waited 9 ready 1 S; 1: ran 10 open; ");
}

/* One that waits from before the first switch to after the last one is reported from the list. */
static void test_listed(void **state)
{
	struct lives *lives = new_lives();
	struct lives_listed listed = {.time = BEGIN - 50,
				      .number = 1,
				      .count = 3,
				      .evidence = {.call = FUTEX, .state = 'S', .stack = 9}};

	(void)state;
	meet(lives, 1, -500);
	meet(lives, 2, -500);
	lives_list(lives, &listed);
	listed.number = 2;
	lives_list(lives, &listed);
	/* the second list finds one of them as it was; the other has waited anew since */
	listed.time = BEGIN + 10;
	listed.number = 1;
	lives_list(lives, &listed);
	listed.number = 2;
	listed.count = 4;
	listed.evidence.stack = 8;
	lives_list(lives, &listed);
	lives_list_done(lives, BEGIN + 5);
	lives_cut(lives, BEGIN + 1000, 0);
	lives_cut(lives, BEGIN + 1500, 0);
	assert_int_equal(lives_counts(lives).holes, 0);
	check(lives, "1: waited 1000 stack 9 S before open; 2: waited 1000 stack 8 S before open; "
		     "1: waited 500 stack 9 S open; 2: waited 500 stack 8 S open; ");
}

/* A wait for a lock, which thread 2 ends. */
static void lock_wait(struct lives *lives, uint64_t from, uint8_t count, struct lives_lock lock)
{
	given = lock;
	GIVE(lives, .time = from, .prev = 1, SLEEPS, .prev_count = count);
	GIVE(lives, .time = from + 30, .next = 1, .waker = 2, .ready = 5, .next_count = count,
	     .flags = THREADS_HAS_STACK);
}

/* What the lock named is its holder; else it is the thread that released it. */
static void test_locks(void **state)
{
	const struct lives_lock owned = {.address = 0xa0, .holder = 7, .sure = FILM_HOLDER_OWNER};
	struct lives_lock of = owned;
	struct lives *lives = new_lives();

	(void)state;
	meet(lives, 1, -500);
	meet(lives, 2, -500);
	of.is_released = true;
	lock_wait(lives, 100, 7, of);
	of.holder = of.sure = 0;
	lock_wait(lives, 200, 8, of);
	/* a signal has ended it */
	of.is_released = false;
	of.is_unreleased = true;
	lock_wait(lives, 300, 9, of);
	of = owned;
	of.is_unreleased = true;
	lock_wait(lives, 400, 10, of);
	/* it was for none */
	lock_wait(lives, 500, 11, (struct lives_lock){0});
	check(lives, "1: ran 100 waited 25 ready 5 by 2 stack 101 lock a0 of 7 sure 1 S before; "
		     "1: ran 70 waited 25 ready 5 by 2 stack 101 lock a0 of 2 sure 3 S; "
		     "1: ran 70 waited 25 ready 5 by 2 stack 101 lock a0 unreleased S; "
		     "1: ran 70 waited 25 ready 5 by 2 stack 101 lock a0 of 7 sure 1 unreleased S; "
		     "1: ran 70 waited 25 ready 5 by 2 stack 101 S; ");
}

/* The list names a lock that is waited for from before the first switch, in each row. */
static void test_listed_locks(void **state)
{
	struct lives *lives = new_lives();
	struct lives_listed listed = {
		.time = BEGIN - 50,
		.number = 1,
		.count = 3,
		.evidence = {.call = FUTEX, .state = 'S', .stack = 9},
		.lock = {.address = 0xb0, .holder = 4, .sure = FILM_HOLDER_OWNER}};

	(void)state;
	meet(lives, 1, -500);
	lives_list(lives, &listed);
	lives_cut(lives, BEGIN + 1000, 0);
	/* ids are of a film: another one has them anew */
	lives_turn(lives);
	lives_cut(lives, BEGIN + 1100, 0);
	listed.time = BEGIN + 1150;
	listed.lock.holder = 5;
	lives_list(lives, &listed);
	/* its end has a stack, but no lock: it began unseen */
	GIVE(lives, .time = 1200, .next = 1, .ready = 10, .next_count = 3,
	     .flags = THREADS_HAS_STACK);
	check(lives, "1: waited 1000 stack 9 lock b0 of 4 sure 1 S before open; "
		     "1: waited 100 S before open; "
		     "1: waited 90 ready 10 stack 101 lock b0 of 5 sure 1 S; ");
}

/* The list has a stack, but no object where only the thread's own switch could show it. */
static void test_listed_object(void **state)
{
	struct lives *lives = new_lives();
	struct lives_listed listed = {.time = BEGIN + 110,
				      .number = 1,
				      .count = 7,
				      .evidence = {.call = READ, .state = 'S', .stack = 9}};

	(void)state;
	meet(lives, 1, -500);
	GIVE(lives, .time = 100, .prev = 1, READS, .prev_count = 7, .flags = THREADS_NEW_OBJECT,
	     .object = 3);
	lives_list(lives, &listed);
	lives_cut(lives, BEGIN + 150, 0);
	check(lives, "1: ran 100 waited 50 stack 9 object 503 S before open; ");
}

/*
 * Threads are listed once more when a film is over: what that says of one that waits still is true
 * of the film's end, and of one that ran since nothing is.
 */
static void test_listed_late(void **state)
{
	struct lives *lives = new_lives();
	struct lives_listed listed = {.time = BEGIN + 900, .number = 1, .count = 7};

	(void)state;
	meet(lives, 1, -500);
	meet(lives, 2, -500);
	GIVE(lives, .time = 100, .prev = 1, SLEEPS, .prev_count = 7);
	GIVE(lives, .time = 100, .prev = 2, SLEEPS, .prev_count = 7);
	listed.evidence.stack = 9;
	listed.lock.holder = 2;
	listed.lock.sure = FILM_HOLDER_OWNER;
	lives_list_late(lives, &listed);
	listed.number = 2;
	listed.count = 8;
	lives_list_late(lives, &listed);
	lives_cut(lives, BEGIN + 150, 0);
	assert_int_equal(lives_counts(lives).holes, 0);
	check(lives, "1: ran 100 waited 50 stack 9 of 2 sure 1 before open; "
		     "2: ran 100 waited 50 S before open; ");
}

/* What waits is ready from when it is woken, also where a film ends in between. */
static void test_woken_before_cut(void **state)
{
	struct lives *lives = new_lives();
	const struct threads_event waking = {
		.time = BEGIN + 150, .is_waking = true, .record.next = 1};

	(void)state;
	meet(lives, 1, -500);
	GIVE(lives, .time = 100, .prev = 1, SLEEPS, .prev_count = 7);
	lives_handle(lives, &waking);
	lives_cut(lives, BEGIN + 200, 0);
	lives_turn(lives);
	GIVE(lives, .time = 230, .next = 1, .ready = 80, .next_count = 7);
	check(lives, "1: ran 100 waited 50 ready 50 S before open; 1: ready 30 S before; ");
}

/*
 * A thread is woken, and stays ready for long: its life is reported meanwhile, and what ended its
 * wait is in it, with the stack of the wait.
 */
static void test_ready_while_cut(void **state)
{
	struct lives *lives = new_lives();
	const struct threads_event waking = {
		.time = BEGIN + 150, .is_waking = true, .record.next = 1};

	(void)state;
	meet(lives, 1, -500);
	meet(lives, 2, -500);
	GIVE(lives, .time = 100, .prev = 1, SLEEPS, .prev_count = 7);
	lives_handle(lives, &waking);
	lifetimes_cut_known(lives, BEGIN + 200, 0);
	lifetimes_cut_known(lives, BEGIN + 210, 0);
	GIVE(lives, .time = 230, .next = 1, .waker = 2, .ready = 80, .next_count = 7,
	     .flags = THREADS_HAS_STACK);
	assert_int_equal(told.life[1], 230);
	check(lives, "1: ran 100 waited 49 S before open; 1: waited 1 ready 80 by 2 stack 101 S; ");
}

/* It gets no CPU for longer than a report waits: its row has the time behind the wake, too. */
static void test_ready_for_too_long(void **state)
{
	struct lives *lives = new_lives();
	const struct threads_event waking = {
		.time = BEGIN + 100, .is_waking = true, .record.next = 1};

	(void)state;
	meet(lives, 1, -500);
	GIVE(lives, .time = 100, .prev = 1, SLEEPS, .prev_count = 7);
	lives_handle(lives, &waking);
	lifetimes_cut_known(lives, BEGIN + 100 + LIVES_WOKEN_MAX_NS, 0);
	assert_int_equal(told.life[1], 100);
	lifetimes_cut_known(lives, BEGIN + 101 + LIVES_WOKEN_MAX_NS, 0);
	assert_int_equal(told.life[1], 101 + LIVES_WOKEN_MAX_NS);
	lives_free(lives);
}

/* Those that are in no list any more have ended, at an unknown time. */
static void test_vanished(void **state)
{
	struct lives *lives = new_lives();

	(void)state;
	meet(lives, 1, -500);
	GIVE(lives, .time = 100, .prev = 1, SLEEPS, .prev_count = 7);
	lives_list_done(lives, BEGIN + 300);
	assert_int_equal(lives_counts(lives).now, 0);
	check(lives, "1: ran 100 before open; 1: unseen 200 ends; ");
}

/* It came in, was not seen to go out, and another one runs there: how long it ran is not known. */
static void test_hidden(void **state)
{
	struct lives *lives = new_lives();

	(void)state;
	meet(lives, 1, -500);
	meet(lives, 2, -500);
	GIVE(lives, .time = 10, .prev = 1, SLEEPS, .prev_count = 7);
	GIVE(lives, .time = 100, .next = 1, .ready = 1, .next_count = 7);
	GIVE(lives, .time = 200, .prev = 2, SLEEPS, .prev_count = 3);
	lives_cut(lives, BEGIN + 400, 0);
	/* it comes in again, and now is seen to go out */
	GIVE(lives, .time = 500, .next = 1, .ready = 1, .next_count = 8);
	GIVE(lives, .time = 530, .prev = 1, SLEEPS, .prev_count = 9);
	lives_cut(lives, BEGIN + 600, 0);
	assert_int_equal(told.life[1], 600);
	check(lives, "1: ran 10 waited 89 ready 1 S before; 1: unseen 300 open; "
		     "2: ran 200 waited 200 S before open; 1: unseen 100 ran 30 waited 70 S open; "
		     "2: waited 200 S open; ");
}

/* What has woken another one as it ended is still its waker, until too many have ended since. */
static void test_ended_waker(void **state)
{
	/* without a row: nothing is reported */
	const struct capture_identity other = {.pid = 1, .thread_start = 1};
	struct lives *lives = new_lives();

	(void)state;
	meet(lives, 1, -500);
	meet(lives, 2, -500);
	GIVE(lives, .time = 10, .prev = 1, SLEEPS, .prev_count = 7);
	GIVE(lives, .time = 100, .prev = 2, .next = 1, .waker = 2, .ready = 1,
	     .state = OFF_CPU_STATE_DEAD, .prev_count = 4, .next_count = 7);
	GIVE(lives, .time = 150, .prev = 1, SLEEPS, .prev_count = 8);
	assert_int_equal(lives_counts(lives).now, 1);
	assert_int_equal(lives_counts(lives).wakers_missed, 0);
	for (uint32_t number = 10; number < 3000; number++) {
		lives_meet(lives, number, &other, true, 0);
		GIVE(lives, .time = 160, .prev = number, .state = OFF_CPU_STATE_DEAD);
	}
	assert_int_equal(lives_counts(lives).now, 1);
	GIVE(lives, .time = 200, .next = 1, .waker = 2, .ready = 1, .next_count = 8);
	assert_int_equal(lives_counts(lives).wakers_missed, 1);
	assert_int_equal(lives_counts(lives).holes, 0);
	check(lives, "2: ran 100 before ends; 1: ran 10 waited 89 ready 1 by 2 S before; "
		     "1: ran 50 waited 49 ready 1 S; ");
}

struct long_wait {
	unsigned int count;
	uint64_t since;
	uint16_t call;
	char comm[16];
};

static void take_long(void *context, const struct capture_identity *identity, uint64_t since,
		      const struct film_wait *evidence)
{
	struct long_wait *wait = context;

	assert_int_equal(identity->tid, 1);
	wait->count++;
	wait->since = since - BEGIN;
	wait->call = evidence->call;
	memcpy(wait->comm, identity->comm, sizeof(wait->comm));
}

/* A wait that is long is reported once, since it began, into however many rows it was cut. */
static void test_long_waits(void **state)
{
	struct lives *lives = new_lives();
	struct long_wait wait = {0};
	const struct capture_identity renamed = {
		.pid = 7, .tid = 1, .thread_start = BEGIN - 500, .comm = "waiter"};

	(void)state;
	meet(lives, 1, -500);
	GIVE(lives, .time = 100, .prev = 1, SLEEPS, .prev_count = 7);
	lives_cut(lives, BEGIN + 150, 0);
	lives_each_long(lives, BEGIN + 199, 100, take_long, &wait);
	assert_int_equal(wait.count, 0);
	lives_turn(lives);
	lives_each_long(lives, BEGIN + 200, 100, take_long, &wait);
	lives_each_long(lives, BEGIN + 300, 100, take_long, &wait);
	assert_int_equal(wait.count, 1);
	assert_int_equal(wait.since, 100);
	assert_int_equal(wait.call, FUTEX);
	/* a thread that runs does not wait; its next wait is another one */
	GIVE(lives, .time = 310, .next = 1, .next_count = 7);
	lives_each_long(lives, BEGIN + 500, 100, take_long, &wait);
	GIVE(lives, .time = 510, .prev = 1, READS, .prev_count = 8);
	lives_each_long(lives, BEGIN + 600, 100, take_long, &wait);
	assert_int_equal(wait.count, 1);
	lives_each_long(lives, BEGIN + 620, 100, take_long, &wait);
	assert_int_equal(wait.count, 2);
	assert_int_equal(wait.since, 510);
	/* it took a name before it began to wait, and has not gone on since */
	GIVE(lives, .time = 630, .next = 1, .next_count = 8);
	lives_each_long(lives, BEGIN + 640, 100, take_long, &wait);
	lives_meet(lives, 1, &renamed, true, 0);
	GIVE(lives, .time = 650, .prev = 1, SLEEPS, .prev_count = 9);
	lives_each_long(lives, BEGIN + 800, 100, take_long, &wait);
	assert_int_equal(wait.count, 3);
	assert_string_equal(wait.comm, "waiter");
	lives_free(lives);
}

/* Told again as it was, a thread goes on; by another name, it ends where that one begins. */
static void test_told_again(void **state)
{
	struct lives *lives = new_lives();
	const struct capture_identity renamed = {
		.pid = 1, .tid = 1, .thread_start = BEGIN - 500, .comm = "waiter"};

	(void)state;
	meet(lives, 1, -500);
	GIVE(lives, .time = 100, .prev = 1, SLEEPS, .prev_count = 7);
	lives_cut(lives, BEGIN + 150, 0);
	meet(lives, 1, -500);
	lives_cut(lives, BEGIN + 200, 0);
	lives_meet(lives, 1, &renamed, true, 0);
	lives_cut(lives, BEGIN + 250, 0);
	check(lives, "1: ran 100 waited 50 S before open; 1: waited 50 S open; "
		     "1: waited 50 S ends; ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_exits),
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_what_was_ready),
		cmocka_unit_test(test_meant_later),
		cmocka_unit_test(test_missed),
		cmocka_unit_test(test_listed),
		cmocka_unit_test(test_locks),
		cmocka_unit_test(test_listed_locks),
		cmocka_unit_test(test_listed_object),
		cmocka_unit_test(test_listed_late),
		cmocka_unit_test(test_woken_before_cut),
		cmocka_unit_test(test_vanished),
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_ended_waker),
		cmocka_unit_test(test_long_waits),
		cmocka_unit_test(test_told_again),
		cmocka_unit_test(test_ready_while_cut),
		cmocka_unit_test(test_ready_for_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
