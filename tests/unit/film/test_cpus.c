// SPDX-License-Identifier: Apache-2.0
/* On which CPUs samples were made, which films of earlier versions do not say. */
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

/* first: cmocka has a macro fail() */
#include "base/buf.h"
#include "film/column.h"
#include "film/merge.h"
#include "make.h"

#define SAMPLES 40000ull /* more than a block holds */
#define THREADS 5
#define STACKS	9
#define STEP	10007ull
#define OLD	10ull /* samples of a film of an earlier version */

static struct film_sample sample_number(uint64_t i)
{
	return (struct film_sample){
		.time = test_info.start + i * STEP,
		.value = 1 + i % 3,
		.thread = (uint32_t)(i % THREADS),
		.stack = (uint32_t)(i % STACKS),
		/* 0 as well: not known */
		.cpu = i % 1000 ? (uint16_t)(i % 7) : UINT16_MAX,
	};
}

static void write_samples(const char *path)
{
	struct film_writer *w = create_with(path, THREADS, STACKS);

	for (uint64_t i = 0; i < SAMPLES; i++) {
		/* some of them late, as those of several CPUs come */
		struct film_sample sample = sample_number(i ^ (i / 100 % 2));

		film_sample_row(w, 1, &sample);
	}
	close_film(w, test_info.start + SAMPLES * STEP);
}

static int is_next(void *context, const struct film_samples *samples)
{
	uint64_t *next = context;

	assert_non_null(samples->cpu);
	for (size_t i = 0; i < samples->count; i++, ++*next) {
		struct film_sample sample = sample_number(*next);

		assert_int_equal(samples->thread[i], sample.thread);
		assert_int_equal(samples->stack[i], sample.stack);
		assert_int_equal(samples->value[i], sample.value);
		assert_int_equal(samples->cpu[i], sample.cpu);
	}
	return 0;
}

static void test_read_as_written(void **state)
{
	const char *path = new_path();
	uint64_t next = 0;
	struct film *film;

	(void)state;
	write_samples(path);
	film = open_film(path);
	assert_int_equal(film->loss_count, 0);
	assert_int_equal(film_each_samples(film, 1, 0, UINT64_MAX, is_next, &next, NULL), 0);
	assert_int_equal(next, SAMPLES);
	/* some of the middle */
	next = 1500;
	assert_int_equal(film_each_samples(film, 1, test_info.start + 1500 * STEP,
					   test_info.start + 2500 * STEP, is_next, &next, NULL),
			 0);
	assert_int_equal(next, 2500);
	check_promises(film);
	film_free(film);
	remove_folder();
}

static void test_merged_as_written(void **state)
{
	const char *path = new_path();
	uint64_t next = 0;
	struct film *film;

	(void)state;
	write_samples(path);
	film = merge_alone(path);
	assert_int_equal(film_each_samples(film, 1, 0, UINT64_MAX, is_next, &next, NULL), 0);
	assert_int_equal(next, SAMPLES);
	film_free(film);
	remove_folder();
}

/*
 * Puts a block of the first OLD samples in place of what a film has: with the columns of an earlier
 * version, and behind them one with that number in each row, if there is one.
 */
static void replace_block(const char *path, const uint64_t *number)
{
	uint64_t columns[5][OLD];
	struct columns packed = {0};
	struct buf sql = {0};

	for (uint64_t i = 0; i < OLD; i++) {
		struct film_sample sample = sample_number(i);

		columns[0][i] = sample.time;
		columns[1][i] = sample.thread;
		columns[2][i] = sample.stack;
		columns[3][i] = sample.value;
		columns[4][i] = number ? *number : 0;
	}
	columns_begin(&packed);
	for (size_t i = 0; i < (number ? 5 : 4); i++)
		columns_put(&packed, columns[i], OLD);
	assert_int_equal(columns_end(&packed), 0);
	buf_put_text(&sql, "UPDATE block SET data = x'");
	for (size_t i = 0; i < packed.packed.count; i++)
		buf_printf(&sql, "%02x", packed.packed.at[i]);
	buf_put_text(&sql, "'");
	buf_put_u8(&sql, 0);
	assert_false(sql.failed);
	change_film(path, (const char *)sql.at);
	buf_free(&sql);
	columns_free(&packed);
}

