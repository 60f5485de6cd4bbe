// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>

/* first: cmocka has a macro fail() */
#include "film/blocks.h"
#include "film/unpack.h"
#include "make.h"

#define WAITS	70000 /* more than a block holds */
#define THREADS 5
#define STACKS	9
#define STEP	10007ull

/* Wait i: no two of its numbers are the same, where that can be. */
static struct film_wait wait_number(uint64_t i)
{
	return (struct film_wait){
		.end = test_info.start + i * STEP,
		.duration = 50000 + i * 3,
		.arguments = {i, ~i, i << 40, 7},
		.thread = (uint32_t)(i % THREADS),
		.stack = (uint32_t)(i % STACKS),
		.waker = (uint32_t)((i + 1) % THREADS),
		.waker_stack = (uint32_t)((i + 2) % STACKS),
		.count = (uint32_t)(1 + i % 1000),
		.call = (uint16_t)(i % 400),
		.context = (uint8_t)(i % 6),
		.state = "RSDITtF"[i % 7],
		.descriptor = (uint8_t)(i % 16),
		.flags = (uint32_t)(i % 32),
	};
}

struct seen {
	uint64_t next, shift, total;
};

static int is_next(void *context, const struct film_waits *waits)
{
	struct seen *seen = context;

	assert_true(waits->count > 0);
	for (size_t i = 0; i < waits->count; i++, seen->next++) {
		struct film_wait wait = wait_number(seen->next);

		assert_int_equal(waits->end[i], wait.end + seen->shift);
		assert_int_equal(waits->duration[i], wait.duration);
		for (size_t k = 0; k < FILM_WAIT_ARGUMENTS; k++)
			assert_true(waits->arguments[k][i] == wait.arguments[k]);
		assert_int_equal(waits->thread[i], wait.thread);
		assert_int_equal(waits->stack[i], wait.stack);
		assert_int_equal(waits->waker[i], wait.waker);
		assert_int_equal(waits->waker_stack[i], wait.waker_stack);
		assert_int_equal(waits->count_of[i], wait.count);
		assert_int_equal(waits->call[i], wait.call);
		assert_int_equal(waits->context[i], wait.context);
		assert_int_equal(waits->state[i], wait.state);
		assert_int_equal(waits->descriptor[i], wait.descriptor);
		assert_int_equal(waits->flags[i], wait.flags);
		seen->total += waits->duration[i];
	}
	return 0;
}

static void write_waits(const char *path)
{
	struct film_writer *w = create_with(path, THREADS, STACKS);

	/* some of them late, as those of several CPUs come */
	for (uint64_t i = 0; i < WAITS; i++) {
		uint64_t of_pair = i ^ (i / 100 % 2);
		struct film_wait wait = wait_number(of_pair);

		film_wait(w, 1, &wait);
		if (i == 999)
			commit(w, test_info.start + 1000 * STEP);
	}
	close_film(w, test_info.start + WAITS * STEP);
}

static void test_waits(void **state)
{
	const char *path = new_path();
	struct seen seen = {0};
	struct film *film;
	uint64_t count, total;

	(void)state;
	write_waits(path);
	film = open_film(path);
	assert_int_equal(film->loss_count, 0);
	assert_true(film_has_waits(film, 1));
	assert_false(film_has_waits(film, 0));
	assert_int_equal(film_each_waits(film, 1, 0, UINT64_MAX, is_next, &seen, NULL), 0);
	assert_int_equal(seen.next, WAITS);
	film_event_total(film, 1, &count, &total);
	assert_int_equal(count, WAITS);
	assert_int_equal(total, seen.total);
	/* some of the middle */
	seen = (struct seen){.next = 1500};
	assert_int_equal(film_each_waits(film, 1, test_info.start + 1500 * STEP,
					 test_info.start + 2500 * STEP, is_next, &seen, NULL),
			 0);
	assert_int_equal(seen.next, 2500);
	check_promises(film);
	film_free(film);
	remove_folder();
}

static int is_sample(void *context, const struct film_samples *samples)
{
	uint64_t *next = context;

	for (size_t i = 0; i < samples->count; i++, ++*next) {
		struct film_wait wait = wait_number(*next);

		assert_int_equal(samples->time[i], wait.end);
		assert_int_equal(samples->value[i], wait.duration);
		assert_int_equal(samples->thread[i], wait.thread);
		assert_int_equal(samples->stack[i], wait.stack);
	}
	return 0;
}

