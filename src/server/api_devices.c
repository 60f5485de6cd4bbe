// SPDX-License-Identifier: Apache-2.0
/* What streams of devices ran beside the threads of the timeline: kernels and copies. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "film/events.h"
#include "server/api.h"
#include "server/ask.h"
#include "server/put.h"
#include "store/devices.h"

#define PIXELS_USUAL 2048
#define PIXELS_MAX   (1 << 14)

static void put_names(struct json *j, const struct device_lanes *lanes)
{
	json_open(j, "names", '[');
	vec_foreach (&lanes->names, name) {
		json_open(j, NULL, '{');
		json_text(j, "name", name->name);
		json_text(j, "kind", device_run_kind_name(name->kind));
		json_close(j, '}');
	}
	json_close(j, ']');
	json_open(j, "threads", '[');
	vec_foreach (&lanes->threads, thread) {
		json_open(j, NULL, '{');
		json_u64(j, "pid", thread->pid);
		json_u64(j, "tid", thread->tid);
		json_text(j, "comm", thread->comm);
		json_text(j, "process", thread->process);
		json_close(j, '}');
	}
	json_close(j, ']');
}

/* As those of CPUs: a name stands for the thread. */
static void put_runs(struct json *j, const struct device_stream *stream, uint64_t at)
{
	json_open(j, "runs", '[');
	vec_foreach (&stream->runs, run) {
		/* of films that overlap, what comes later stands */
		uint64_t start = run->start > at ? run->start : at;
		uint64_t end = run->end > start ? run->end : start;

		json_u64(j, NULL, start - at);
		json_u64(j, NULL, end - start);
		json_u64(j, NULL, run->name);
		json_u64(j, NULL, run->count);
		json_u64(j, NULL, run->dominant);
		at = end;
	}
	json_close(j, ']');
}

/* For each run: ns that it was busy, bytes, the thread that launched it, and how long before. */
static void put_works(struct json *j, const struct device_stream *stream, uint64_t at)
{
	json_open(j, "works", '[');
	vec_foreach (&stream->runs, run) {
		uint64_t start = run->start > at ? run->start : at;

		json_u64(j, NULL, run->busy);
		json_u64(j, NULL, run->bytes);
		json_u64(j, NULL, run->thread);
		json_u64(j, NULL, run->launch && run->launch < start ? start - run->launch : 0);
		at = run->end > start ? run->end : start;
	}
	json_close(j, ']');
}

static void put_stream(struct json *j, const struct device_lanes *lanes,
		       const struct device_stream *stream)
{
	json_open(j, NULL, '{');
	json_text(j, "host", stream->host);
	json_u64(j, "pid", stream->pid);
	json_text(j, "process", stream->process);
	json_u64(j, "device", stream->device);
	json_u64(j, "stream", stream->stream);
	json_u64(j, "kernels", stream->kernels);
	json_u64(j, "copies", stream->copies);
	json_u64(j, "bytes", stream->bytes);
	json_open(j, "ns", '{');
	json_u64(j, "kernels", stream->kernels_ns);
	json_u64(j, "copies", stream->copies_ns);
	json_u64(j, "idle", stream->idle_ns);
	json_u64(j, "unknown", stream->unknown_ns);
	json_close(j, '}');
	put_runs(j, stream, lanes->from);
	put_works(j, stream, lanes->from);
	json_close(j, '}');
}

static void put_devices(struct json *j, const struct device_lanes *lanes,
			const struct store_sum *sum)
{
	char base[24];

	snprintf(base, sizeof(base), "%" PRIu64, lanes->from);
	json_open(j, NULL, '{');
	put_sum(j, "sum", sum);
	json_text(j, "base", base);
	json_u64(j, "length", lanes->to - lanes->from);
	json_u64(j, "pixel", lanes->pixel);
	json_bool(j, "cut", lanes->is_cut);
	json_u64(j, "left", lanes->left);
	put_names(j, lanes);
	json_open(j, "streams", '[');
	vec_foreach (&lanes->streams, stream)
		put_stream(j, lanes, stream);
	json_close(j, ']');
	json_close(j, '}');
}

int api_timeline_devices(const struct http_request *request, struct answer *answer,
			 struct fail *why)
{
	struct json j = {.out = answer->out};
	struct server_ask of;
	struct device_lanes lanes = {0};
	struct store_sum sum = {0};
	int err = ask_request(request, "pixel", &of, why);
	struct store_ask *ask = &of.ask;

	if (!err && !ask->event)
		ask->event = event_type(EVENT_GPU_LANES)->name;
	if (!err)
		err = ask_number(request->url, "pixel", 1, INT64_MAX, 0, &lanes.pixel, why);
	if (!err && (!ask->from || !ask->to || ask->from >= ask->to))
		err = fail(why, -EINVAL, NULL, "lanes of devices are asked for by from and to");
	if (!err && !lanes.pixel)
		lanes.pixel = (ask->to - ask->from) / PIXELS_USUAL + 1;
	if (!err && (ask->to - ask->from) / lanes.pixel > PIXELS_MAX)
		err = fail(
			why, -EINVAL, NULL,
			"more than %d pixels are asked for: ask for less time, or a larger pixel",
			PIXELS_MAX);
	if (!err)
		err = store_devices(request->store, ask, &lanes, &sum, why);
	if (!err)
		put_devices(&j, &lanes, &sum);
	device_lanes_free(&lanes);
	ask_free(&of);
	return err;
}