/* A film with one block. */
static void write_few(const char *path)
{
	struct film_writer *w = create_with(path, THREADS, STACKS);

	for (uint64_t i = 0; i < OLD; i++) {
		struct film_sample sample = sample_number(i);

		film_sample_row(w, 1, &sample);
	}
	close_film(w, test_info.start + OLD * STEP);
}

/* Samples with a CPU, and without. */
struct counts {
	uint64_t known, unknown;
};

static int count_cpus(void *context, const struct film_samples *samples)
{
	struct counts *counts = context;

	for (size_t i = 0; i < samples->count; i++) {
		counts->known += samples->cpu[i] != 0;
		counts->unknown += !samples->cpu[i];
	}
	return 0;
}

static void test_earlier_films_do_not_know(void **state)
{
	const char *path = new_path(), *both[2] = {path};
	struct counts counts = {0};
	struct fail why = {0};
	struct film *film;
	char recent[256], merged[256];
	size_t bad;

	(void)state;
	snprintf(recent, sizeof(recent), "%s.recent", path);
	snprintf(merged, sizeof(merged), "%s.merged", path);
	write_few(path);
	replace_block(path, NULL);
	film = open_film(path);
	assert_int_equal(film_each_samples(film, 1, 0, UINT64_MAX, count_cpus, &counts, &why), 0);
	assert_int_equal(counts.known, 0);
	assert_int_equal(counts.unknown, OLD);
	check_promises(film);
	film_free(film);
	/* merged with one that knows, each keeps what it has */
	write_few(recent);
	both[1] = recent;
	assert_int_equal(film_merge_files(both, 2, merged, true, &bad, &why), 0);
	film = open_film(merged);
	counts = (struct counts){0};
	assert_int_equal(film_each_samples(film, 1, 0, UINT64_MAX, count_cpus, &counts, &why), 0);
	assert_int_equal(counts.known, OLD - 1); /* sample 7 has none */
	assert_int_equal(counts.unknown, OLD + 1);
	film_free(film);
	remove_folder();
}

static void read_block(const char *path, struct buf *data)
{
	sqlite3 *db;
	sqlite3_stmt *query;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT data FROM block", -1, &query, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(query), SQLITE_ROW);
	buf_put(data, sqlite3_column_blob(query, 0), (size_t)sqlite3_column_bytes(query, 0));
	assert_int_equal(sqlite3_step(query), SQLITE_DONE);
	sqlite3_finalize(query);
	sqlite3_close(db);
}

/* What is not known takes no room, and earlier versions read the film. */
static void test_written_as_before(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create_with(path, THREADS, STACKS);
	struct buf written = {0}, before = {0};

	(void)state;
	for (uint64_t i = 0; i < OLD; i++) {
		struct film_sample sample = sample_number(i);

		film_sample(w, 1, sample.time, sample.thread, sample.stack, sample.value);
	}
	close_film(w, test_info.start + OLD * STEP);
	read_block(path, &written);
	replace_block(path, NULL);
	read_block(path, &before);
	assert_int_equal(written.count, before.count);
	assert_memory_equal(written.at, before.at, before.count);
	buf_free(&written);
	buf_free(&before);
	remove_folder();
}

static void test_no_such_cpu(void **state)
{
	static const uint64_t most = UINT16_MAX, more = UINT16_MAX + 1ull;
	const char *path = new_path();
	struct counts counts = {0};
	struct fail why = {0};
	struct film *film;

	(void)state;
	write_few(path);
	replace_block(path, &most);
	film = open_film(path);
	assert_int_equal(film_each_samples(film, 1, 0, UINT64_MAX, count_cpus, &counts, &why), 0);
	assert_int_equal(counts.known, OLD);
	film_free(film);
	replace_block(path, &more);
	film = open_film(path);
	assert_int_equal(film_each_samples(film, 1, 0, UINT64_MAX, count_cpus, &counts, &why),
			 -EBADMSG);
	assert_non_null(strstr(why.what, "a block of samples"));
	film_free(film);
	remove_folder();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_as_written),
		cmocka_unit_test(test_merged_as_written),
		cmocka_unit_test(test_earlier_films_do_not_know),
		cmocka_unit_test(test_written_as_before),
		cmocka_unit_test(test_no_such_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
