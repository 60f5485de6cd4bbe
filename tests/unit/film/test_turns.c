// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>

/* first: cmocka has a macro fail() */
#include "film/kinds.h"
#include "film/reader.h"
#include "film/unpack.h"
#include "make.h"

#define TURNS	70000 /* more than a block holds */
#define THREADS 5
#define STACKS	9
#define STEP	10007ull

/* Of a turn: what is known of a lock. */
#define LOCK_COLUMNS 3

/* Turn i: no two of its numbers are the same, where that can be. */
static struct film_turn turn_number(uint64_t i)
{
	return (struct film_turn){
		.end = test_info.start + i * STEP,
		.unseen = i % 100 ? 0 : i,
		.ran = 5000 + i * 3,
		.waited = 70000 + i * 5,
		.ready = 900 + i * 7,
		.arguments = {i, ~i, i << 40, 7},
		.thread = (uint32_t)(i % THREADS),
		.stack = (uint32_t)(i % STACKS),
		.waker = (uint32_t)((i + 1) % THREADS),
		.object = (uint32_t)(i % 3),
		.lock = (i + 1) << 20,
		.holder = (uint32_t)((i + 2) % THREADS),
		.lock_kind = (uint8_t)(i % 15),
		.call = (uint16_t)(i % 400),
		.cpu = (uint16_t)(i % 1000),
		.state = "RSDITtF"[i % 7],
		.context = (uint8_t)(i % 6),
		.descriptor = (uint8_t)(i % 16),
		.flags = (uint32_t)(i % 4096),
	};
}

struct seen {
	uint64_t next, total;
};

static int is_next(void *context, const struct film_turns *turns)
{
	struct seen *seen = context;

	assert_true(turns->count > 0);
	for (size_t i = 0; i < turns->count; i++, seen->next++) {
		struct film_turn turn = turn_number(seen->next);

		assert_int_equal(turns->end[i], turn.end);
		assert_int_equal(turns->unseen[i], turn.unseen);
		assert_int_equal(turns->ran[i], turn.ran);
		assert_int_equal(turns->waited[i], turn.waited);
		assert_int_equal(turns->ready[i], turn.ready);
		for (size_t k = 0; k < FILM_WAIT_ARGUMENTS; k++)
			assert_true(turns->arguments[k][i] == turn.arguments[k]);
		assert_int_equal(turns->thread[i], turn.thread);
		assert_int_equal(turns->stack[i], turn.stack);
		assert_int_equal(turns->waker[i], turn.waker);
		assert_int_equal(turns->object[i], turn.object);
		assert_int_equal(turns->lock[i], turn.lock);
		assert_int_equal(turns->holder[i], turn.holder);
		assert_int_equal(turns->lock_kind[i], turn.lock_kind);
		assert_int_equal(turns->call[i], turn.call);
		assert_int_equal(turns->cpu[i], turn.cpu);
		assert_int_equal(turns->state[i], turn.state);
		assert_int_equal(turns->context[i], turn.context);
		assert_int_equal(turns->descriptor[i], turn.descriptor);
		assert_int_equal(turns->flags[i], turn.flags);
		seen->total += turns->waited[i];
	}
	return 0;
}

static void write_turns(const char *path)
{
	struct film_writer *w = create_with(path, THREADS, STACKS);

	/* some of them late, as those of several CPUs come */
	for (uint64_t i = 0; i < TURNS; i++) {
		struct film_turn turn = turn_number(i ^ (i / 100 % 2));

		film_turn(w, 1, &turn);
		if (i == 999)
			commit(w, test_info.start + 1000 * STEP);
	}
	close_film(w, test_info.start + TURNS * STEP);
}

static void test_turns(void **state)
{
	const char *path = new_path();
	struct seen seen = {0};
	struct film *film;
	uint64_t count, total;

	(void)state;
	write_turns(path);
	film = open_film(path);
	assert_int_equal(film->loss_count, 0);
	assert_true(film_has_turns(film, 1));
	assert_false(film_has_turns(film, 0));
	assert_false(film_has_waits(film, 1));
	assert_int_equal(film_turns_end(film, 1), turn_number(TURNS - 1).end);
	assert_int_equal(film_turns_end(film, 0), 0);
	assert_int_equal(film_each_turns(film, 1, 0, UINT64_MAX, is_next, &seen, NULL), 0);
	assert_int_equal(seen.next, TURNS);
	/* what they waited are samples, too */
	film_event_total(film, 1, &count, &total);
	assert_int_equal(count, TURNS);
	assert_int_equal(total, seen.total);
	/* some of the middle */
	seen = (struct seen){.next = 1500};
	assert_int_equal(film_each_turns(film, 1, test_info.start + 1500 * STEP,
					 test_info.start + 2500 * STEP, is_next, &seen, NULL),
			 0);
	assert_int_equal(seen.next, 2500);
	check_promises(film);
	film_free(film);
	remove_folder();
}

