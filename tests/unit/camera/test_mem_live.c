// SPDX-License-Identifier: Apache-2.0
/* What is in use, and which part is written. */
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "camera/mem_live.h"
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

/* The last tick of a recording has the time of its end. */
static void a_time_has_one_state(void **state)
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
	struct waiting_half half = half_of(7, 0x1000, 100);
	char path[] = "/tmp/stackcam-live-XXXXXX";
	struct film_writer *writer;
	struct mem_live *live;
	struct film *film;
	uint64_t sum = 0;
	uint32_t number;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(film_create(path, &info, &writer, NULL), 0);
	number = film_add_event(writer, &event);
	assert_int_equal(film_add_thread(writer, &(struct film_thread){.process = film_add_process(
									       writer, &process),
								       .tid = 7,
								       .comm = "held"}),
			 1);
	half.place.stack = film_stack(writer, 0, film_mark(writer, "[held]"), FILM_HOW_EXACT);
	assert_int_equal(mem_live_new(&live), 0);
	mem_live_add(live, &half);
	mem_live_tick(live, writer, number, 6000000000);
	mem_live_tell(live, writer, number, 6000000000);
	mem_live_free(live);
	assert_int_equal(film_close(writer, 7000000000, NULL), 0);
	assert_int_equal(film_open(path, &film, NULL), 0);
	assert_int_equal(film_each_samples(film, number, 0, UINT64_MAX, add_up, &sum, NULL), 0);
	assert_int_equal(sum, 100);
	film_free(film);
	remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_removed_is_known_once),
		cmocka_unit_test(what_was_not_freed_is_back),
		cmocka_unit_test(a_time_has_one_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
