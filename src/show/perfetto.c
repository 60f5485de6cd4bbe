// SPDX-License-Identifier: Apache-2.0
#include "show/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/map.h"
#include "show/call_names.h"
#include "base/protobuf.h"
#include "show/words.h"

/* Field numbers are those of Perfetto's public protos: trace_packet.proto, track_event.proto … */
enum packet_field {
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_CLOCK_ID = 58,
	PACKET_TRACK_DESCRIPTOR = 60,
};

enum {
	TRACE_PACKET = 1,

	CLOCK_OF_WALL = 1,
	CLOCK_OF_FILM = 3, /* CLOCK_MONOTONIC */
	SNAPSHOT_CLOCKS = 1,
	SNAPSHOT_PRIMARY_CLOCK = 2,

	SEQUENCE_IS_NEW = 1,
	SEQUENCE_IS_NEEDED = 2, /* what was interned before */

	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,

	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_ID = 10,
	EVENT_TRACK = 11,
	EVENT_NAME = 23,
	TYPE_BEGIN = 1,
	TYPE_END = 2,
	TYPE_INSTANT = 3,
	ANNOTATION_NAME_ID = 1,
	ANNOTATION_BOOL = 2,
	ANNOTATION_UINT = 3,

	INTERNED_EVENT_NAMES = 2,
	INTERNED_ANNOTATION_NAMES = 3,
	INTERNED_ID = 1,
	INTERNED_NAME = 2,
};

/* What is told of a call beside its name and times; ids of the names count from 1. */
enum annotation {
	ANNOTATE_DURATION = 1,
	ANNOTATE_ON_CPU,
	ANNOTATE_CPU,
	ANNOTATE_INFERRED,
	ANNOTATE_OPEN,
	ANNOTATE_UNKNOWN,
};

static const char *const annotation_names[] = {
	[ANNOTATE_DURATION] = "duration_ns",
	[ANNOTATE_ON_CPU] = "on_cpu_ns",
	[ANNOTATE_CPU] = "cpu",
	[ANNOTATE_INFERRED] = "inferred",
	[ANNOTATE_OPEN] = "open",
	[ANNOTATE_UNKNOWN] = "caller_unknown",
};

struct perfetto {
	const struct film *film;
	FILE *out;
	struct call_names names;
	struct map tracks;	 /* thread << 32 | lane: its uuid */
	uint64_t *process_uuids; /* per id; 0: not told yet */
	uint8_t *told_names;	 /* per frame: its name is interned, by the frame's id */
	uint64_t uuids;
	/* a packet, what stands in it, and what stands in that; the trace's own field around it */
	struct buf packet, message, inner, field;
};

/* Writes what is in packet as the next one of the trace. */
static void put_packet(struct perfetto *p, uint64_t flags)
{
	proto_number(&p->packet, PACKET_SEQUENCE, 1);
	proto_number(&p->packet, PACKET_SEQUENCE_FLAGS, flags);
	p->field.count = 0;
	proto_message(&p->field, TRACE_PACKET, &p->packet);
	if (!p->field.failed)
		fwrite(p->field.at, 1, p->field.count, p->out);
}

static void put_clock(struct perfetto *p, uint64_t clock, uint64_t time)
{
	proto_number(&p->inner, 1, clock);
	proto_number_always(&p->inner, 2, time);
	proto_message(&p->message, SNAPSHOT_CLOCKS, &p->inner);
}

/* The packet that comes first. */
static void put_start(struct perfetto *p)
{
	const struct film_info *info = &p->film->info;

	put_clock(p, CLOCK_OF_FILM, info->start);
	put_clock(p, CLOCK_OF_WALL, info->start + (uint64_t)info->wall_offset);
	proto_number(&p->message, SNAPSHOT_PRIMARY_CLOCK, CLOCK_OF_FILM);
	proto_message(&p->packet, PACKET_CLOCK_SNAPSHOT, &p->message);
	for (unsigned int i = ANNOTATE_DURATION; i <= ANNOTATE_UNKNOWN; i++) {
		proto_number(&p->inner, INTERNED_ID, i);
		proto_text(&p->inner, INTERNED_NAME, annotation_names[i]);
		proto_message(&p->message, INTERNED_ANNOTATION_NAMES, &p->inner);
	}
	proto_message(&p->packet, PACKET_INTERNED_DATA, &p->message);
	put_packet(p, SEQUENCE_IS_NEW);
}

/* Protobuf's strings are UTF-8, which names need not be. */
static int put_text(struct buf *to, unsigned int field, const char *text)
{
	char *safe = words_safe(text, "");

	if (!safe)
		return -ENOMEM;
	proto_text(to, field, safe);
	free(safe);
	return 0;
}

/* The uuid of a process's track, which is described when it is first asked for. */
static int describe_process(struct perfetto *p, uint32_t id)
{
	const struct film_process *process = &p->film->processes[id];
	int err;

	if (p->process_uuids[id])
		return 0;
	p->process_uuids[id] = ++p->uuids;
	proto_number(&p->message, TRACK_UUID, p->uuids);
	proto_number_always(&p->inner, PROCESS_PID, process->pid);
	err = put_text(&p->inner, PROCESS_NAME, process->comm);
	proto_message(&p->message, TRACK_PROCESS, &p->inner);
	proto_message(&p->packet, PACKET_TRACK_DESCRIPTOR, &p->message);
	put_packet(p, 0);
	return err;
}

