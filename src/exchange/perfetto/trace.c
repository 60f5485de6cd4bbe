// SPDX-License-Identifier: Apache-2.0
#include "exchange/perfetto/trace.h"

#include <errno.h>
#include <stdlib.h>

#include "base/text.h"

/* Fields that are written here alone. */
enum {
	TRACE_PACKET = 1,

	SNAPSHOT_CLOCKS = 1,
	SNAPSHOT_PRIMARY_CLOCK = 2,

	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
};

void perfetto_put_packet(struct perfetto_trace *t, uint64_t flags)
{
	proto_number(&t->packet, PACKET_SEQUENCE, t->sequence);
	proto_number(&t->packet, PACKET_SEQUENCE_FLAGS, flags);
	t->field.count = 0;
	proto_message(&t->field, TRACE_PACKET, &t->packet);
	if (!t->field.failed)
		fwrite(t->field.at, 1, t->field.count, t->out);
}

void perfetto_put_event(struct perfetto_trace *t, uint64_t time)
{
	proto_number_always(&t->packet, PACKET_TIMESTAMP, time);
	proto_number(&t->packet, PACKET_CLOCK_ID, CLOCK_OF_FILM);
	proto_message(&t->packet, PACKET_TRACK_EVENT, &t->message);
	perfetto_put_packet(t, SEQUENCE_IS_NEEDED);
}

static void put_clock(struct perfetto_trace *t, uint64_t clock, uint64_t time)
{
	proto_number(&t->inner, 1, clock);
	proto_number_always(&t->inner, 2, time);
	proto_message(&t->message, SNAPSHOT_CLOCKS, &t->inner);
}

int perfetto_begin(struct perfetto_trace *t, const struct film *film, FILE *out,
		   const char *const *annotations, unsigned int count)
{
	const struct film_info *info = &film->info;

	*t = (struct perfetto_trace){.film = film, .out = out, .sequence = 1};
	t->process_uuids = calloc(film->process_count + 1ull, sizeof(*t->process_uuids));
	t->thread_uuids = calloc(film->thread_count + 1ull, sizeof(*t->thread_uuids));
	if (!t->process_uuids || !t->thread_uuids)
		return -ENOMEM;
	put_clock(t, CLOCK_OF_FILM, info->start);
	put_clock(t, CLOCK_OF_WALL, info->start + (uint64_t)info->wall_offset);
	proto_number(&t->message, SNAPSHOT_PRIMARY_CLOCK, CLOCK_OF_FILM);
	proto_message(&t->packet, PACKET_CLOCK_SNAPSHOT, &t->message);
	for (unsigned int i = 1; i < count; i++) {
		proto_number(&t->inner, INTERNED_ID, i);
		proto_text(&t->inner, INTERNED_NAME, annotations[i]);
		proto_message(&t->message, INTERNED_ANNOTATION_NAMES, &t->inner);
	}
	proto_message(&t->packet, PACKET_INTERNED_DATA, &t->message);
	perfetto_put_packet(t, SEQUENCE_IS_NEW);
	return t->field.failed ? -ENOMEM : 0;
}

void perfetto_end(struct perfetto_trace *t)
{
	free(t->process_uuids);
	free(t->thread_uuids);
	buf_free(&t->packet);
	buf_free(&t->message);
	buf_free(&t->inner);
	buf_free(&t->field);
}

int perfetto_put_text(struct buf *to, unsigned int field, const char *text)
{
	char *safe = text_safe(text, "");

	if (!safe)
		return -ENOMEM;
	proto_text(to, field, safe);
	free(safe);
	return 0;
}

void perfetto_annotate(struct perfetto_trace *t, unsigned int name, unsigned int kind,
		       uint64_t value)
{
	proto_number(&t->inner, ANNOTATION_NAME_ID, name);
	proto_number_always(&t->inner, kind, value);
	proto_message(&t->message, EVENT_ANNOTATION, &t->inner);
}

int perfetto_annotate_text(struct perfetto_trace *t, unsigned int name, const char *text)
{
	int err;

	proto_number(&t->inner, ANNOTATION_NAME_ID, name);
	err = perfetto_put_text(&t->inner, ANNOTATION_TEXT, text);
	proto_message(&t->message, EVENT_ANNOTATION, &t->inner);
	return err;
}

/* The uuid of a process's track, which is described when it is first asked for. */
static int describe_process(struct perfetto_trace *t, uint32_t id)
{
	const struct film_process *process = &t->film->processes[id];
	int err;

	if (t->process_uuids[id])
		return 0;
	t->process_uuids[id] = ++t->uuids;
	proto_number(&t->message, TRACK_UUID, t->uuids);
	proto_number_always(&t->inner, PROCESS_PID, process->pid);
	err = perfetto_put_text(&t->inner, PROCESS_NAME, process->comm);
	proto_message(&t->message, TRACK_PROCESS, &t->inner);
	proto_message(&t->packet, PACKET_TRACK_DESCRIPTOR, &t->message);
	perfetto_put_packet(t, 0);
	return err;
}

/* A new track below a thread's process, without what makes it one of a thread, or a name. */
static int begin_track(struct perfetto_trace *t, uint32_t thread, uint64_t *uuid)
{
	uint32_t process = t->film->threads[thread].process;
	int err = describe_process(t, process);

	*uuid = ++t->uuids;
	proto_number(&t->message, TRACK_UUID, *uuid);
	proto_number(&t->message, TRACK_PARENT, t->process_uuids[process]);
	return err;
}

int perfetto_describe_thread(struct perfetto_trace *t, uint32_t id, uint64_t *uuid)
{
	const struct film_thread *thread = &t->film->threads[id];
	int err;

	*uuid = t->thread_uuids[id];
	if (*uuid)
		return 0;
	err = begin_track(t, id, uuid);
	t->thread_uuids[id] = *uuid;
	proto_number_always(&t->inner, THREAD_PID, t->film->processes[thread->process].pid);
	proto_number_always(&t->inner, THREAD_TID, thread->tid);
	if (!err)
		err = perfetto_put_text(&t->inner, THREAD_NAME, thread->comm);
	proto_message(&t->message, TRACK_THREAD, &t->inner);
	proto_message(&t->packet, PACKET_TRACK_DESCRIPTOR, &t->message);
	perfetto_put_packet(t, 0);
	return err;
}

int perfetto_describe_track(struct perfetto_trace *t, uint32_t thread, const char *name,
			    uint64_t *uuid)
{
	int err = begin_track(t, thread, uuid);

	if (!err)
		err = perfetto_put_text(&t->message, TRACK_NAME, name);
	proto_message(&t->packet, PACKET_TRACK_DESCRIPTOR, &t->message);
	perfetto_put_packet(t, 0);
	return err;
}

int perfetto_intern(struct perfetto_trace *t, uint64_t id, const char *name)
{
	struct buf entry = {0}, data = {0};
	int err;

	proto_number(&entry, INTERNED_ID, id);
	err = perfetto_put_text(&entry, INTERNED_NAME, name);
	proto_message(&data, INTERNED_EVENT_NAMES, &entry);
	proto_message(&t->packet, PACKET_INTERNED_DATA, &data);
	buf_free(&entry);
	buf_free(&data);
	return err;
}
