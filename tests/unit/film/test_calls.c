// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "film/unpack.h"
#include "make.h"
#include "tree.h"

#define CALLS	200000 /* some blocks */
#define THREADS 3
#define START	(5 * SECOND)

static struct film_writer *create_tree(const char *path, unsigned int threads,
				       unsigned int functions)
{
	struct film_writer *w = create(path);
	unsigned int i;

	for (i = 1; i < threads; i++)
		film_add_thread(w, &(struct film_thread){1, 100 + i, 1, "worker"});
	for (i = 0; i < functions; i++)
		assert_int_equal(native(w, 0x1000 + i), i + 1);
	return w;
}

/* What a walk must bring: the calls of each thread in the order of writing. */
struct expected {
	const struct film_call *calls;
	size_t count;
	size_t next[THREADS + 1]; /* index of the next call of a thread */
	size_t seen, blocks;
	uint64_t from, to;
};

static size_t next_of(const struct expected *e, uint32_t thread, size_t i)
{
	while (i < e->count && (e->calls[i].thread != thread || e->calls[i].end < e->from ||
				e->calls[i].end >= e->to))
		i++;
	return i;
}

static int compare(void *context, const struct film_calls *calls)
{
	struct expected *e = context;
	size_t i;

	assert_true(calls->count > 0);
	for (i = 0; i < calls->count; i++) {
		uint32_t thread = calls->thread[i];
		const struct film_call *call;
		size_t at;

		assert_in_range(thread, 0, THREADS);
		at = next_of(e, thread, e->next[thread]);
		assert_true(at < e->count);
		call = &e->calls[at];
		e->next[thread] = at + 1;
		assert_true(!i || calls->end[i] >= calls->end[i - 1]);
		assert_int_equal(calls->end[i], call->end);
		assert_int_equal(calls->duration[i], call->duration);
		assert_int_equal(calls->waited[i], call->waited);
		assert_int_equal(calls->frame[i], call->frame);
		assert_int_equal(calls->lane[i], call->lane);
		assert_int_equal(calls->depth[i], call->depth);
		assert_int_equal(calls->cpu[i], call->cpu);
		assert_int_equal(calls->flags[i], call->flags);
	}
	e->seen += calls->count;
	e->blocks++;
	return 0;
}

static void check_calls(struct film *film, const struct film_call *calls, size_t count,
			uint64_t from, uint64_t to)
{
	struct expected e = {.calls = calls, .count = count, .from = from, .to = to};
	struct fail why = {0};
	size_t wanted = 0, i;

	for (i = 0; i < count; i++)
		wanted += calls[i].end >= from && calls[i].end < to;
	if (film_each_calls(film, 1, from, to, false, compare, &e, &why))
		fail_print(&why);
	assert_int_equal(why.err, 0);
	assert_int_equal(e.seen, wanted);
}

static void test_tree_comes_back(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create_tree(path, THREADS, 8);
	struct film_call *calls = calloc(CALLS, sizeof(*calls));
	struct tree tree;
	struct film *film;
	size_t i;

	(void)state;
	tree_begin(&tree, THREADS, 8, 6, START);
	for (i = 0; i < CALLS; i++) {
		calls[i] = tree_next(&tree);
		film_call(w, 1, &calls[i]);
		if (i == CALLS / 3)
			commit(w, calls[i].end);
	}
	close_film(w, calls[CALLS - 1].end);
	film = open_film(path);
	assert_int_equal(film_call_count(film, 1), CALLS);
	assert_int_equal(film->loss_count, 0);
	check_calls(film, calls, CALLS, 0, UINT64_MAX);
	check_calls(film, calls, CALLS, calls[1000].end, calls[90000].end);
	check_calls(film, calls, CALLS, calls[150000].end, calls[150001].end + 1);
	check_calls(film, calls, CALLS, 0, START);
	check_promises(film);
	film_free(film);
	free(calls);
	remove_folder();
}

/* For each thread, the call of each depth that was seen last. */
struct parents {
	struct {
		uint64_t start, end;
	} open[THREADS + 1][64];
	uint64_t first_end; /* of the block before, which is a later one */
	size_t calls, children, blocks;
};

/* One pass backwards knows of each call which one made it. */
static int find_parents(void *context, const struct film_calls *calls)
{
	struct parents *p = context;
	size_t i;

	assert_true(calls->end[0] < p->first_end);
	p->first_end = calls->end[0];
	for (i = calls->count; i-- > 0;) {
		uint32_t thread = calls->thread[i], depth = calls->depth[i];
		uint64_t end = calls->end[i], start = end - calls->duration[i];

		assert_true(depth < 64);
		p->open[thread][depth].start = start;
		p->open[thread][depth].end = end;
		if (depth && p->open[thread][depth - 1].end) {
			assert_true(p->open[thread][depth - 1].start <= start);
			assert_true(p->open[thread][depth - 1].end >= end);
			p->children++;
		}
	}
	p->calls += calls->count;
	p->blocks++;
	return 0;
}

