// SPDX-License-Identifier: Apache-2.0
/* The streams of devices as runs, and the division of their time. */
#include "../prelude.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "film/events.h"
#include "film_build.h"
#include "query/device_lanes.h"

#define US   1000ull
#define FROM FILM_BUILD_START

static struct film_build build;
static struct film *film;
static uint32_t launcher, other;
static struct device_lanes lanes;

static void begin(void)
{
	build = (struct film_build){0};
	film_build_begin(&build, event_type(EVENT_GPU_LANES)->name, "ns");
	launcher = film_build_thread(&build, 10, "train", 11, "launcher");
	other = film_build_thread(&build, 20, "serve", 20, "serve");
	build.end = FROM + 1000 * US - 1; /* its last moment */
}

static void put(uint32_t thread, uint32_t stream, uint64_t from, uint64_t to, const char *name,
		uint32_t flags)
{
	const struct film_work row = {
		.end = FROM + to * US,
		.duration = (to - from) * US,
		.launched = 2 * US,
		.bytes = flags & FILM_WORK_COPY ? 4096 : 0,
		.thread = thread,
		.name = *name ? film_build_raw_frame(&build, name) : 0,
		.stream = stream,
		.flags = flags,
	};

	film_work(build.w, build.event, &row);
}

static void load_with(const struct filter *filter, uint64_t from, uint64_t to, uint64_t pixel)
{
	const uint64_t offset = (uint64_t)film->info.wall_offset;
	struct fail why = {0};

	lanes = (struct device_lanes){.from = FROM + from * US + offset,
				      .to = FROM + to * US + offset,
				      .pixel = pixel * US};
	assert_int_equal(device_lanes_add(&lanes, film, "host1", filter, FROM + from * US,
					  FROM + to * US, &why),
			 0);
	device_lanes_end(&lanes);
}

static void load(uint64_t from, uint64_t to, uint64_t pixel)
{
	const struct filter none = {0};

	film = film_build_open(&build);
	load_with(&none, from, to, pixel);
}

static void end(void)
{
	device_lanes_free(&lanes);
	film_free(film);
}

/* "gemm x1 100-200 busy 100 by launcher 2 before; …", us since FROM */
static const char *runs_of(size_t place)
{
	static char words[4000];
	const struct device_stream *stream = &lanes.streams.at[place];
	const uint64_t base = FROM + (uint64_t)film->info.wall_offset;
	size_t used = 0;

	*words = 0;
	vec_foreach (&stream->runs, run) {
		const struct device_name *name = &lanes.names.at[run->name];

		used += (size_t)snprintf(
			words + used, sizeof(words) - used, "%s%s%s x%u %llu-%llu busy %llu",
			used ? "; " : "",
			name->kind == DEVICE_RUN_KERNEL ? "" : device_run_kind_name(name->kind),
			name->name, run->count, (unsigned long long)((run->start - base) / US),
			(unsigned long long)((run->end - base) / US),
			(unsigned long long)(run->busy / US));
		if (run->thread && run->launch)
			used += (size_t)snprintf(words + used, sizeof(words) - used,
						 " by %s at %llu",
						 lanes.threads.at[run->thread - 1].comm,
						 (unsigned long long)((run->launch - base) / US));
	}
	return words;
}

static void assert_ns(size_t place, uint64_t kernels, uint64_t copies, uint64_t idle,
		      uint64_t unknown)
{
	const struct device_stream *stream = &lanes.streams.at[place];
	uint64_t count = 0;

	assert_int_equal(stream->kernels_ns, kernels * US);
	assert_int_equal(stream->copies_ns, copies * US);
	assert_int_equal(stream->idle_ns, idle * US);
	assert_int_equal(stream->unknown_ns, unknown * US);
	assert_int_equal(kernels + copies + idle + unknown, (lanes.to - lanes.from) / US);
	/* none is dropped */
	vec_foreach (&stream->runs, run)
		count += run->count;
	assert_int_equal(count, stream->kernels + stream->copies);
}

