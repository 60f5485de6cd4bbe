// SPDX-License-Identifier: Apache-2.0
/*
 * A film that is not expected to be merged again has its catalogue in another order, and larger
 * blocks: it says the same as one that has not, in fewer bytes.
 */
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/map.h"
#include "film/merge.h"
#include "make.h"

enum {
	FILMS = 20, /* more than stay open */
	PLACES = 3000,
	SAMPLES = 500
};

static char paths[FILMS][160];
static const char *list[FILMS];

static uint64_t made(uint64_t *seed, uint64_t below)
{
	*seed = hash_u64(*seed + 1);
	return *seed % below;
}

/* The place number n: neighbours in the order of use are far from each other. */
static uint32_t place(struct film_writer *w, uint64_t n)
{
	uint64_t address = 0x1000 + hash_u64(n) % 1000000;
	uint32_t frame = native(w, address);
	struct film_name name = {NULL, "a.c", (uint32_t)n};
	char text[64];

	snprintf(text, sizeof(text), "space::function_%llu(int)", (unsigned long long)address / 64);
	name.function = text;
	film_name_frame(w, frame, &name, 1);
	return frame;
}

/* Samples of stacks that share their outer frames, one each step ns. */
static void make_film(const char *path, uint64_t seed, uint64_t step, uint32_t more)
{
	struct film_writer *w = create(path);
	uint64_t time = test_info.start;

	for (int i = 0; i < SAMPLES; i++, time += step) {
		uint64_t of = made(&seed, 40), depth = 2 + made(&seed, 12);
		uint32_t stack = 0;

		for (uint64_t d = 0; d < depth; d++)
			stack = film_stack(w, stack, place(w, (of / (d + 1) * 7 + d) % PLACES),
					   FILM_HOW_EXACT);
		if (i % 9 == 0)
			stack = film_stack(w, stack, film_mark(w, "[truncated]"), FILM_HOW_EXACT);
		film_sample(w, 1, time, 1, stack, 1 + made(&seed, 5));
	}
	/* stacks that no sample has, two below each */
	for (uint32_t i = 0; i < more; i++)
		film_stack(w, 1 + i / 2, 1 + i % 2, FILM_HOW_FRAME_POINTER);
	close_film(w, time);
}

static void make_films(size_t count, uint64_t step, uint32_t more)
{
	const char *first = new_path();

	for (size_t i = 0; i < count; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s.%zu", first, i);
		list[i] = paths[i];
		make_film(paths[i], i, step, i ? 0 : more);
	}
}

static const char *merged(size_t count, bool is_final, char to[200])
{
	struct fail why = {0};
	size_t bad;

	snprintf(to, 200, "%s.%s", paths[0], is_final ? "final" : "once");
	if (film_merge_files(list, count, to, is_final, &bad, &why))
		fail_print(&why);
	assert_int_equal(why.err, 0);
	return to;
}

struct digest {
	struct film *film;
	uint64_t sum, count;
};

/* In any order: of each sample its time, value, places and names. */
static int add_samples(void *context, const struct film_samples *samples)
{
	struct digest *d = context;
	const struct film *film = d->film;

	for (size_t i = 0; i < samples->count; i++) {
		uint64_t hash = hash_u64(samples->time[i] / 1024) + samples->value[i];

		for (uint32_t s = samples->stack[i]; s; s = film->stacks[s].parent) {
			const struct film_frame *frame = &film->frames[film->stacks[s].frame];
			const char *name = film->functions[frame->function].name;

			hash = hash_u64(hash + frame->address + (uint64_t)frame->kind);
			hash = hash_u64(hash ^ hash_bytes(name, strlen(name)));
			hash = hash_u64(hash + frame->line + (uint64_t)film->stacks[s].how);
		}
		d->sum += hash;
	}
	d->count += samples->count;
	return 0;
}

static struct digest digest_of(struct film *film, uint64_t from, uint64_t to)
{
	struct digest d = {.film = film};

	assert_int_equal(film_each_samples(film, 1, from, to, add_samples, &d, NULL), 0);
	return d;
}

static void check_same(struct film *a, struct film *b)
{
	struct digest x = digest_of(a, 0, UINT64_MAX), y = digest_of(b, 0, UINT64_MAX);

	check_promises(a);
	check_promises(b);
	assert_int_equal(x.count, y.count);
	assert_true(x.sum == y.sum);
	assert_int_equal(a->function_count, b->function_count);
	assert_int_equal(a->frame_count, b->frame_count);
	assert_int_equal(a->stack_count, b->stack_count);
}

