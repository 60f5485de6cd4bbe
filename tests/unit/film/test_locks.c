// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include "make.h"

#define LOCKS	70000 /* more than a block holds */
#define THREADS 5
#define STACKS	9
#define STEP	10007ull

/* Lock i: no two of its numbers are the same, where that can be. */
static struct film_lock lock_number(uint64_t i)
{
	return (struct film_lock){
		.end = test_info.start + i * STEP,
		.duration = 50000 + i * 3,
		.address = i << 12,
		.value = ~i,
		.thread = (uint32_t)(i % THREADS),
		.stack = (uint32_t)(i % STACKS),
		.waker = (uint32_t)((i + 1) % THREADS),
		.waker_stack = (uint32_t)((i + 2) % STACKS),
		.holder = (uint32_t)((i + 3) % THREADS),
		.place = (uint32_t)(i % 2),
		.flags = (uint32_t)(i % 32),
		.kind = (uint8_t)(i % 14),
		.sure = (uint8_t)(i % 4),
		.context = (uint8_t)(i % 6),
	};
}

struct seen {
	uint64_t next, total;
};

static int is_next(void *context, const struct film_locks *locks)
{
	struct seen *seen = context;

	assert_true(locks->count > 0);
	for (size_t i = 0; i < locks->count; i++, seen->next++) {
		struct film_lock lock = lock_number(seen->next);

		assert_int_equal(locks->end[i], lock.end);
		assert_int_equal(locks->duration[i], lock.duration);
		assert_true(locks->address[i] == lock.address);
		assert_true(locks->value[i] == lock.value);
		assert_int_equal(locks->thread[i], lock.thread);
		assert_int_equal(locks->stack[i], lock.stack);
		assert_int_equal(locks->waker[i], lock.waker);
		assert_int_equal(locks->waker_stack[i], lock.waker_stack);
		assert_int_equal(locks->holder[i], lock.holder);
		assert_int_equal(locks->place[i], lock.place);
		assert_int_equal(locks->flags[i], lock.flags);
		assert_int_equal(locks->kind[i], lock.kind);
		assert_int_equal(locks->sure[i], lock.sure);
		assert_int_equal(locks->context[i], lock.context);
		seen->total += lock.duration;
	}
	return 0;
}

static void write_locks(const char *path)
{
	struct film_writer *w = create_with(path, THREADS, STACKS);

	for (uint64_t i = 0; i < LOCKS; i++) {
		struct film_lock lock = lock_number(i ^ (i / 100 % 2));

		film_lock(w, 1, &lock);
		if (i == 999)
			commit(w, test_info.start + 1000 * STEP);
	}
	close_film(w, test_info.start + LOCKS * STEP);
}

static void test_locks(void **state)
{
	const char *path = new_path();
	struct seen seen = {0};
	struct film *film;
	uint64_t count, total;

	(void)state;
	write_locks(path);
	film = open_film(path);
	assert_int_equal(film->loss_count, 0);
	assert_true(film_has_locks(film, 1));
	assert_false(film_has_waits(film, 1));
	assert_int_equal(film_each_locks(film, 1, 0, UINT64_MAX, is_next, &seen, NULL), 0);
	assert_int_equal(seen.next, LOCKS);
	/* they are samples, too */
	film_event_total(film, 1, &count, &total);
	assert_int_equal(count, LOCKS);
	assert_int_equal(total, seen.total);
	check_promises(film);
	film_free(film);
	remove_folder();
}

static void test_merge(void **state)
{
	const char *path = new_path();
	struct seen seen = {0};
	struct film *film;

	(void)state;
	write_locks(path);
	film = merge_alone(path);
	assert_int_equal(film_each_locks(film, 1, 0, UINT64_MAX, is_next, &seen, NULL), 0);
	assert_int_equal(seen.next, LOCKS);
	film_free(film);
	remove_folder();
}

/* What a lock says of itself must be so. */
static void test_refused(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create_with(path, THREADS, STACKS);
	struct film_lock lock = lock_number(1), wrong[6];
	struct film *film;
	uint64_t count, total;

	(void)state;
	for (size_t i = 0; i < 6; i++)
		wrong[i] = lock;
	wrong[0].thread = THREADS;
	wrong[1].stack = STACKS;
	wrong[2].holder = THREADS;
	wrong[3].waker = THREADS;
	wrong[4].place = 1u << 20;
	wrong[5].duration = lock.end + 1;
	for (size_t i = 0; i < 6; i++)
		film_lock(w, 1, &wrong[i]);
	film_lock(w, 1, &lock);
	close_film(w, test_info.start + SECOND);
	film = open_film(path);
	film_event_total(film, 1, &count, &total);
	assert_int_equal(count, 1);
	assert_int_equal(film->loss_count, 1);
	assert_int_equal(film->losses[0].count, 6);
	film_free(film);
	remove_folder();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_locks),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
