/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXCHANGE_OTLP_SPANS_H
#define EXCHANGE_OTLP_SPANS_H

#include "base/fail.h"
#include "base/vec.h"
#include "query/spans.h"

/*
 * Reads an ExportTraceServiceRequest of OTLP, as protobuf or as JSON (opentelemetry-proto,
 * trace/v1/trace.proto, and the protocol's rules for JSON). Of a span its ids, its times, its name,
 * its kind and whether it failed are kept, with the host, the service and the process of its
 * resource and its thread; attributes, events and links are not. Bodies are hostile.
 */
enum {
	OTLP_SPANS_MAX = 10000,	       /* of one body; others are rejected */
	OTLP_SPANS_JSON_MAX = 2 << 20, /* bytes: a parsed body takes some thirty times as much */
};

struct otlp_spans {
	vec(struct span) all; /* their texts are in names */
	struct name_pool names;
	uint64_t rejected;
	const char *reason; /* of the last one that was; static */
	uint64_t now;	    /* ns since 1970: no span begins much later */
};

/* 0, or -EBADMSG, -E2BIG or -ENOMEM with *why filled; to be freed in either case. */
int otlp_spans_protobuf(struct otlp_spans *spans, const uint8_t *body, size_t size,
			struct fail *why);
int otlp_spans_json(struct otlp_spans *spans, const uint8_t *body, size_t size, struct fail *why);
void otlp_spans_free(struct otlp_spans *spans);

/* -- for both ---------------------------------------------------------------------------------- */

/* What a resource says of all of its spans. */
struct otlp_resource {
	const char *host, *service; /* in names */
	uint32_t pid;
};

/* Text of that many bytes, cut, in names; null: no memory. */
const char *otlp_spans_text(struct otlp_spans *spans, const void *text, size_t size);

/* An attribute of a resource, whose value is a text, or a number. False: no memory. */
bool otlp_spans_resource(struct otlp_spans *spans, struct otlp_resource *resource, const char *key,
			 const char *text, uint64_t number);

/* Checks a span and keeps it, or counts it. False: no memory. */
bool otlp_spans_add(struct otlp_spans *spans, const struct otlp_resource *resource,
		    const struct span *span);

#endif
