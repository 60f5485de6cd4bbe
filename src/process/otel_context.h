/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_OTEL_CONTEXT_H
#define PROCESS_OTEL_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "process/targets.h"

/*
 * What a program says of itself: OpenTelemetry's process context (OTEP 4719, "Process Context").
 * Its SDK makes a mapping called OTEL_CTX, which begins with
 *
 *	signature	"OTEL_CTX", written last
 *	version		u32: 2
 *	size		u32, bytes of the payload
 *	published	u64, ns; another one after each change, 0 while it is changed
 *	payload		u64, its address
 *
 * The payload is the message ProcessContext of opentelemetry-proto (process_context.proto): field 1
 * is a Resource, of which field 1 are attributes, with a key in field 1 and a value in field 2;
 * field 2 are attributes of the same kind that are meant for readers such as this one.
 */
enum {
	OTEL_PAYLOAD_MAX = 65536,
};

/*
 * Reads the payload; hostile. Returns 0 with *size; -ENOENT: the process publishes nothing, so far;
 * -EAGAIN: it changes all the time; another negative errno: what it publishes cannot be read.
 */
int otel_context_read(const struct process *process, uint8_t payload[OTEL_PAYLOAD_MAX],
		      size_t *size);

#endif
