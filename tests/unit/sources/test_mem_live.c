// SPDX-License-Identifier: Apache-2.0
/* What is in use, and which part is written. */
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sources/memory/live.h"
#include "film/events.h"
#include "film/reader.h"

static struct waiting_half half_of(uint32_t pid, uint64_t address, uint64_t bytes)
{
	return (struct waiting_half){.key = address,
				     .pid = pid,
				     .time = 5000000000,
				     .value = bytes,
				     .place = {.thread = 1, .stack = 2}};
}

static void what_is_removed_is_known_once(void **state)
{
	const struct waiting_half half = half_of(7, 0x1000, 100);
	struct mem_live *live;

	(void)state;
	assert_int_equal(mem_live_new(&live), 0);
	mem_live_add(live, &half);
	assert_false(mem_live_remove(live, 8, 0x1000));
	assert_false(mem_live_remove(live, 7, 0x1010));
	assert_true(mem_live_remove(live, 7, 0x1000));
	assert_false(mem_live_remove(live, 7, 0x1000));
	mem_live_free(live);
}

static void what_was_not_freed_is_back(void **state)
{
	const struct waiting_half half = half_of(7, 0x1000, 100);
	struct mem_live *live;

	(void)state;
	assert_int_equal(mem_live_new(&live), 0);
	assert_false(mem_live_keep(live, 7, 0x1000));
	mem_live_add(live, &half);
	assert_true(mem_live_remove(live, 7, 0x1000));
	assert_false(mem_live_keep(live, 8, 0x1000));
	assert_true(mem_live_keep(live, 7, 0x1000));
	assert_false(mem_live_keep(live, 7, 0x1000));
	assert_true(mem_live_remove(live, 7, 0x1000));
	/* many others were removed since */
	for (uint64_t i = 0; i < 1000; i++) {
		const struct waiting_half other = half_of(9, 0x2000 + i * 16, 1);

		mem_live_add(live, &other);
		assert_true(mem_live_remove(live, 9, 0x2000 + i * 16));
	}
	assert_false(mem_live_keep(live, 7, 0x1000));
	mem_live_free(live);
}

static int add_up(void *context, const struct film_samples *samples)
{
	for (size_t i = 0; i < samples->count; i++)
		*(uint64_t *)context += samples->value[i];
	return 0;
}

/* Something that is in use, in a film with one process. */
struct scene {
	char path[32];
	struct film_writer *writer;
	struct mem_live *live;
	struct waiting_half half;
	uint32_t event;
};

static void begin(struct scene *scene)
{
	static const struct film_info info = {"", "", "", "", "", 1, 1, 1, 0};
	const struct film_event event = event_from(EVENT_MEM_INUSE, "test");
	const struct film_process process = {.pid = 7,
					     .start = 1,
					     .comm = "held",
					     .command = "",
					     .exe = "",
					     .cgroup = "",
					     .container = ""};
	struct film_writer *writer;
	int fd;

	*scene = (struct scene){"/tmp/stackcam-live-XXXXXX", .half = half_of(7, 0x1000, 100)};
	fd = mkstemp(scene->path);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(film_create(scene->path, &info, &scene->writer, NULL), 0);
	writer = scene->writer;
	scene->event = film_add_event(writer, &event);
	assert_int_equal(film_add_thread(writer, &(struct film_thread){.process = film_add_process(
									       writer, &process),
								       .tid = 7,
								       .comm = "held"}),
			 1);
	scene->half.place.stack =
		film_stack(writer, 0, film_mark(writer, "[held]"), FILM_HOW_EXACT);
	assert_int_equal(mem_live_new(&scene->live), 0);
}

static void end(struct scene *scene, int (*each)(void *context, const struct film_samples *samples),
		void *context)
{
	struct film *film;

	mem_live_free(scene->live);
	assert_int_equal(film_close(scene->writer, 7000000000, NULL), 0);
	assert_int_equal(film_open(scene->path, &film, NULL), 0);
	assert_int_equal(film_each_samples(film, scene->event, 0, UINT64_MAX, each, context, NULL),
			 0);
	film_free(film);
	remove(scene->path);
}