/* Readers that know nothing of waits have them as samples. */
static void test_samples(void **state)
{
	const char *path = new_path();
	struct film *film;
	uint64_t next = 0, blocks;

	(void)state;
	write_waits(path);
	film = open_film(path);
	assert_int_equal(film_each_samples(film, 1, 0, UINT64_MAX, is_sample, &next, NULL), 0);
	assert_int_equal(next, WAITS);
	next = 0;
	blocks = film_block_count(film);
	assert_int_equal(film_each_new_samples(film, 1, 0, blocks, is_sample, &next, NULL), 0);
	assert_int_equal(next, WAITS);
	assert_int_equal(film_settled_count(film), blocks);
	film_free(film);
	remove_folder();
}

static void test_merge(void **state)
{
	const char *path = new_path();
	struct seen seen = {0};
	struct film *film;

	(void)state;
	write_waits(path);
	film = merge_alone(path);
	/* the times of waits are exact, and stay so */
	assert_int_equal(film_each_waits(film, 1, 0, UINT64_MAX, is_next, &seen, NULL), 0);
	assert_int_equal(seen.next, WAITS);
	film_free(film);
	remove_folder();
}

/* What a wait says of itself must be so. */
static void test_refused(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create_with(path, THREADS, STACKS);
	struct film_wait wait = wait_number(1), wrong[6];
	struct film *film;
	uint64_t count, total;

	(void)state;
	for (size_t i = 0; i < 6; i++)
		wrong[i] = wait;
	wrong[0].thread = THREADS;
	wrong[1].stack = STACKS;
	wrong[2].waker = THREADS;
	wrong[3].waker_stack = STACKS;
	wrong[4].duration = wait.end + 1;
	for (size_t i = 0; i < 5; i++)
		film_wait(w, 1, &wrong[i]);
	film_wait(w, 2, &wrong[5]);
	film_wait(w, 1, &wait);
	close_film(w, test_info.start + SECOND);
	film = open_film(path);
	film_event_total(film, 1, &count, &total);
	assert_int_equal(count, 1);
	assert_int_equal(total, wait.duration);
	assert_int_equal(film->loss_count, 1);
	assert_int_equal(film->losses[0].count, 6);
	assert_string_equal(film->losses[0].reason,
			    "film: no room for another wait before the next commit");
	film_free(film);
	remove_folder();
}

/* Packs two waits, one number of which is another than it was, and takes them apart. */
static int unpack_pair(void (*change)(struct film_wait *wait, struct film_span *span))
{
	const struct layout_limits limits = {{[LAYOUT_THREAD] = THREADS, [LAYOUT_STACK] = STACKS}};
	const struct film_kind *kind = film_kind(FILM_BLOCK_WAITS);
	struct film_wait pair[2] = {wait_number(1), wait_number(2)};
	struct film_blocks blocks = {0};
	struct film_unpacker unpacker = {0};
	struct film_unpacked unpacked;
	struct film_span span = {0}, none = {0};
	int err;

	if (change)
		change(&pair[1], &none);
	assert_int_equal(film_block_pack(&blocks, kind, pair, 2, &span), 0);
	if (change)
		change(&pair[1], &span);
	err = film_unpack(&unpacker, kind, &limits, &span, blocks.columns.packed.at,
			  blocks.columns.packed.count, &unpacked);
	film_unpacker_free(&unpacker);
	film_blocks_free(&blocks);
	return err;
}

#define CHANGE(name, statement)                                          \
	static void name(struct film_wait *wait, struct film_span *span) \
	{                                                                \
		(void)wait;                                              \
		(void)span;                                              \
		statement;                                               \
	}

CHANGE(thread, wait->thread = THREADS)
CHANGE(stack, wait->stack = STACKS)
CHANGE(waker, wait->waker = THREADS)
CHANGE(waker_stack, wait->waker_stack = STACKS)
CHANGE(none_counted, wait->count = 0)
CHANGE(too_long, wait->duration = wait->end + 1)
CHANGE(too_early, wait->end = test_info.start)
CHANGE(other_total, span->total++)
CHANGE(other_start, span->t0++)
CHANGE(other_end, span->t1++)

static void test_wrong_numbers(void **state)
{
	static void (*const changes[])(struct film_wait *, struct film_span *) = {
		thread,	  stack,     waker,	  waker_stack, none_counted,
		too_long, too_early, other_total, other_start, other_end};

	(void)state;
	assert_int_equal(unpack_pair(NULL), 0);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		assert_int_equal(unpack_pair(changes[i]), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits),	      cmocka_unit_test(test_samples),
		cmocka_unit_test(test_merge),	      cmocka_unit_test(test_refused),
		cmocka_unit_test(test_wrong_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