static void long_ones_stand_alone(void **state)
{
	(void)state;
	begin();
	put(launcher, 7, 100, 200, "gemm", 0);
	put(launcher, 7, 250, 300, "[copy host to device]", FILM_WORK_COPY);
	put(launcher, 8, 100, 400, "gemm", FILM_WORK_UNSAMPLED);
	put(other, 7, 0, 1000, "foreign", 0);
	load(0, 1000, 10);
	assert_int_equal(lanes.streams.count, 3);
	assert_string_equal(runs_of(0), "gemm x1 100-200 busy 100 by launcher at 98; "
					"copy[copy host to device] x1 250-300 busy 50 by launcher "
					"at 248");
	assert_int_equal(lanes.streams.at[0].bytes, 4096);
	assert_ns(0, 100, 50, 850, 0);
	assert_string_equal(runs_of(1), "gemm x1 100-400 busy 300");
	assert_ns(1, 300, 0, 700, 0);
	assert_string_equal(lanes.streams.at[2].process, "serve");
	assert_ns(2, 1000, 0, 0, 0);
	end();
}

static void short_ones_of_a_pixel_are_one_run(void **state)
{
	(void)state;
	begin();
	put(launcher, 7, 0, 10, "small", 0);
	put(launcher, 7, 20, 50, "gemm", 0);
	put(launcher, 7, 60, 70, "small", 0);
	put(launcher, 7, 80, 90, "small", 0);
	put(launcher, 7, 95, 120, "small", 0);
	put(launcher, 7, 130, 131, "gemm", 0);
	put(launcher, 7, 220, 230, "alone", 0);
	load(0, 1000, 100);
	/* of the first pixel "small" ran longer; one that begins in it reaches into the next one */
	assert_string_equal(runs_of(0), "small x5 0-120 busy 85; gemm x1 130-131 busy 1 by "
					"launcher at 128; alone x1 220-230 busy 10 by launcher at "
					"218");
	assert_ns(0, 96, 0, 904, 0);
	end();
}

static void each_ns_of_concurrent_ones_counts_once(void **state)
{
	(void)state;
	begin();
	put(launcher, 7, 100, 300, "gemm", 0);
	put(launcher, 7, 150, 250, "beside", 0);
	put(launcher, 7, 250, 400, "[copy host to device]", FILM_WORK_COPY);
	put(launcher, 7, 390, 410, "late", 0);
	load(0, 1000, 10);
	assert_string_equal(runs_of(0), "gemm x2 100-300 busy 200; copy[copy host to device] x1 "
					"300-400 busy 150 by launcher at 248; late x1 400-410 "
					"busy 20 by launcher at 388");
	/* the copy alone: 300 to 390 */
	assert_ns(0, 220, 90, 690, 0);
	end();
}

static void what_was_lost_is_not_idle(void **state)
{
	(void)state;
	begin();
	put(launcher, 7, 100, 200, "gemm", 0);
	put(launcher, 7, 600, 700, "gemm", 0);
	put(launcher, 7, 150, 300, "", FILM_WORK_LOST | FILM_WORK_UNSAMPLED);
	put(launcher, 7, 250, 400, "", FILM_WORK_LOST | FILM_WORK_UNSAMPLED);
	put(other, 7, 800, 900, "", FILM_WORK_LOST | FILM_WORK_UNSAMPLED);
	load(0, 1000, 10);
	assert_int_equal(lanes.streams.count, 1);
	assert_string_equal(runs_of(0), "gemm x1 100-200 busy 100 by launcher at 98; unknown x0 "
					"200-400 busy 0; gemm x1 600-700 busy 100 by launcher at "
					"598");
	assert_ns(0, 200, 0, 600, 200);
	end();
}

/* The same numbers and names on two machines are two threads. */
static void threads_of_two_hosts_are_two(void **state)
{
	const struct filter none = {0};

	(void)state;
	begin();
	put(launcher, 7, 100, 200, "gemm", 0);
	film = film_build_open(&build);
	lanes = (struct device_lanes){.from = FROM + (uint64_t)film->info.wall_offset,
				      .to = FROM + 1000 * US + (uint64_t)film->info.wall_offset,
				      .pixel = US};
	for (int i = 0; i < 2; i++)
		assert_int_equal(device_lanes_add(&lanes, film, i ? "host2" : "host1", &none, FROM,
						  FROM + 1000 * US, NULL),
				 0);
	device_lanes_end(&lanes);
	assert_int_equal(lanes.streams.count, 2);
	assert_int_equal(lanes.threads.count, 2);
	end();
}