static void test_backwards(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create_tree(path, THREADS, 8);
	struct parents p = {.first_end = UINT64_MAX};
	struct fail why = {0};
	struct tree tree;
	struct film *film;
	size_t i;

	(void)state;
	tree_begin(&tree, THREADS, 8, 6, START);
	for (i = 0; i < CALLS; i++) {
		struct film_call call = tree_next(&tree);

		film_call(w, 1, &call);
		if (i % 30000 == 0)
			commit(w, call.end);
	}
	close_film(w, 99 * SECOND);
	film = open_film(path);
	assert_int_equal(film_each_calls(film, 1, 0, UINT64_MAX, true, find_parents, &p, &why), 0);
	assert_int_equal(p.calls, CALLS);
	assert_int_equal(p.blocks, (CALLS + 30000 - 2) / 30000 + 1);
	assert_true(p.children > CALLS / 2);
	film_free(film);
	remove_folder();
}

static uint64_t random_number(uint64_t *state, uint64_t below)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (*state >> 33) % below;
}

/*
 * Calls that fit into no tree, as after losses, of many stacks, with the largest numbers there are.
 */
static void test_any_calls(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create_tree(path, 2, 8);
	struct film_call *calls = calloc(CALLS, sizeof(*calls));
	uint64_t end = 0, random = 1, largest = UINT64_MAX;
	struct film *film;
	size_t i;

	(void)state;
	for (i = 0; i < CALLS; i++) {
		struct film_call *call = &calls[i];

		end += random_number(&random, 3);
		*call = (struct film_call){
			.end = i + 100 < CALLS ? end : largest,
			.thread = (uint32_t)random_number(&random, 3),
			.frame = (uint32_t)random_number(&random, 9),
			.depth = (uint16_t)random_number(&random, i % 2 ? 3 : UINT16_MAX + 1),
			.cpu = (uint16_t)random_number(&random, UINT16_MAX + 1),
			.flags = (uint32_t)random_number(&random, 1ull << 31) << 1,
		};
		call->lane = call->thread == 2 ? UINT32_MAX : 0;
		call->duration =
			random_number(&random, 2) ? call->end : random_number(&random, end + 1);
		if (i % 5 == 0)
			call->waited = call->duration;
		film_call(w, 1, call);
	}
	close_film(w, end);
	film = open_film(path);
	assert_int_equal(film->loss_count, 0);
	check_calls(film, calls, CALLS, 0, largest);
	check_calls(film, calls, CALLS, end / 2, end);
	check_promises(film);
	film_free(film);
	free(calls);
	remove_folder();
}

static int count_lanes(void *context, const struct film_calls *calls)
{
	uint64_t *next = context;
	size_t i;

	for (i = 0; i < calls->count; i++) {
		assert_int_equal(calls->end[i], START + *next);
		assert_int_equal(calls->lane[i], (*next * 7919) % 50021);
		++*next;
	}
	return 0;
}

/* As many stacks as calls: goroutines. */
static void test_many_lanes(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create_tree(path, 1, 1);
	struct film *film;
	uint64_t next = 0, i;

	(void)state;
	for (i = 0; i < 70000; i++) {
		struct film_call call = {.end = START + i,
					 .duration = 3,
					 .thread = 1,
					 .frame = 1,
					 .lane = (uint32_t)((i * 7919) % 50021)};

		film_call(w, 1, &call);
	}
	close_film(w, 9 * SECOND);
	film = open_film(path);
	assert_int_equal(film_each_calls(film, 1, 0, UINT64_MAX, false, count_lanes, &next, NULL),
			 0);
	assert_int_equal(next, 70000);
	film_free(film);
	remove_folder();
}

static int collect_ends(void *context, const struct film_calls *calls)
{
	uint64_t **next = context;
	size_t i;

	for (i = 0; i < calls->count; i++)
		*(*next)++ = calls->end[i];
	return 0;
}

