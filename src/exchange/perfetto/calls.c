// SPDX-License-Identifier: Apache-2.0
#include "exchange/perfetto/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/map.h"
#include "query/call_values.h"
#include "exchange/perfetto/trace.h"

/* What is written of a call beside its name and times; ids of the names count from 1. */
enum annotation {
	ANNOTATE_DURATION = 1,
	ANNOTATE_ON_CPU,
	ANNOTATE_CPU,
	ANNOTATE_INFERRED,
	ANNOTATE_OPEN,
	ANNOTATE_UNKNOWN,
	ANNOTATE_ARGUMENTS,
	ANNOTATE_RESULTS,
};

static const char *const annotation_names[] = {
	[ANNOTATE_DURATION] = "duration_ns",
	[ANNOTATE_ON_CPU] = "on_cpu_ns",
	[ANNOTATE_CPU] = "cpu",
	[ANNOTATE_INFERRED] = "inferred",
	[ANNOTATE_OPEN] = "open",
	[ANNOTATE_UNKNOWN] = "caller_unknown",
	[ANNOTATE_ARGUMENTS] = "arguments",
	[ANNOTATE_RESULTS] = "results",
};

struct perfetto {
	struct perfetto_trace trace;
	struct call_names names;
	struct call_values values;
	struct map tracks;   /* thread << 32 | lane: its uuid */
	uint8_t *told_names; /* per frame: its name is interned, by the frame's id */
};

/* A thread has one track; its other stacks are tracks with names. */
static int describe_track(struct perfetto *p, const struct film_call *call, uint64_t *uuid)
{
	const struct film_thread *thread = &p->trace.film->threads[call->thread];
	char *name = NULL;
	int err;

	if (!call->lane)
		return perfetto_describe_thread(&p->trace, call->thread, uuid);
	if (asprintf(&name, "%s, stack %" PRIu32 " of %" PRIu32, thread->comm, call->lane,
		     thread->tid) < 0)
		return -ENOMEM;
	err = perfetto_describe_track(&p->trace, call->thread, name, uuid);
	free(name);
	return err;
}

static int track_of(struct perfetto *p, const struct film_call *call, uint64_t *uuid)
{
	uint64_t key = (uint64_t)call->thread << 32 | call->lane;
	const uint64_t *known = map_get(&p->tracks, key);
	int err;

	if (known) {
		*uuid = *known;
		return 0;
	}
	err = describe_track(p, call, uuid);
	return err || map_put(&p->tracks, key, *uuid) ? err : -ENOMEM;
}

/* 0 or -ENOMEM. */
static int put_text(struct perfetto *p, enum annotation name, const char *text)
{
	return text && *text ? perfetto_annotate_text(&p->trace, name, text) : 0;
}

/* 0 or -ENOMEM. */
static int put_annotations(struct perfetto *p, const struct call_event *event)
{
	const struct film_call *call = event->call;
	struct perfetto_trace *t = &p->trace;
	uint64_t on_cpu = call->waited < event->duration ? event->duration - call->waited : 0;
	int err;

	if (!event->is_beyond) {
		perfetto_annotate(t, ANNOTATE_DURATION, ANNOTATION_UINT, event->duration);
		perfetto_annotate(t, ANNOTATE_ON_CPU, ANNOTATION_UINT, on_cpu);
	}
	perfetto_annotate(t, ANNOTATE_CPU, ANNOTATION_UINT, call->cpu);
	if (call->flags & FILM_CALL_INFERRED)
		perfetto_annotate(t, ANNOTATE_INFERRED, ANNOTATION_BOOL, 1);
	if (call->flags & FILM_CALL_OPEN)
		perfetto_annotate(t, ANNOTATE_OPEN, ANNOTATION_BOOL, 1);
	if (call->flags & FILM_CALL_UNKNOWN)
		perfetto_annotate(t, ANNOTATE_UNKNOWN, ANNOTATION_BOOL, 1);
	err = put_text(p, ANNOTATE_ARGUMENTS, call_values_text(&p->values, call));
	return err ? err : put_text(p, ANNOTATE_RESULTS, call_values_returned(&p->values, call));
}

/* Ids of names are those of frames plus one, since 0 is none. */
static int put_name(struct perfetto *p, uint32_t frame)
{
	const char *name = call_names_of(&p->names, frame);

	if (!name)
		return -ENOMEM;
	proto_number(&p->trace.message, EVENT_NAME_ID, frame + 1ull);
	if (p->told_names[frame])
		return 0;
	p->told_names[frame] = 1;
	return perfetto_intern(&p->trace, frame + 1ull, name);
}

static int write_call(void *context, const struct call_event *event)
{
	static const unsigned int types[] = {
		[CALL_EVENT_BEGIN] = TYPE_BEGIN,
		[CALL_EVENT_END] = TYPE_END,
		[CALL_EVENT_GAP] = TYPE_INSTANT,
	};
	struct perfetto *p = context;
	uint64_t uuid;
	int err = track_of(p, event->call, &uuid);

	if (err)
		return err;
	proto_number(&p->trace.message, EVENT_TYPE, types[event->kind]);
	proto_number(&p->trace.message, EVENT_TRACK, uuid);
	if (event->kind == CALL_EVENT_BEGIN)
		err = put_name(p, event->call->frame);
	else if (event->kind == CALL_EVENT_END)
		err = put_annotations(p, event);
	else
		proto_text(&p->trace.message, EVENT_NAME, "calls lost here");
	perfetto_put_event(&p->trace, event->time);
	return err ? err : p->trace.field.failed ? -ENOMEM : 0;
}

int perfetto_write_calls(struct film *film, const struct replay_question *q, FILE *out,
			 struct replay_sums *sums, struct fail *why)
{
	struct perfetto p = {0};
	int err = call_names_init(&p.names, film);

	p.told_names = calloc(film->frame_count + 1ull, 1);
	if (!err && !p.told_names)
		err = -ENOMEM;
	if (!err && !q->no_values)
		err = call_values_read(film, q, &p.values, why);
	if (!err)
		err = perfetto_begin(&p.trace, film, out, annotation_names,
				     sizeof(annotation_names) / sizeof(annotation_names[0]));
	if (!err)
		err = replay_film(film, q, write_call, &p, sums, why);
	call_values_warn(&p.values);
	call_values_free(&p.values);
	call_names_free(&p.names);
	map_free(&p.tracks);
	free(p.told_names);
	perfetto_end(&p.trace);
	return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot replay the film") : err;
}
