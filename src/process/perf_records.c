// SPDX-License-Identifier: Apache-2.0
#include "process/perf_records.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

/* pid, tid, time, cpu and a reserved word at the end of each record */
#define SAMPLE_ID_BYTES 24

static void read_task(struct bytes *body, struct target_event *event)
{
	event->pid = (pid_t)bytes_u32(body);
	event->parent_pid = (pid_t)bytes_u32(body);
	event->tid = (pid_t)bytes_u32(body);
	event->parent_tid = (pid_t)bytes_u32(body);
	event->time = bytes_u64(body);
}

static void read_comm(struct bytes *body, struct target_event *event)
{
	event->pid = (pid_t)bytes_u32(body);
	event->tid = (pid_t)bytes_u32(body);
	snprintf(event->comm, sizeof(event->comm), "%s", bytes_text(body));
}

static bool read_mmap(struct bytes *body, struct target_event *event)
{
	uint32_t major_number, minor_number;

	event->pid = (pid_t)bytes_u32(body);
	event->tid = (pid_t)bytes_u32(body);
	event->start = bytes_u64(body);
	event->length = bytes_u64(body);
	event->offset = bytes_u64(body);
	major_number = bytes_u32(body);
	minor_number = bytes_u32(body);
	event->device = makedev(major_number, minor_number);
	event->inode = bytes_u64(body);
	bytes_u64(body); /* the inode's generation, which maps do not show */
	if (!(bytes_u32(body) & PROT_EXEC))
		return false;
	bytes_u32(body); /* flags */
	event->path = bytes_text(body);
	return true;
}

bool perf_record_parse(const void *record, size_t size, struct target_event *event)
{
	struct bytes body = {record, (const uint8_t *)record + size, false}, id;
	struct perf_event_header header;
	const uint8_t *at;
	bool known = true;

	at = bytes_read(&body, sizeof(header));
	if (!at || bytes_left(&body) < SAMPLE_ID_BYTES)
		return false;
	memcpy(&header, at, sizeof(header));
	id = (struct bytes){body.end - SAMPLE_ID_BYTES + 8, body.end, false};
	body.end -= SAMPLE_ID_BYTES;
	*event = (struct target_event){.time = bytes_u64(&id)};
	switch (header.type) {
	case PERF_RECORD_FORK:
		event->kind = TARGET_FORK;
		read_task(&body, event);
		break;
	case PERF_RECORD_EXIT:
		event->kind = TARGET_EXIT;
		read_task(&body, event);
		break;
	case PERF_RECORD_COMM:
		event->kind = header.misc & PERF_RECORD_MISC_COMM_EXEC ? TARGET_EXEC : TARGET_COMM;
		read_comm(&body, event);
		break;
	case PERF_RECORD_MMAP2:
		event->kind = TARGET_MMAP;
		known = read_mmap(&body, event);
		break;
	default:
		return false;
	}
	return known && !body.failed;
}

/* Copies count bytes from position at of an endless ring. */
static void copy_out(const uint8_t *ring, size_t size, uint64_t at, void *to, size_t count)
{
	size_t from = (size_t)(at & (size - 1)), first = size - from < count ? size - from : count;

	memcpy(to, ring + from, first);
	memcpy((uint8_t *)to + first, ring, count - first);
}

uint64_t perf_ring_copy(const uint8_t *ring, size_t size, uint64_t tail, uint64_t head,
			struct buf *records, bool *damaged)
{
	if (head - tail > size) {
		*damaged = true;
		return head;
	}
	while (head - tail >= sizeof(struct perf_event_header)) {
		struct perf_event_header header;
		uint8_t record[UINT16_MAX];

		copy_out(ring, size, tail, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail)
			break;
		copy_out(ring, size, tail, record, header.size);
		buf_put(records, record, header.size);
		if (records->failed)
			return tail;
		tail += header.size;
	}
	if (tail != head)
		*damaged = true;
	return head;
}