/*
 * Batches large enough that the memory of one serves the next but one; and a block has no more rows
 * than can be near all at once.
 */
static int is_next_and_small(void *context, const struct film_turns *turns)
{
	assert_true(turns->count <= 16384);
	return is_next(context, turns);
}

static void test_batches(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create_with(path, THREADS, STACKS);
	struct seen seen = {0};
	struct film *film;

	(void)state;
	for (uint64_t i = 0; i < TURNS; i++) {
		struct film_turn turn = turn_number(i);

		film_turn(w, 1, &turn);
		/* of different sizes; the first and some others are too small to have any */
		if (i % 20000 == 999 || i % 20000 == 15000)
			commit(w, turn.end);
	}
	close_film(w, test_info.start + TURNS * STEP);
	film = open_film(path);
	assert_int_equal(film->loss_count, 0);
	assert_int_equal(film_each_turns(film, 1, 0, UINT64_MAX, is_next_and_small, &seen, NULL),
			 0);
	assert_int_equal(seen.next, TURNS);
	film_free(film);
	remove_folder();
}

static void test_merge(void **state)
{
	const char *path = new_path();
	struct seen seen = {0};
	struct film *film;

	(void)state;
	write_turns(path);
	film = merge_alone(path);
	assert_int_equal(film_each_turns(film, 1, 0, UINT64_MAX, is_next, &seen, NULL), 0);
	assert_int_equal(seen.next, TURNS);
	film_free(film);
	remove_folder();
}

/* A block from before turns had objects is read as one that has none. */
static void test_without_objects(void **state)
{
	const struct film_kind *kind = film_kind(FILM_BLOCK_TURNS);
	const struct layout_limits limits = {
		{[LAYOUT_THREAD] = THREADS, [LAYOUT_STACK] = STACKS, [LAYOUT_FRAME] = 3}};
	struct layout older = kind->layout;
	struct film_turn rows[2] = {turn_number(101), turn_number(102)};
	const struct film_span span = {.t0 = rows[0].end,
				       .t1 = rows[1].end,
				       .total = rows[0].waited + rows[1].waited,
				       .count = 2};
	struct film_unpacker u = {0};
	struct film_unpacked unpacked;
	struct columns c = {0};

	(void)state;
	assert_int_equal(layout_pack(&c, &kind->layout, 0, rows, 2), 0);
	assert_int_equal(
		film_unpack(&u, kind, &limits, &span, c.packed.at, c.packed.count, &unpacked), 0);
	assert_int_equal(unpacked.view.turns.object[0], rows[0].object);
	assert_int_equal(unpacked.view.turns.lock[0], rows[0].lock);
	/* locks came last */
	older.count -= LOCK_COLUMNS;
	assert_int_equal(layout_pack(&c, &older, 0, rows, 2), 0);
	assert_int_equal(
		film_unpack(&u, kind, &limits, &span, c.packed.at, c.packed.count, &unpacked), 0);
	assert_int_equal(unpacked.view.turns.ready_object[0], rows[0].ready_object);
	assert_int_equal(unpacked.view.turns.lock[0], 0);
	assert_int_equal(unpacked.view.turns.holder[0], 0);
	/* what a goroutine ran on came before */
	older.count--;
	assert_int_equal(layout_pack(&c, &older, 0, rows, 2), 0);
	assert_int_equal(
		film_unpack(&u, kind, &limits, &span, c.packed.at, c.packed.count, &unpacked), 0);
	assert_int_equal(unpacked.view.turns.ready_object[0], rows[0].ready_object);
	assert_int_equal(unpacked.view.turns.on[0], 0);
	/* and what was ready before that */
	older.count--;
	assert_int_equal(layout_pack(&c, &older, 0, rows, 2), 0);
	assert_int_equal(
		film_unpack(&u, kind, &limits, &span, c.packed.at, c.packed.count, &unpacked), 0);
	assert_int_equal(unpacked.view.turns.object[0], rows[0].object);
	assert_int_equal(unpacked.view.turns.ready_object[0], 0);
	older.count--;
	assert_int_equal(layout_pack(&c, &older, 0, rows, 2), 0);
	assert_int_equal(
		film_unpack(&u, kind, &limits, &span, c.packed.at, c.packed.count, &unpacked), 0);
	assert_int_equal(unpacked.view.turns.object[0], 0);
	assert_int_equal(unpacked.view.turns.object[1], 0);
	assert_int_equal(unpacked.view.turns.flags[1], rows[1].flags);
	/* nothing else may be missing */
	older.count--;
	assert_int_equal(layout_pack(&c, &older, 0, rows, 2), 0);
	assert_int_equal(
		film_unpack(&u, kind, &limits, &span, c.packed.at, c.packed.count, &unpacked),
		-EBADMSG);
	columns_free(&c);
	film_unpacker_free(&u);
}

