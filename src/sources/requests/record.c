// SPDX-License-Identifier: Apache-2.0
#include "sources/requests/record.h"

#include <stddef.h>
#include <string.h>

/* All that is behind the record in a ring goes with it, as long as there is room. */
static void read_data(struct requests_read *read, const struct requests_more *more, size_t size)
{
	struct requests_record *record = &read->record;
	size_t room = sizeof(read->data);

	record->head.size = (uint32_t)(sizeof(*record) + size);
	memcpy(read->data, more + 1, size < room ? size : room);
}

static void read_more(struct requests_record *record, const struct requests_more *more)
{
	record->identity.pid = more->pid;
	record->identity.tid = more->tid;
	record->identity.thread_start = more->thread_start;
	record->identity.exec_id = more->exec_id;
	record->connection = more->connection;
	record->offset = more->offset;
	record->length = more->length;
	record->copied = more->copied;
	record->flags = more->flags & ~REQUESTS_HAS_TAIL;
	record->has_tail = (more->flags & REQUESTS_HAS_TAIL) != 0;
	record->protocol = more->protocol;
	memcpy(record->tail, more->tail, sizeof(record->tail));
	record->turn = more->turn;
}

static void read_wire(struct requests_record *record, const struct requests_wire *wire)
{
	memcpy(record->identity.comm, wire->comm, sizeof(record->identity.comm));
	record->identity.undecided = wire->undecided;
	memcpy(record->peer, wire->peer, sizeof(record->peer));
	memcpy(record->own, wire->own, sizeof(record->own));
	record->peer_port = wire->peer_port;
	record->own_port = wire->own_port;
	memcpy(record->trace, wire->trace, sizeof(record->trace));
	memcpy(record->span, wire->span, sizeof(record->span));
}

/* What a record of a kind has at least; 0: it is not read here. */
static size_t size_of(uint32_t kind)
{
	switch (kind) {
	case REQUESTS_DATA:
	case REQUESTS_CLOSED:
	case REQUESTS_OPENED:
	case REQUESTS_MARKED:
		return sizeof(struct requests_wire);
	case REQUESTS_WORKS:
		return sizeof(struct requests_works);
	case REQUESTS_MORE:
		return sizeof(struct requests_more);
	default:
		return 0;
	}
}

bool requests_record_read(struct requests_read *read, const struct capture_head *head)
{
	size_t size = size_of(head->kind);
	const struct requests_wire *wire = NULL;
	const struct requests_works *works = NULL;
	const struct requests_more *more;

	if (!size || head->size < size)
		return false;
	if (size == sizeof(*wire))
		wire = (const struct requests_wire *)head;
	if (size == sizeof(*works))
		works = (const struct requests_works *)head;
	else if (wire)
		works = &wire->works;
	more = works ? &works->more : (const struct requests_more *)head;
	memset(&read->record, 0, sizeof(read->record));
	read->record.head = *head;
	if (!wire)
		read->record.head.kind = REQUESTS_DATA;
	else
		read_wire(&read->record, wire);
	if (works) {
		read->record.task = works->task;
		read->record.works_for = works->works_for;
	}
	read_more(&read->record, more);
	read_data(read, more, head->size - size);
	return true;
}
