// SPDX-License-Identifier: Apache-2.0

/*
 * What streams of devices ran, of rows of any numbers: a header, and rows of ROW bytes. Runs are
 * within the time that is asked for, and follow each other; each ns is in one of the four sums.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "film/events.h"
#include "query/device_lanes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_film_each_works_in(struct film *film, uint32_t event, uint64_t from, uint64_t to,
			      int (*emit)(void *context, const struct film_works *works),
			      void *context, struct fail *why);

enum {
	PROCESSES = 3,
	THREADS = 4,
	FRAMES = 4,
	HEADER = 33,
	ROW = 38,
	ROWS_MAX = 400,
};

/* The rest of the input, and how many low bits its numbers have. */
static struct input {
	const uint8_t *at;
	size_t size;
	unsigned int bits;
} input;

static uint64_t number(const uint8_t *at, unsigned int bits)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return bits < 64 ? value & ((1ull << bits) - 1) : value;
}

static struct film_work row_at(const uint8_t *at)
{
	const unsigned int bits = input.bits;

	return (struct film_work){
		.end = number(at, bits),
		.duration = number(at + 8, bits),
		.launched = number(at + 16, bits),
		.bytes = number(at + 24, 64),
		.thread = at[32] % THREADS,
		.name = at[33] % FRAMES,
		.device = at[34] % 2,
		.stream = at[35] % 4,
		.flags = at[36] % 32,
	};
}

/* As a film's reader hands them over, but for what no film that was checked has. */
int __wrap_film_each_works_in(struct film *film, uint32_t event, uint64_t from, uint64_t to,
			      int (*emit)(void *context, const struct film_works *works),
			      void *context, struct fail *why)
{
	int err = 0;

	(void)film, (void)event, (void)from, (void)to, (void)why;
	for (size_t i = 0; !err && i < ROWS_MAX && input.size >= ROW; i++) {
		const struct film_work row = row_at(input.at);
		const struct film_works rows = {
			1,	     &row.end,	  &row.duration, &row.launched,
			&row.bytes,  &row.thread, &row.stack,	 &row.name,
			&row.device, &row.stream, &row.flags,
		};

		err = emit(context, &rows);
		input.at += ROW;
		input.size -= ROW;
	}
	return err;
}

static void check_stream(const struct device_lanes *lanes, const struct device_stream *stream)
{
	uint64_t until = lanes->from, count = 0;

	check(stream->kernels_ns + stream->copies_ns + stream->idle_ns + stream->unknown_ns ==
	      lanes->to - lanes->from);
	vec_foreach (&stream->runs, run) {
		check(run->start >= until && run->end >= run->start && run->end <= lanes->to);
		check(run->name < lanes->names.count && run->thread <= lanes->threads.count);
		check(run->dominant <= run->end - run->start);
		until = run->end;
		count += run->count;
	}
	check(count <= stream->kernels + stream->copies);
}

static void check_lanes(struct film *film, const uint8_t *header)
{
	const struct filter none = {0};
	struct device_lanes lanes = {
		.from = number(header, input.bits),
		.to = number(header + 8, input.bits),
		.pixel = number(header + 16, input.bits) + 1,
	};

	film->info.start = number(header + 24, input.bits);
	film->info.end = film->info.start + number(header + 16, input.bits);
	if (lanes.to <= lanes.from || film->info.end < film->info.start ||
	    film->info.end == UINT64_MAX)
		return;
	check(!device_lanes_add(&lanes, film, "host", &none, lanes.from, lanes.to, NULL));
	device_lanes_end(&lanes);
	check(lanes.run_count <= DEVICE_RUNS_MAX);
	vec_foreach (&lanes.streams, stream)
		check_stream(&lanes, stream);
	device_lanes_free(&lanes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct film_event events[] = {{0}, {.name = event_type(EVENT_GPU_LANES)->name}};
	struct film_process processes[PROCESSES] = {{0}, {.pid = 1}, {.pid = 2}};
	struct film_thread threads[THREADS] = {{.process = 0}, {1}, {1}, {2}};
	struct film_function functions[FRAMES] = {{0}};
	struct film_frame frames[FRAMES] = {{0}};
	struct film_image image = {.path = ""};
	struct film film = {
		.events = events,
		.processes = processes,
		.threads = threads,
		.functions = functions,
		.frames = frames,
		.images = &image,
		.event_count = 2,
		.process_count = PROCESSES,
		.thread_count = THREADS,
		.function_count = FRAMES,
		.frame_count = FRAMES,
		.image_count = 1,
	};

	if (size < HEADER)
		return 0;
	for (uint32_t i = 0; i < PROCESSES; i++)
		processes[i].comm = processes[i].command = processes[i].exe = processes[i].cgroup =
			processes[i].container = "p";
	for (uint32_t i = 0; i < THREADS; i++)
		threads[i].comm = "t";
	for (uint32_t i = 0; i < FRAMES; i++) {
		frames[i] = (struct film_frame){.kind = FILM_FRAME_MARK, .function = i, .file = ""};
		functions[i].name = i % 2 ? "gemm" : "copy";
	}
	input = (struct input){data + HEADER, size - HEADER, data[32] % 64 + 1};
	check_lanes(&film, data);
	return 0;
}
