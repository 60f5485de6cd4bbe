// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include "film/merge.h"
#include "make.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

const struct film_info test_info = {
	.version = "0.1.0",
	.hostname = "häuschen",
	.kernel = "6.1.0",
	.arch = "x86_64",
	.command = "stackcam record -a",
	.cpus = 4,
	.start = 5 * SECOND,
	.wall_offset = -1234567890123,
};

static char folder[64], film_path[128];

const char *new_path(void)
{
	strcpy(folder, "/tmp/film-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(film_path, sizeof(film_path), "%s/a film?#%%20.film", folder);
	return film_path;
}

void remove_folder(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	assert_int_equal(system(command), 0);
}

struct film_writer *create(const char *path)
{
	struct film_event event = {"on-cpu", "ns", "cpu-clock", 99};
	struct film_process process = {.pid = 100, .parent = 1, .start = 1, .comm = "a"};
	struct film_thread thread = {.process = 1, .tid = 100, .start = 1, .comm = "a"};
	struct film_image image = {.kind = FILM_IMAGE_FILE, .path = "/bin/a"};
	struct film_writer *w = NULL;
	struct fail why = {0};

	if (film_create(path, &test_info, &w, &why))
		fail_print(&why);
	assert_non_null(w);
	assert_int_equal(film_add_event(w, &event), 1);
	assert_int_equal(film_add_process(w, &process), 1);
	assert_int_equal(film_add_thread(w, &thread), 1);
	assert_int_equal(film_add_image(w, &image), 1);
	return w;
}

struct film_writer *create_with(const char *path, uint32_t threads, uint64_t stacks)
{
	struct film_writer *w = create(path);

	for (uint32_t i = 2; i < threads; i++)
		film_add_thread(w, &(struct film_thread){1, 100 + i, i, "worker"});
	for (uint64_t i = 1; i < stacks; i++)
		stack_of(w, &i, 1);
	return w;
}

uint32_t native(struct film_writer *w, uint64_t address)
{
	return film_frame(w, 1, FILM_FRAME_NATIVE, address);
}

uint32_t stack_of(struct film_writer *w, const uint64_t *addresses, size_t count)
{
	uint32_t stack = 0;
	size_t i;

	for (i = 0; i < count; i++)
		stack = film_stack(w, stack, native(w, addresses[i]), FILM_HOW_EXACT);
	return stack;
}

void change_film(const char *path, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

void commit(struct film_writer *w, uint64_t now)
{
	struct fail why = {0};

	if (film_commit(w, now, true, &why))
		fail_print(&why);
	assert_int_equal(why.err, 0);
}

void close_film(struct film_writer *w, uint64_t now)
{
	struct fail why = {0};

	if (film_close(w, now, &why))
		fail_print(&why);
	assert_int_equal(why.err, 0);
}

struct film *open_film(const char *path)
{
	struct film *film = NULL;
	struct fail why = {0};

	if (film_open(path, &film, &why))
		fail_print(&why);
	assert_non_null(film);
	return film;
}

struct film *merge_alone(const char *path)
{
	struct fail why = {0};
	char merged[256];
	size_t bad;

	snprintf(merged, sizeof(merged), "%s.merged", path);
	assert_int_equal(film_merge_files(&path, 1, merged, true, &bad, &why), 0);
	return open_film(merged);
}

void put_second(struct film_writer *w, uint64_t second)
{
	uint64_t i;

	for (i = second * 100; i < second * 100 + 100; i++) {
		uint64_t addresses[] = {0x1000, 0x2000 + i % 7, 0x3000 + i};

		film_sample(w, 1, test_info.start + i * SECOND / 100, 1, stack_of(w, addresses, 3),
			    i + 1);
		film_start_frame(w, native(w, addresses[2]), addresses[2], 0x3000 + i / 8 * 8);
	}
}

void write_seconds(const char *path, uint64_t seconds)
{
	struct film_writer *w = create(path);
	uint64_t second;

	for (second = 0; second < seconds; second++) {
		put_second(w, second);
		commit(w, test_info.start + (second + 1) * SECOND);
	}
	close_film(w, test_info.start + seconds * SECOND);
}

static int check_block(void *context, const struct film_samples *samples)
{
	uint64_t *next = context;
	size_t i;

	for (i = 0; i < samples->count; i++, ++*next) {
		assert_int_equal(samples->time[i], test_info.start + *next * SECOND / 100);
		assert_int_equal(samples->value[i], *next + 1);
		assert_int_equal(samples->thread[i], 1);
	}
	return 0;
}

void check_seconds(struct film *film, uint64_t seconds)
{
	uint64_t samples, total, count = 0;
	struct fail why = {0};

	film_event_total(film, 1, &samples, &total);
	assert_true(samples >= seconds * 100);
	assert_int_equal(samples % 100, 0);
	assert_int_equal(total, samples * (samples + 1) / 2);
	assert_int_equal(film_each_samples(film, 1, 0, UINT64_MAX, check_block, &count, &why), 0);
	assert_int_equal(count, samples);
	assert_int_equal(film->info.end, test_info.start + samples / 100 * SECOND);
	assert_int_equal(film->stack_count - 1, samples + 7 + 1);
	for (uint32_t i = 1; i < film->frame_count; i++) {
		uint64_t address = film->frames[i].address;

		assert_int_equal(film->frames[i].start, address < 0x3000 ? 0 : address / 8 * 8);
	}
}

int add_up(void *context, const struct film_samples *samples)
{
	struct sum *sum = context;
	size_t i;

	assert_true(samples->count > 0);
	for (i = 0; i < samples->count; i++) {
		sum->total += samples->value[i];
		if (i)
			assert_true(samples->time[i] >= samples->time[i - 1]);
	}
	sum->count += samples->count;
	sum->blocks++;
	assert_true(samples->time[0] >= sum->last);
	sum->last = samples->time[0];
	return 0;
}

struct sum sum_of(struct film *film, uint32_t event)
{
	struct sum sum = {0};
	struct fail why = {0};

	if (film_each_samples(film, event, 0, UINT64_MAX, add_up, &sum, &why))
		fail_print(&why);
	assert_int_equal(why.err, 0);
	return sum;
}

static void check_blocks(struct film *film, uint32_t event);

void check_promises(struct film *film)
{
	size_t text = 0, i;

	for (i = 0; i < film->event_count; i++)
		text += strlen(film->events[i].name) + strlen(film->events[i].unit) +
			strlen(film->events[i].source);
	for (i = 0; i < film->process_count; i++)
		text += strlen(film->processes[i].comm) + strlen(film->processes[i].command) +
			strlen(film->processes[i].exe) + strlen(film->processes[i].cgroup) +
			strlen(film->processes[i].container);
	for (i = 0; i < film->thread_count; i++) {
		assert_true(film->threads[i].process < film->process_count);
		text += strlen(film->threads[i].comm);
	}
	for (i = 0; i < film->image_count; i++) {
		assert_true(film->images[i].build_id_size <= FILM_BUILD_ID_MAX);
		text += strlen(film->images[i].path);
	}
	for (i = 0; i < film->function_count; i++) {
		assert_true(film->functions[i].image < film->image_count);
		text += strlen(film->functions[i].name);
	}
	for (i = 0; i < film->frame_count; i++) {
		assert_true(film->frames[i].image < film->image_count);
		assert_true(film->frames[i].function < film->function_count);
		assert_true(film->frames[i].start <= film->frames[i].address);
		text += strlen(film->frames[i].file);
	}
	for (i = 0; i < film->inline_count; i++) {
		size_t count;

		assert_true(film->inlines[i].frame < film->frame_count);
		assert_true(film->inlines[i].function < film->function_count);
		assert_non_null(film_inlines_of(film, film->inlines[i].frame, &count));
		text += strlen(film->inlines[i].file);
	}
	for (i = 1; i < film->stack_count; i++) {
		assert_true(film->stacks[i].parent < i);
		assert_true(film->stacks[i].frame > 0);
		assert_true(film->stacks[i].frame < film->frame_count);
	}
	for (i = 0; i < film->loss_count; i++) {
		assert_true(film->losses[i].event < film->event_count);
		text += strlen(film->losses[i].reason);
	}
	for (i = 0; i < film->event_count; i++)
		check_blocks(film, (uint32_t)i);
	assert_true(text < 1u << 30);
}

static int in_range(void *context, const struct film_samples *samples)
{
	const struct film *film = context;
	size_t i;

	for (i = 0; i < samples->count; i++) {
		assert_true(samples->thread[i] < film->thread_count);
		assert_true(samples->stack[i] < film->stack_count);
		assert_true(!i || samples->time[i] >= samples->time[i - 1]);
	}
	return 0;
}

static int calls_in_range(void *context, const struct film_calls *calls)
{
	const struct film *film = context;
	size_t i;

	for (i = 0; i < calls->count; i++) {
		assert_true(calls->thread[i] < film->thread_count);
		assert_true(calls->frame[i] < film->frame_count);
		assert_true(calls->duration[i] <= calls->end[i]);
		assert_true(calls->waited[i] <= calls->duration[i]);
		assert_true(calls->depth[i] <= UINT16_MAX && calls->cpu[i] <= UINT16_MAX);
		assert_true(!i || calls->end[i] >= calls->end[i - 1]);
	}
	return 0;
}

static int waits_in_range(void *context, const struct film_waits *waits)
{
	const struct film *film = context;
	size_t i;

	for (i = 0; i < waits->count; i++) {
		assert_true(waits->thread[i] < film->thread_count);
		assert_true(waits->stack[i] < film->stack_count);
		assert_true(waits->waker[i] < film->thread_count);
		assert_true(waits->waker_stack[i] < film->stack_count);
		assert_true(waits->duration[i] <= waits->end[i]);
		assert_true(waits->count_of[i] > 0);
		assert_true(!i || waits->end[i] >= waits->end[i - 1]);
	}
	return 0;
}

static int probe_in_range(void *context, const struct film_probe *probe)
{
	const struct film *film = context;

	assert_true(probe->frame < film->frame_count);
	return 0;
}

static int sum_in_range(void *context, const struct film_sum *sum)
{
	const struct film *film = context;

	assert_true(sum->frame < film->frame_count);
	return 0;
}

static void check_error(int err, const struct fail *why)
{
	assert_int_equal(err, why->err);
	assert_true(!err || why->what[0]);
}

/* A damaged block is an error with words, and nothing else. */
static void check_blocks(struct film *film, uint32_t event)
{
	struct fail why[5] = {0};

	check_error(film_each_samples(film, event, 0, UINT64_MAX, in_range, film, &why[0]),
		    &why[0]);
	check_error(
		film_each_calls(film, event, 0, UINT64_MAX, true, calls_in_range, film, &why[1]),
		&why[1]);
	check_error(film_each_probe(film, event, probe_in_range, film, &why[2]), &why[2]);
	check_error(film_each_sum(film, event, 0, UINT64_MAX, sum_in_range, film, &why[3]),
		    &why[3]);
	check_error(film_each_waits(film, event, 0, UINT64_MAX, waits_in_range, film, &why[4]),
		    &why[4]);
}
