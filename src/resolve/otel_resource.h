/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_OTEL_RESOURCE_H
#define RESOLVE_OTEL_RESOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "film/labels.h"
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
 * is a Resource, of which field 1 are attributes, with a key in field 1 and a value in field 2.
 */
enum {
	OTEL_PAYLOAD_MAX = 65536,
	OTEL_KEYS = 5,
	/* bytes of a text of these attributes, with the zero at its end */
	OTEL_RESOURCE_SIZE = OTEL_KEYS * (FILM_LABEL_KEY_MAX + FILM_LABEL_VALUE_MAX + 2)
};

/*
 * The attributes that name a service, as labels (film/labels.h): service.name, service.namespace,
 * service.version, deployment.environment.name, deployment.environment. Returns 0; -ENOENT: the
 * process publishes nothing, so far; another negative errno: what it publishes cannot be read.
 */
int otel_resource_read(const struct process *process, char text[OTEL_RESOURCE_SIZE]);

/* The same of a payload; hostile. -EBADMSG: it is not such a message, or has none of them. */
int otel_resource_parse(const void *payload, size_t size, char text[OTEL_RESOURCE_SIZE]);

#endif
