/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXCHANGE_PERFETTO_TRACE_H
#define EXCHANGE_PERFETTO_TRACE_H

#include <stdio.h>

#include "base/protobuf.h"
#include "film/reader.h"
#include "query/filter.h"

/*
 * Writes a trace of Perfetto: the packets that its formats here have in common. Its processes and
 * threads are the film's, its clock is the film's.
 */

/* Field numbers are those of Perfetto's public protos: trace_packet.proto, track_event.proto … */
enum perfetto_packet_field {
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_CLOCK_ID = 58,
	PACKET_TRACK_DESCRIPTOR = 60,
};

enum perfetto_clock {
	CLOCK_OF_WALL = 1,
	CLOCK_OF_FILM = 3, /* CLOCK_MONOTONIC */
};

enum perfetto_event_field {
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_ID = 10,
	EVENT_TRACK = 11,
	EVENT_NAME = 23,
	EVENT_FLOW = 47,
	EVENT_LAST_FLOW = 48,
	TYPE_BEGIN = 1,
	TYPE_END = 2,
	TYPE_INSTANT = 3,
	ANNOTATION_NAME_ID = 1,
	ANNOTATION_BOOL = 2,
	ANNOTATION_UINT = 3,
	ANNOTATION_TEXT = 6,
};

enum perfetto_sequence {
	SEQUENCE_IS_NEW = 1,
	SEQUENCE_IS_NEEDED = 2, /* what was interned before */
};

enum perfetto_track_field {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
};

enum perfetto_interned {
	INTERNED_EVENT_NAMES = 2,
	INTERNED_ANNOTATION_NAMES = 3,
	INTERNED_ID = 1,
	INTERNED_NAME = 2,
};

struct perfetto_trace {
	const struct film *film;
	FILE *out;
	uint64_t *process_uuids, *thread_uuids; /* of tracks, per id; 0: not described yet */
	uint64_t uuids;
	uint64_t sequence; /* of the next packets; what is interned holds for one of them */
	/* a packet, what stands in it, and what stands in that; the trace's own field around it */
	struct buf packet, message, inner, field;
};

/*
 * Writes the packet that comes first, of sequence 1; annotations: names by id, from 1 on, count
 * with the unused 0. 0 or -ENOMEM; perfetto_end() is needed in either case.
 */
int perfetto_begin(struct perfetto_trace *t, const struct film *film, FILE *out,
		   const char *const *annotations, unsigned int count);
void perfetto_end(struct perfetto_trace *t);

/* Writes what is in packet as the next one of the trace; flags: enum perfetto_sequence. */
void perfetto_put_packet(struct perfetto_trace *t, uint64_t flags);

/* Puts a message of an event in message as a packet at a time of the film's clock. */
void perfetto_put_event(struct perfetto_trace *t, uint64_t time);

/* A text of a film as Protobuf's strings must be. 0 or -ENOMEM. */
int perfetto_put_text(struct buf *to, unsigned int field, const char *text);

/* Adds an annotation to the event in message; kind: ANNOTATION_BOOL or ANNOTATION_UINT. */
void perfetto_annotate(struct perfetto_trace *t, unsigned int name, unsigned int kind,
		       uint64_t value);
int perfetto_annotate_text(struct perfetto_trace *t, unsigned int name, const char *text);

/*
 * *uuid becomes the number of a thread's own track. Describes it, and that of its process, if that
 * was not done yet. 0 or -ENOMEM.
 */
int perfetto_describe_thread(struct perfetto_trace *t, uint32_t thread, uint64_t *uuid);

/* Describes a track with a name of its own, below the thread's process. 0 or -ENOMEM. */
int perfetto_describe_track(struct perfetto_trace *t, uint32_t thread, const char *name,
			    uint64_t *uuid);

/* Interns the name of an event, in the packet of its first use. 0 or -ENOMEM. */
int perfetto_intern(struct perfetto_trace *t, uint64_t id, const char *name);

/* Writes the gauges of a film in [from, to) of its clock as counters. */
int perfetto_put_machine(struct perfetto_trace *t, struct film *film, uint64_t from, uint64_t to,
			 struct fail *why);

/*
 * Writes the samples that a question asks for, whose filter keeps `kept`, of one event, or (only:
 * 0) of each that has samples. *samples: how many. Returns 0 or a negative errno, with *why filled
 * if it is not -ENOMEM.
 */
int perfetto_put_samples(struct perfetto_trace *t, struct film *film, uint32_t only,
			 const struct question *q, const struct filter_kept *kept,
			 uint64_t *samples, struct fail *why);

#endif