struct parts {
	unsigned int count;
	struct film_turn sum;
	uint32_t first_flags, last_flags;
	uint64_t end;
};

static int add_parts(void *context, const struct film_turns *turns)
{
	struct parts *parts = context;

	for (size_t i = 0; i < turns->count; i++, parts->count++) {
		uint64_t time =
			turns->unseen[i] + turns->ran[i] + turns->waited[i] + turns->ready[i];

		assert_true(time && time <= FILM_TURN_MAX);
		if (!parts->count)
			parts->first_flags = turns->flags[i];
		else
			assert_int_equal(turns->end[i] - time, parts->end);
		parts->last_flags = turns->flags[i];
		parts->end = turns->end[i];
		parts->sum.unseen += turns->unseen[i];
		parts->sum.ran += turns->ran[i];
		parts->sum.waited += turns->waited[i];
		parts->sum.ready += turns->ready[i];
		assert_int_equal(turns->call[i], 8);
	}
	return 0;
}

/* A turn that lasts long is in rows that do not, which are as long as it. */
static void test_cut(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create_with(path, THREADS, STACKS);
	const struct film_turn turn = {
		.end = test_info.start + 7 * SECOND,
		.unseen = SECOND / 3,
		.ran = SECOND + 7,
		.waited = 4 * SECOND - 9,
		.ready = SECOND / 5,
		.thread = 1,
		.call = 8,
		.flags = FILM_TURN_BEGINS | FILM_WAIT_BEFORE | FILM_TURN_ENDS,
	};
	struct parts parts = {0};
	struct film *film;

	(void)state;
	film_turn(w, 1, &turn);
	close_film(w, test_info.start + 7 * SECOND);
	film = open_film(path);
	assert_int_equal(film_each_turns(film, 1, 0, UINT64_MAX, add_parts, &parts, NULL), 0);
	assert_int_equal(parts.count, 6);
	assert_int_equal(parts.sum.unseen, turn.unseen);
	assert_int_equal(parts.sum.ran, turn.ran);
	assert_int_equal(parts.sum.waited, turn.waited);
	assert_int_equal(parts.sum.ready, turn.ready);
	assert_int_equal(parts.first_flags, FILM_TURN_BEGINS | FILM_WAIT_BEFORE | FILM_WAIT_OPEN);
	assert_int_equal(parts.last_flags, FILM_TURN_ENDS);
	assert_int_equal(parts.end, turn.end);
	film_free(film);
	remove_folder();
}

/* What a turn says of itself must be so. */
static void test_refused(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create_with(path, THREADS, STACKS);
	struct film_turn turn = turn_number(1), wrong[4];
	struct film *film;
	uint64_t count, total;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		wrong[i] = turn;
	wrong[0].thread = THREADS;
	wrong[1].stack = STACKS;
	wrong[2].waker = THREADS;
	for (size_t i = 0; i < 3; i++)
		film_turn(w, 1, &wrong[i]);
	film_turn(w, 2, &wrong[3]);
	film_turn(w, 1, &turn);
	close_film(w, test_info.start + SECOND);
	film = open_film(path);
	film_event_total(film, 1, &count, &total);
	assert_int_equal(count, 1);
	assert_int_equal(total, turn.waited);
	assert_int_equal(film->loss_count, 1);
	assert_int_equal(film->losses[0].count, 4);
	film_free(film);
	remove_folder();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turns), cmocka_unit_test(test_batches),
		cmocka_unit_test(test_merge), cmocka_unit_test(test_without_objects),
		cmocka_unit_test(test_cut),   cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
