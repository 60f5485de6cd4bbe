// SPDX-License-Identifier: Apache-2.0
/*
 * A record that refers to a stack gets just that one's frames; what is not known is counted, and
 * memory is bounded.
 */
#include "../prelude.h"

#include <string.h>

#include "sources/sched/as_before.h"

#define FRAMES 3

struct sent {
	struct capture_record record;
	uint64_t frames[FRAMES];
};

static struct sent make(uint32_t tid, uint64_t start, uint32_t stack, uint64_t first)
{
	struct sent sent = {
		.record = {.identity = {.pid = 7, .tid = tid, .thread_start = start},
			   .generation = 5,
			   .user_frames = 2,
			   .kernel_frames = 1,
			   .end = UNWIND_END_ROOT,
			   .has_user = 1,
			   .stack = stack},
		.frames = {first, first + 1, first + 2},
	};

	return sent;
}

static struct capture_record refer(uint32_t tid, uint64_t start, uint32_t stack)
{
	struct capture_record record = make(tid, start, stack, 0).record;

	record.user_frames = record.kernel_frames = 0;
	record.as_before = 1;
	record.identity.value = 99;
	return record;
}

static struct as_before *new_one(size_t limit, uint32_t *anew)
{
	struct as_before *as_before;

	assert_int_equal(as_before_new(limit, anew, &as_before), 0);
	return as_before;
}

static void put(struct as_before *as_before, uint32_t tid, uint64_t start, uint32_t stack,
		uint64_t first)
{
	struct sent sent = make(tid, start, stack, first);
	struct as_before_stack found;

	assert_true(as_before_resolve(as_before, &sent.record, &found));
	assert_ptr_equal(found.record, &sent.record);
}

/* The first frame of the stack that is referred to; 0: it is not known. */
static uint64_t get(struct as_before *as_before, uint32_t tid, uint64_t start, uint32_t stack)
{
	struct capture_record record = refer(tid, start, stack);
	struct as_before_stack found;
	const uint64_t *frames;

	if (!as_before_resolve(as_before, &record, &found)) {
		assert_int_equal(found.record->user_frames + found.record->kernel_frames, 0);
		assert_int_equal(found.record->end, UNWIND_END_LATER);
		assert_null(found.known);
		return 0;
	}
	frames = (const uint64_t *)(found.record + 1);
	assert_int_equal(found.record->user_frames, 2);
	assert_int_equal(found.record->kernel_frames, 1);
	assert_int_equal(found.record->end, UNWIND_END_ROOT);
	assert_int_equal(found.record->identity.value, 99);
	assert_int_equal(frames[1], frames[0] + 1);
	assert_int_equal(frames[2], frames[0] + 2);
	return frames[0];
}

static void gives_a_stack_its_frames(void **state)
{
	uint32_t anew = 0;
	struct as_before *as_before = new_one(AS_BEFORE_BYTES_MAX, &anew);

	(void)state;
	put(as_before, 1, 10, 4, 100);
	put(as_before, 1, 10, 9, 200);
	put(as_before, 2, 20, 4, 300);
	assert_int_equal(get(as_before, 1, 10, 4), 100);
	assert_int_equal(get(as_before, 1, 10, 9), 200);
	assert_int_equal(get(as_before, 2, 20, 4), 300);
	assert_int_equal(get(as_before, 1, 10, 4), 100);
	assert_int_equal(as_before_counts(as_before).unknown, 0);
	assert_int_equal(anew, 0);
	as_before_free(as_before);
}

static void knows_no_other_thread_and_no_older_stack(void **state)
{
	uint32_t anew = 0;
	struct as_before *as_before = new_one(AS_BEFORE_BYTES_MAX, &anew);

	(void)state;
	put(as_before, 1, 10, 4, 100);
	assert_int_equal(get(as_before, 1, 11, 4), 0); /* another thread of the same number */
	assert_int_equal(get(as_before, 2, 10, 4), 0);
	assert_int_equal(get(as_before, 1, 10, 5), 0);
	put(as_before, 1, 10, 8, 200); /* in the same place */
	assert_int_equal(get(as_before, 1, 10, 4), 0);
	assert_int_equal(get(as_before, 1, 10, 8), 200);
	assert_int_equal(as_before_counts(as_before).unknown, 4);
	as_before_free(as_before);
}