static void a_part_of_the_time(void **state)
{
	uint32_t pid = 999;
	const struct filter foreign = {.pids = {&pid, 1, 0}};

	(void)state;
	begin();
	put(launcher, 7, 100, 300, "gemm", 0);
	put(launcher, 7, 400, 500, "gemm", 0);
	put(launcher, 7, 700, 800, "gemm", 0);
	/* beyond the film's end nothing is known */
	load(200, 2000, 10);
	assert_string_equal(runs_of(0), "gemm x1 200-300 busy 200 by launcher at 98; gemm x1 "
					"400-500 busy 100 by launcher at 398; gemm x1 700-800 "
					"busy 100 by launcher at 698");
	assert_ns(0, 300, 0, 500, 1000);
	device_lanes_free(&lanes);
	load_with(&foreign, 0, 1000, 10);
	assert_int_equal(lanes.streams.count, 0);
	end();
}

/*
 * A long film: 20 us apart, in two streams, and one kernel that begins in the range and never ends.
 */
#define MANY	 300000ull
#define APART	 20ull
#define RANGE_AT (MANY / 3 * APART)
#define RANGE	 (50 * APART)

static void put_many(void)
{
	for (uint64_t i = 0; i < MANY; i++)
		put(launcher, 7 + i % 2, i * APART, i * APART + 15, "gemm", FILM_WORK_UNSAMPLED);
	put(launcher, 9, RANGE_AT + 100, MANY * APART, "long", 0);
	build.end = FROM + MANY * APART * US;
}

static int count_rows(void *context, const struct film_works *rows)
{
	*(uint64_t *)context += rows->count;
	return 0;
}

/* How many rows are read for a range, us since FROM. */
static uint64_t rows_read(uint64_t from, uint64_t to)
{
	uint32_t event = film_find_event(film, event_type(EVENT_GPU_LANES)->name);
	uint64_t rows = 0;

	assert_int_equal(film_each_works_in(film, event, FROM + from * US, FROM + to * US,
					    count_rows, &rows, NULL),
			 0);
	return rows;
}

static void a_short_time_of_a_long_film_is_cheap(void **state)
{
	(void)state;
	begin();
	put_many();
	load(RANGE_AT, RANGE_AT + RANGE, 1);
	/* each begins in the range, and one that ends far behind it */
	assert_int_equal(lanes.streams.count, 3);
	assert_ns(0, 25 * 15, 0, RANGE - 25 * 15, 0);
	assert_ns(1, 25 * 15, 0, RANGE - 25 * 15, 0);
	assert_ns(2, RANGE - 100, 0, 100, 0);
	assert_int_equal(lanes.works, 51);
	/* those of a few seconds, and of the block that has the long one */
	assert_int_equal(rows_read(0, MANY * APART + 1), MANY + 1);
	assert_in_range(rows_read(RANGE_AT, RANGE_AT + RANGE), 51, MANY / 2);
	assert_in_range(rows_read(0, RANGE), 50, MANY / 4);
	end();
}

/* Whose blocks do not say how long their rows are together: all behind the range is read. */
static void a_film_of_an_earlier_version(void **state)
{
	const struct filter none = {0};
	sqlite3 *db;

	(void)state;
	begin();
	put_many();
	assert_int_equal(film_close(build.w, build.end, NULL), 0);
	assert_int_equal(sqlite3_open(build.path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "UPDATE block SET total = 0", NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(film_open(build.path, &film, NULL), 0);
	unlink(build.path);
	load_with(&none, RANGE_AT, RANGE_AT + RANGE, 1);
	assert_int_equal(lanes.works, 51);
	assert_ns(2, RANGE - 100, 0, 100, 0);
	assert_in_range(rows_read(RANGE_AT, RANGE_AT + RANGE), MANY / 2, MANY);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_ones_stand_alone),
		cmocka_unit_test(short_ones_of_a_pixel_are_one_run),
		cmocka_unit_test(each_ns_of_concurrent_ones_counts_once),
		cmocka_unit_test(what_was_lost_is_not_idle),
		cmocka_unit_test(threads_of_two_hosts_are_two),
		cmocka_unit_test(a_part_of_the_time),
		cmocka_unit_test(a_short_time_of_a_long_film_is_cheap),
		cmocka_unit_test(a_film_of_an_earlier_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