/* What was given in another order than that of the ends comes in that order. */
static void test_disorder(void **state)
{
	static const uint64_t given[] = {50, 20, 30, 10, 40};
	const char *path = new_path();
	struct film_writer *w = create_tree(path, 1, 1);
	uint64_t ends[5], *next = ends;
	struct film *film;
	size_t i;

	(void)state;
	for (i = 0; i < 5; i++)
		film_call(w, 1, &(struct film_call){.end = given[i], .duration = 9, .thread = 1});
	close_film(w, 9 * SECOND);
	film = open_film(path);
	assert_int_equal(film_each_calls(film, 1, 0, UINT64_MAX, false, collect_ends, &next, NULL),
			 0);
	for (i = 0; i < 5; i++)
		assert_int_equal(ends[i], 10 * (i + 1));
	film_free(film);
	remove_folder();
}

static int stop_at_once(void *context, const struct film_calls *calls)
{
	(void)context;
	assert_true(calls->count > 0);
	return 77;
}

/* Samples, calls, sums and probes of two events beside each other. */
static void test_all_kinds(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create_tree(path, 1, 1);
	struct film_event event = {"calls", "ns", "uprobes", 0};
	struct film_call call = {.duration = 10, .thread = 1, .frame = 1};
	uint64_t samples, total, second;
	struct film *film;

	(void)state;
	assert_int_equal(film_add_event(w, &event), 2);
	for (second = 0; second < 4; second++) {
		call.end = START + second * SECOND;
		film_call(w, 2, &call);
		call.end += 5;
		call.depth = 1;
		film_call(w, 2, &call);
		call.depth = 0;
		film_sample(w, 1, call.end, 1, 0, 3);
		film_sum(w, 2, call.end, call.end + 1, &(struct film_sum){.frame = 1, .calls = 1});
		film_probe(w, 2, &(struct film_probe){1, 2, 3});
		commit(w, call.end);
	}
	close_film(w, 9 * SECOND);
	film = open_film(path);
	film_event_total(film, 1, &samples, &total);
	assert_int_equal(samples, 4);
	assert_int_equal(total, 12);
	film_event_total(film, 2, &samples, &total);
	assert_int_equal(samples, 0);
	assert_int_equal(total, 0);
	assert_int_equal(film_call_count(film, 1), 0);
	assert_int_equal(film_call_count(film, 2), 8);
	assert_int_equal(sum_of(film, 1).count, 4);
	assert_int_equal(film_each_calls(film, 2, 0, UINT64_MAX, false, stop_at_once, NULL, NULL),
			 77);
	assert_int_equal(film_each_calls(film, 2, START + 6, START + SECOND, false, stop_at_once,
					 NULL, NULL),
			 0);
	assert_int_equal(film_each_calls(film, 1, 0, UINT64_MAX, false, stop_at_once, NULL, NULL),
			 0);
	check_promises(film);
	film_free(film);
	/* a kind of a later version is none of these, and no reason to refuse the rest */
	change_film(path, "UPDATE block SET kind = 99, n = -5, data = 'x' WHERE id IN (2, 3)");
	film = open_film(path);
	assert_int_equal(film_call_count(film, 2), 6);
	assert_int_equal(sum_of(film, 1).count, 4);
	check_promises(film);
	film_free(film);
	remove_folder();
}

static uint64_t loss_of(const struct film *film, const char *words)
{
	size_t i;

	for (i = 0; i < film->loss_count; i++) {
		if (!strncmp(film->losses[i].reason, "film: ", 6) &&
		    strstr(film->losses[i].reason, words))
			return film->losses[i].count;
	}
	return 0;
}

static void test_losses(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create_tree(path, 1, 1);
	struct film_call right = {.end = START, .duration = 9, .thread = 1, .frame = 1}, call;
	struct film_sum sum = {.frame = 1};
	struct film *film;
	size_t i;

	(void)state;
	call = right;
	film_call(w, 0, &call);
	film_call(w, 2, &call);
	call.thread = 2;
	film_call(w, 1, &call);
	call = right;
	call.frame = 2;
	film_call(w, 1, &call);
	call = right;
	call.duration = START + 1;
	film_call(w, 1, &call);
	call = right;
	call.waited = 10;
	film_call(w, 1, &call);
	film_probe(w, 2, &(struct film_probe){1, 2, 3});
	film_probe(w, 1, &(struct film_probe){2, 2, 3});
	film_sum(w, 2, 0, 1, &sum);
	film_sum(w, 1, 2, 1, &sum);
	sum.frame = 2;
	film_sum(w, 1, 0, 1, &sum);
	commit(w, START);
	/* a caller that never commits */
	for (i = 0; i < (4u << 20) + 3; i++)
		film_call(w, 1, &right);
	close_film(w, 9 * SECOND);
	film = open_film(path);
	assert_int_equal(loss_of(film, "another call"), 5 + 3);
	assert_int_equal(loss_of(film, "waits longer"), 1);
	assert_int_equal(loss_of(film, "probe's cost"), 2);
	assert_int_equal(loss_of(film, "sums"), 3);
	assert_int_equal(film_call_count(film, 1), 1 + (4u << 20));
	check_promises(film);
	film_free(film);
	remove_folder();
}