static void leaves_a_record_without_a_number_alone(void **state)
{
	uint32_t anew = 0;
	struct as_before *as_before = new_one(AS_BEFORE_BYTES_MAX, &anew);
	struct sent sent = make(1, 10, 0, 100);
	struct as_before_stack found;

	(void)state;
	assert_true(as_before_resolve(as_before, &sent.record, &found));
	assert_ptr_equal(found.record, &sent.record);
	assert_null(found.known);
	as_before_free(as_before);
}

static void keeps_what_is_known_of_a_stack(void **state)
{
	uint32_t anew = 0;
	struct as_before *as_before = new_one(AS_BEFORE_BYTES_MAX, &anew);
	struct sent sent = make(1, 10, 4, 100);
	struct capture_record again = refer(1, 10, 4);
	struct as_before_stack found;

	(void)state;
	assert_true(as_before_resolve(as_before, &sent.record, &found));
	assert_non_null(found.known);
	assert_int_equal(found.known->film, 0);
	found.known->stack = 77;
	assert_true(as_before_resolve(as_before, &again, &found));
	assert_int_equal(found.known->stack, 77);
	/* the same number, another stack */
	assert_true(as_before_resolve(as_before, &sent.record, &found));
	assert_int_equal(found.known->stack, 0);
	as_before_free(as_before);
}

/* What the kernel's side still refers to is found until it has sent all of them anew. */
static void asks_for_all_anew_when_memory_is_used_up(void **state)
{
	uint32_t anew = 0, tid;
	struct as_before *as_before = new_one(1000, &anew);

	(void)state;
	for (tid = 1; !anew; tid++) {
		put(as_before, tid, 10, 4, 100ull * tid);
		assert_in_range(tid, 1, 100);
	}
	assert_int_equal(anew, 1);
	while (--tid)
		assert_int_equal(get(as_before, tid, 10, 4), 100ull * tid);
	for (tid = 1; anew < 3; tid++)
		put(as_before, 1000 + tid, 10, 4, 100ull * tid);
	assert_int_equal(get(as_before, 1, 10, 4), 0);
	as_before_free(as_before);
}

static void counts_where_a_walk_differs(void **state)
{
	uint32_t anew = 0;
	struct as_before *as_before = new_one(AS_BEFORE_BYTES_MAX, &anew);
	struct sent walked = make(1, 10, 4, 100);
	struct as_before_stack found;

	(void)state;
	put(as_before, 1, 10, 4, 100);
	walked.record.as_before = 1;
	assert_true(as_before_resolve(as_before, &walked.record, &found));
	assert_int_equal(as_before_counts(as_before).checked, 1);
	assert_int_equal(as_before_counts(as_before).differ, 0);
	walked.frames[2]++;
	assert_true(as_before_resolve(as_before, &walked.record, &found));
	walked = make(1, 10, 4, 100);
	walked.record.as_before = 1;
	walked.record.kernel_frames = 0;
	assert_true(as_before_resolve(as_before, &walked.record, &found));
	assert_int_equal(as_before_counts(as_before).checked, 3);
	assert_int_equal(as_before_counts(as_before).differ, 2);
	as_before_free(as_before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_a_stack_its_frames),
		cmocka_unit_test(knows_no_other_thread_and_no_older_stack),
		cmocka_unit_test(leaves_a_record_without_a_number_alone),
		cmocka_unit_test(keeps_what_is_known_of_a_stack),
		cmocka_unit_test(asks_for_all_anew_when_memory_is_used_up),
		cmocka_unit_test(counts_where_a_walk_differs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
