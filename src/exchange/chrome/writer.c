// SPDX-License-Identifier: Apache-2.0
#include "exchange/chrome/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/map.h"
#include "query/call_values.h"
#include "query/report.h"

/*
 * The Trace Event Format, an object with "traceEvents". Numbers of threads have 22 bits in Linux,
 * so the other stacks of a thread (of signals, coroutines) can have numbers above those: rows of
 * their own.
 */
#define LANE_BITS 22

struct chrome {
	const struct film *film;
	struct call_names names;
	struct call_values values;
	struct json json;
	struct map tracks;  /* thread << 32 | lane: those that have their names */
	uint8_t *processes; /* per id: it has its name */
};

static uint64_t row_of(const struct film_thread *thread, uint32_t lane)
{
	return thread->tid + ((uint64_t)lane << LANE_BITS);
}

static void begin_event(struct chrome *c, const char *phase, const char *name,
			const struct film_call *call)
{
	const struct film_thread *thread = &c->film->threads[call->thread];

	json_open(&c->json, NULL, '{');
	json_text(&c->json, "ph", phase);
	json_text(&c->json, "name", name);
	json_u64(&c->json, "pid", c->film->processes[thread->process].pid);
	json_u64(&c->json, "tid", row_of(thread, call->lane));
}

/* Microseconds since the film's start, to the nanosecond. */
static void put_time(struct chrome *c, const char *key, uint64_t time)
{
	json_thousandths(&c->json, key, (int64_t)(time - c->film->info.start));
}

static void put_name(struct chrome *c, const char *kind, const char *name,
		     const struct film_call *call)
{
	begin_event(c, "M", kind, call);
	json_open(&c->json, "args", '{');
	json_text(&c->json, "name", name);
	json_close(&c->json, '}');
	json_close(&c->json, '}');
}

/* Names of the process and the thread, once, before their first call. */
static int put_names(struct chrome *c, const struct film_call *call)
{
	uint64_t key = (uint64_t)call->thread << 32 | call->lane;
	const struct film_thread *thread = &c->film->threads[call->thread];
	char *name = NULL;

	if (map_get(&c->tracks, key))
		return 0;
	if (!map_put(&c->tracks, key, 1))
		return -ENOMEM;
	if (!c->processes[thread->process])
		put_name(c, "process_name", c->film->processes[thread->process].comm, call);
	c->processes[thread->process] = 1;
	if (call->lane && asprintf(&name, "%s, stack %" PRIu32 " of %" PRIu32, thread->comm,
				   call->lane, thread->tid) < 0)
		return -ENOMEM;
	put_name(c, "thread_name", name ? name : thread->comm, call);
	free(name);
	return 0;
}

static void put_args(struct chrome *c, const struct call_event *event)
{
	const struct film_call *call = event->call;
	uint64_t on_cpu = call->waited < event->duration ? event->duration - call->waited : 0;
	const char *given = call_values_text(&c->values, call);
	const char *returned = call_values_returned(&c->values, call);

	json_open(&c->json, "args", '{');
	if (!event->is_beyond) {
		json_thousandths(&c->json, "duration_us", (int64_t)event->duration);
		json_thousandths(&c->json, "on_cpu_us", (int64_t)on_cpu);
	}
	json_u64(&c->json, "cpu", call->cpu);
	if (call->flags & FILM_CALL_INFERRED)
		json_bool(&c->json, "inferred", true);
	if (call->flags & FILM_CALL_OPEN)
		json_bool(&c->json, "open", true);
	if (call->flags & FILM_CALL_UNKNOWN)
		json_bool(&c->json, "caller_unknown", true);
	if (given && *given)
		json_text(&c->json, "arguments", given);
	if (returned && *returned)
		json_text(&c->json, "results", returned);
	json_close(&c->json, '}');
}

static int write_call(void *context, const struct call_event *event)
{
	struct chrome *c = context;
	const char *name = call_names_of(&c->names, event->call->frame);
	int err;

	if (!name)
		return -ENOMEM;
	if (event->kind == CALL_EVENT_BEGIN)
		return 0;
	err = put_names(c, event->call);
	if (event->kind == CALL_EVENT_GAP) {
		begin_event(c, "i", "calls lost here", event->call);
		put_time(c, "ts", event->time);
		json_text(&c->json, "s", "t");
	} else {
		begin_event(c, "X", name, event->call);
		put_time(c, "ts", event->start);
		json_thousandths(&c->json, "dur", (int64_t)(event->end - event->start));
		put_args(c, event);
	}
	json_close(&c->json, '}');
	fputc('\n', c->json.out);
	return err;
}

static void put_metadata(struct chrome *c)
{
	const struct film_info *info = &c->film->info;
	char start[64];

	film_rfc3339(info, info->start, start, sizeof(start));
	json_text(&c->json, "displayTimeUnit", "ns");
	json_open(&c->json, "metadata", '{');
	json_text(&c->json, "recorded_time", start);
	json_text(&c->json, "command_line", info->command);
	json_text(&c->json, "hostname", info->hostname);
	json_text(&c->json, "version", info->version);
	json_open(&c->json, "loss", '{');
	for (size_t i = 0; i < c->film->loss_count; i++)
		json_u64(&c->json, c->film->losses[i].reason, c->film->losses[i].count);
	json_close(&c->json, '}');
	json_close(&c->json, '}');
}

int chrome_write_calls(struct film *film, const struct replay_question *q, FILE *out,
		       struct replay_sums *sums, struct fail *why)
{
	struct chrome c = {.film = film, .json = {.out = out}};
	int err = call_names_init(&c.names, film);

	c.processes = calloc(film->process_count + 1ull, 1);
	if (!err && !c.processes)
		err = -ENOMEM;
	if (!err && !q->no_values)
		err = call_values_read(film, q, &c.values, why);
	if (!err) {
		json_open(&c.json, NULL, '{');
		json_open(&c.json, "traceEvents", '[');
		err = replay_film(film, q, write_call, &c, sums, why);
		json_close(&c.json, ']');
		put_metadata(&c);
		json_close(&c.json, '}');
		fputc('\n', out);
	}
	call_values_warn(&c.values);
	call_values_free(&c.values);
	call_names_free(&c.names);
	map_free(&c.tracks);
	free(c.processes);
	return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot replay the film") : err;
}