static int no_call(void *context, const struct film_calls *calls)
{
	(void)context;
	(void)calls;
	assert_true(false);
	return 0;
}

/* What is wrong with a block shows when it is read. */
static void test_wrong_blocks(void **state)
{
	static const char *const changes[] = {
		"UPDATE block SET n = n - 1",
		"UPDATE block SET n = n + 1",
		"UPDATE block SET total = total + 1",
		"UPDATE block SET t0 = t0 - 1",
		"UPDATE block SET t1 = t1 + 1",
		"UPDATE block SET data = (SELECT data FROM frame)",
		"UPDATE block SET data = ''",
		"UPDATE block SET data = NULL",
		"DELETE FROM thread",
	};
	const char *path = new_path();
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct film_writer *w;
		struct fail why = {0};
		struct film *film;
		struct tree tree;
		unsigned int n;

		remove(path);
		w = create_tree(path, THREADS, 8);
		tree_begin(&tree, THREADS, 8, 6, START);
		for (n = 0; n < 100; n++) {
			struct film_call call = tree_next(&tree);

			film_call(w, 1, &call);
		}
		close_film(w, 9 * SECOND);
		change_film(path, changes[i]);
		film = open_film(path);
		assert_int_equal(
			film_each_calls(film, 1, 0, UINT64_MAX, false, no_call, NULL, &why),
			-EBADMSG);
		assert_non_null(strstr(why.what, "a block of calls"));
		film_free(film);
	}
	remove_folder();
}

/* The columns of a block of two calls: one sound, the others with one number that is not. */
static int unpack_pair(size_t column, uint64_t wrong)
{
	/* two tracks: thread 1 and 2, lane 0, one call each, beginning at 100 and 105 */
	uint64_t columns[][2] = {
		{2},	  {1, 2}, {0, 0},   {1, 1}, {100, 105}, /* tracks */
		{1, 1},	  {0, 0}, {0, 0},   {0, 0},		/* frame, depth, cpu, flags */
		{10, 10}, {0, 0}, {20, 20},			/* waited, gap, duration */
	};
	struct film_span span = {.t0 = 120, .t1 = 125, .total = 40, .count = 2};
	const struct layout_limits limits = {{[LAYOUT_THREAD] = 3, [LAYOUT_FRAME] = 2}};
	struct film_unpacker unpacker = {0};
	struct film_unpacked block;
	struct columns c = {0};
	size_t i;
	int err;

	columns[column][0] = wrong;
	columns_begin(&c);
	for (i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		columns_put(&c, columns[i], i ? 2 : 1);
	assert_int_equal(columns_end(&c), 0);
	err = film_unpack(&unpacker, film_kind(FILM_BLOCK_CALLS), &limits, &span, c.packed.at,
			  c.packed.count, &block);
	columns_free(&c);
	film_unpacker_free(&unpacker);
	return err;
}

static void test_wrong_numbers(void **state)
{
	static const struct {
		size_t column;
		uint64_t right, wrong;
	} cases[] = {
		{0, 2, 0}, /* no tracks */
		{0, 2, 3}, /* more than calls */
		{0, 2, UINT64_MAX},
		{1, 0, 3}, /* not a thread */
		{2, UINT32_MAX, 1ull << 32},
		{3, 1, 0}, /* a track of no calls */
		{3, 1, 2}, /* more calls than there are */
		{3, 1, UINT64_MAX},
		{4, 100, 101}, /* another t0 */
		{5, 0, 2},     /* not a frame */
		{6, 0, 65536},
		{6, 0, 1}, /* not what total says */
		{7, 65535, 65536},
		{8, UINT32_MAX, 1ull << 32},
		{9, 20, 21}, /* waited longer than it took */
		{10, 0, 1},
		{11, 20, UINT64_MAX - 100}, /* the end is before the start */
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(unpack_pair(cases[i].column, cases[i].right), 0);
		assert_int_equal(unpack_pair(cases[i].column, cases[i].wrong), -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree_comes_back), cmocka_unit_test(test_backwards),
		cmocka_unit_test(test_any_calls),	cmocka_unit_test(test_many_lanes),
		cmocka_unit_test(test_disorder),	cmocka_unit_test(test_all_kinds),
		cmocka_unit_test(test_losses),		cmocka_unit_test(test_wrong_blocks),
		cmocka_unit_test(test_wrong_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