static int describe_track(struct perfetto *p, const struct film_call *call, uint64_t uuid)
{
	const struct film_thread *thread = &p->film->threads[call->thread];
	char *name = NULL;
	int err;

	proto_number(&p->message, TRACK_UUID, uuid);
	proto_number(&p->message, TRACK_PARENT, p->process_uuids[thread->process]);
	if (call->lane) {
		/* a thread has one track; its other stacks are tracks with names */
		if (asprintf(&name, "%s, stack %" PRIu32 " of %" PRIu32, thread->comm, call->lane,
			     thread->tid) < 0)
			return -ENOMEM;
		err = put_text(&p->message, TRACK_NAME, name);
		free(name);
	} else {
		proto_number_always(&p->inner, THREAD_PID, p->film->processes[thread->process].pid);
		proto_number_always(&p->inner, THREAD_TID, thread->tid);
		err = put_text(&p->inner, THREAD_NAME, thread->comm);
		proto_message(&p->message, TRACK_THREAD, &p->inner);
	}
	proto_message(&p->packet, PACKET_TRACK_DESCRIPTOR, &p->message);
	put_packet(p, 0);
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
	err = describe_process(p, p->film->threads[call->thread].process);
	if (err)
		return err;
	*uuid = ++p->uuids;
	return map_put(&p->tracks, key, *uuid) ? describe_track(p, call, *uuid) : -ENOMEM;
}

static void annotate(struct perfetto *p, enum annotation name, unsigned int kind, uint64_t value)
{
	proto_number(&p->inner, ANNOTATION_NAME_ID, name);
	proto_number_always(&p->inner, kind, value);
	proto_message(&p->message, EVENT_ANNOTATION, &p->inner);
}

static void put_annotations(struct perfetto *p, const struct call_event *event)
{
	const struct film_call *call = event->call;
	uint64_t on_cpu = call->waited < event->duration ? event->duration - call->waited : 0;

	if (!event->is_beyond) {
		annotate(p, ANNOTATE_DURATION, ANNOTATION_UINT, event->duration);
		annotate(p, ANNOTATE_ON_CPU, ANNOTATION_UINT, on_cpu);
	}
	annotate(p, ANNOTATE_CPU, ANNOTATION_UINT, call->cpu);
	if (call->flags & FILM_CALL_INFERRED)
		annotate(p, ANNOTATE_INFERRED, ANNOTATION_BOOL, 1);
	if (call->flags & FILM_CALL_OPEN)
		annotate(p, ANNOTATE_OPEN, ANNOTATION_BOOL, 1);
	if (call->flags & FILM_CALL_UNKNOWN)
		annotate(p, ANNOTATE_UNKNOWN, ANNOTATION_BOOL, 1);
}

/* Ids of names are those of frames plus one, since 0 is none. */
static int put_name(struct perfetto *p, uint32_t frame)
{
	const char *name = call_names_of(&p->names, frame);
	struct buf entry = {0}, data = {0};
	int err;

	if (!name)
		return -ENOMEM;
	proto_number(&p->message, EVENT_NAME_ID, frame + 1ull);
	if (p->told_names[frame])
		return 0;
	p->told_names[frame] = 1;
	/* in the same packet as its first use */
	proto_number(&entry, INTERNED_ID, frame + 1ull);
	err = put_text(&entry, INTERNED_NAME, name);
	proto_message(&data, INTERNED_EVENT_NAMES, &entry);
	proto_message(&p->packet, PACKET_INTERNED_DATA, &data);
	buf_free(&entry);
	buf_free(&data);
	return err;
}

static int take(void *context, const struct call_event *event)
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
	proto_number(&p->message, EVENT_TYPE, types[event->kind]);
	proto_number(&p->message, EVENT_TRACK, uuid);
	if (event->kind == CALL_EVENT_BEGIN)
		err = put_name(p, event->call->frame);
	else if (event->kind == CALL_EVENT_END)
		put_annotations(p, event);
	else
		proto_text(&p->message, EVENT_NAME, "calls lost here");
	proto_number_always(&p->packet, PACKET_TIMESTAMP, event->time);
	proto_number(&p->packet, PACKET_CLOCK_ID, CLOCK_OF_FILM);
	proto_message(&p->packet, PACKET_TRACK_EVENT, &p->message);
	put_packet(p, SEQUENCE_IS_NEEDED);
	return err ? err : p->field.failed ? -ENOMEM : 0;
}

int show_perfetto(struct film *film, const struct replay_question *q, FILE *out,
		  struct replay_sums *sums, struct fail *why)
{
	struct perfetto p = {.film = film, .out = out};
	int err = call_names_init(&p.names, film);

	p.process_uuids = calloc(film->process_count + 1ull, sizeof(*p.process_uuids));
	p.told_names = calloc(film->frame_count + 1ull, 1);
	if (!err && (!p.process_uuids || !p.told_names))
		err = -ENOMEM;
	if (!err) {
		put_start(&p);
		err = replay_film(film, q, take, &p, sums, why);
	}
	call_names_free(&p.names);
	map_free(&p.tracks);
	free(p.process_uuids);
	free(p.told_names);
	buf_free(&p.packet);
	buf_free(&p.message);
	buf_free(&p.inner);
	buf_free(&p.field);
	return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot replay the film") : err;
}