/* Frames by address, functions as they lie, a stack below the one before it or one above that. */
static bool is_ordered(const struct film *film)
{
	uint32_t function = 0;
	bool ordered = true;

	for (uint32_t i = 1; i < film->frame_count; i++) {
		const struct film_frame *frame = &film->frames[i], *before = frame - 1;

		if (i > 1 && frame->image == before->image && frame->kind == before->kind)
			ordered &= frame->address > before->address;
		ordered &= frame->function <= function + 1;
		function = frame->function > function ? frame->function : function;
	}
	for (uint32_t i = 2; i < film->stack_count; i++) {
		uint32_t above = i - 1;

		while (above && above != film->stacks[i].parent)
			above = film->stacks[above].parent;
		ordered &= above == film->stacks[i].parent;
	}
	return ordered;
}

static void check_films(size_t count, uint32_t more, bool ordered)
{
	struct film *films[2];
	char to[200];

	make_films(count, SECOND / 100, more);
	for (int i = 0; i < 2; i++)
		films[i] = open_film(merged(count, i, to));
	check_same(films[0], films[1]);
	assert_int_equal(digest_of(films[1], 0, UINT64_MAX).count, count * SAMPLES);
	assert_false(is_ordered(films[0]));
	assert_int_equal(is_ordered(films[1]), ordered);
	for (int i = 0; i < 2; i++)
		film_free(films[i]);
	remove_folder();
}

static void test_one_film(void **state)
{
	(void)state;
	check_films(1, 0, true);
}

/* Some of them are closed meanwhile, and opened again. */
static void test_many_films(void **state)
{
	(void)state;
	check_films(FILMS, 0, true);
}

/* The tables of the first film are too large for the others to be waited for. */
static void test_too_large_to_be_ordered(void **state)
{
	(void)state;
	check_films(3, 2500000, false);
}

static void test_is_merged_again(void **state)
{
	struct film *films[2];
	struct fail why = {0};
	const char *both[2];
	char first[200], all[200], again[200];
	size_t bad;

	(void)state;
	make_films(3, SECOND / 100, 0);
	films[0] = open_film(merged(3, false, all));
	both[0] = paths[2];
	both[1] = merged(2, true, first);
	snprintf(again, sizeof(again), "%s.again", paths[0]);
	assert_int_equal(film_merge_files(both, 2, again, true, &bad, &why), 0);
	films[1] = open_film(again);
	check_same(films[0], films[1]);
	assert_true(is_ordered(films[1]));
	film_free(films[0]);
	film_free(films[1]);
	remove_folder();
}

static uint64_t size_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (uint64_t)st.st_size;
}

static void test_is_smaller(void **state)
{
	char once[200], final[200];

	(void)state;
	make_films(8, SECOND / 100, 0);
	merged(8, false, once);
	merged(8, true, final);
	assert_true(size_of(final) < size_of(once));
	remove_folder();
}

/* An hour and more with a sample each ten seconds is one block, of which a part can be read. */
static void test_what_is_rare_shares_a_block(void **state)
{
	uint64_t from = test_info.start + 1000 * SECOND, to = from + 100 * SECOND;
	struct digest parts[2];
	struct film *film;
	char path[200];

	(void)state;
	make_films(1, 10 * SECOND, 0);
	for (int i = 0; i < 2; i++) {
		film = open_film(merged(1, i, path));
		assert_int_equal(film_block_count(film), i ? 1 : (SAMPLES + 5) / 6);
		parts[i] = digest_of(film, from, to);
		film_free(film);
	}
	assert_int_equal(parts[0].count, 10);
	assert_int_equal(parts[1].count, 10);
	assert_true(parts[0].sum == parts[1].sum);
	remove_folder();
}

/* What another one put into its tables is refused, or it is a film with other names. */
static void test_hostile(void **state)
{
	static const char *const changes[] = {
		"UPDATE stack SET data = (SELECT data FROM frame)",
		"UPDATE frame SET data = (SELECT data FROM stack)",
		"UPDATE function SET data = substr(data, 1, length(data) / 2)",
		"UPDATE stack SET n = n + 1",
		"UPDATE name SET data = (SELECT data FROM stack)",
		"UPDATE block SET n = 65536",
	};
	char to[200];

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct digest d = {0};
		struct film *film = NULL;
		struct fail why = {0};
		int err;

		make_films(1, SECOND / 100, 0);
		merged(1, true, to);
		change_film(to, changes[i]);
		err = film_open(to, &film, &why);
		d.film = film;
		if (!err)
			err = film_each_samples(film, 1, 0, UINT64_MAX, add_samples, &d, &why);
		assert_int_equal(err, -EBADMSG);
		film_free(film);
		remove_folder();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_film),
		cmocka_unit_test(test_many_films),
		cmocka_unit_test(test_too_large_to_be_ordered),
		cmocka_unit_test(test_is_merged_again),
		cmocka_unit_test(test_is_smaller),
		cmocka_unit_test(test_what_is_rare_shares_a_block),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
