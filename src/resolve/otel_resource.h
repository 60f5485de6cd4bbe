/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_OTEL_RESOURCE_H
#define RESOLVE_OTEL_RESOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "film/labels.h"
#include "process/targets.h"

/*
 * Which service a program says it is, in its process context (process/otel_context.h).
 */
enum {
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
