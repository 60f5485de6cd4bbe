/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_REQUESTS_RECORD_H
#define SOURCES_REQUESTS_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/requests/abi.h"

/* What the kernel's side says of a call, by a record of either size (bpf/requests/abi.h). */
struct requests_record {
	struct capture_head head; /* of a REQUESTS_DATA, for all that moves data */
	/* of the thread that made the call; without a name: the one it had there last */
	struct capture_identity identity;
	uint64_t connection;
	uint64_t offset;
	uint32_t length, copied;
	/* zero: they are those of the connection's records before, or not known yet */
	uint8_t peer[16], own[16];
	uint16_t peer_port, own_port;
	uint8_t flags, protocol, has_tail, unused;
	uint8_t tail[REQUESTS_TAIL];
	uint8_t trace[16], span[8];
	struct requests_turn turn;
	uint32_t unused_too;
	uint64_t task, works_for;
	/* copied bytes */
};

/* One, with the bytes that were copied. */
struct requests_read {
	struct requests_record record;
	uint8_t data[REQUESTS_COPY_MAX];
};

/*
 * Reads one from a ring. False: it is none of those, or too short for what it is. If it has more
 * or less bytes than it says, record.head.size shows that.
 */
bool requests_record_read(struct requests_read *read, const struct capture_head *head);

#endif