/* The last tick of a recording has the time of its end. */
static void a_time_has_one_state(void **state)
{
	struct scene scene;
	uint64_t sum = 0;

	(void)state;
	begin(&scene);
	mem_live_add(scene.live, &scene.half);
	mem_live_tick(scene.live, scene.writer, scene.event, 6000000000);
	mem_live_report(scene.live, scene.writer, scene.event, 6000000000);
	end(&scene, add_up, &sum);
	assert_int_equal(sum, 100);
}

struct rows {
	size_t count;
	uint64_t time[8], value[8];
};

static int take_rows(void *context, const struct film_samples *samples)
{
	struct rows *rows = context;

	for (size_t i = 0; i < samples->count; i++) {
		assert_true(rows->count < 8);
		rows->time[rows->count] = samples->time[i];
		rows->value[rows->count++] = samples->value[i];
	}
	return 0;
}

/* Once for each program that the process executes: what it had before it began is known. */
static void a_beginning_has_nothing(void **state)
{
	const uint64_t time[] = {4000000000, 6000000000, 6100000000, 6200000000};
	const uint64_t value[] = {0, 100, 100, 0};
	struct rows rows = {0};
	struct scene scene;

	(void)state;
	begin(&scene);
	mem_live_began(scene.live, scene.writer, scene.event, 7, 0, 3000000000);
	mem_live_began(scene.live, scene.writer, scene.event, 7, 1, 4000000000);
	mem_live_began(scene.live, scene.writer, scene.event, 7, 1, 5000000000);
	mem_live_add(scene.live, &scene.half);
	mem_live_report(scene.live, scene.writer, scene.event, 6000000000);
	mem_live_ended(scene.live, scene.writer, scene.event, 7, 6100000000);
	mem_live_began(scene.live, scene.writer, scene.event, 7, 1, 6200000000);
	end(&scene, take_rows, &rows);
	assert_int_equal(rows.count, 4);
	assert_memory_equal(rows.time, time, sizeof(time));
	assert_memory_equal(rows.value, value, sizeof(value));
}

/* Records come after a state is written, and are older: the last state counts. */
static void a_later_state_is_of_a_later_time(void **state)
{
	const uint64_t time[] = {6000000000, 6000000001, 6000000002, 6500000000, 6500000001};
	const uint64_t value[] = {100, 300, 200, 200, 200};
	struct waiting_half other = half_of(7, 0x2000, 200);
	struct rows rows = {0};
	struct scene scene;

	(void)state;
	begin(&scene);
	other.place = (struct samples_place){1, scene.half.place.stack};
	mem_live_add(scene.live, &scene.half);
	mem_live_tick(scene.live, scene.writer, scene.event, 6000000000);
	mem_live_report(scene.live, scene.writer, scene.event, 5500000000);
	mem_live_add(scene.live, &other);
	mem_live_report(scene.live, scene.writer, scene.event, 5600000000);
	mem_live_report(scene.live, scene.writer, scene.event, 5600000000);
	assert_true(mem_live_remove(scene.live, 7, 0x1000));
	mem_live_report(scene.live, scene.writer, scene.event, 5700000000);
	mem_live_report(scene.live, scene.writer, scene.event, 6500000000);
	mem_live_report(scene.live, scene.writer, scene.event, 5700000000);
	mem_live_ended(scene.live, scene.writer, scene.event, 7, 5800000000);
	end(&scene, take_rows, &rows);
	assert_int_equal(rows.count, 5);
	assert_memory_equal(rows.time, time, sizeof(time));
	assert_memory_equal(rows.value, value, sizeof(value));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_removed_is_known_once),
		cmocka_unit_test(what_was_not_freed_is_back),
		cmocka_unit_test(a_time_has_one_state),
		cmocka_unit_test(a_beginning_has_nothing),
		cmocka_unit_test(a_later_state_is_of_a_later_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
