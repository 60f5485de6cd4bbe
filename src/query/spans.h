/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_SPANS_H
#define QUERY_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "query/names.h"

/* Spans of traces, as OpenTelemetry has them: what programs say of their own work. */
enum {
	SPAN_TEXT_MAX = 255, /* bytes of a name, host or service */
	SPAN_TRACE = 16,     /* bytes of a trace's id */
	SPAN_ID = 8,	     /* and of a span's */
};

/* The numbers are OTLP's. */
enum span_kind {
	SPAN_KIND_UNKNOWN,
	SPAN_KIND_INTERNAL,
	SPAN_KIND_SERVER,
	SPAN_KIND_CLIENT,
	SPAN_KIND_PRODUCER,
	SPAN_KIND_CONSUMER,
};
enum span_status {
	SPAN_STATUS_UNSET,
	SPAN_STATUS_OK,
	SPAN_STATUS_ERROR,
};

struct span {
	uint8_t trace[SPAN_TRACE], id[SPAN_ID];
	uint8_t parent[SPAN_ID];	   /* all zero: it has none */
	uint64_t start, end;		   /* ns since 1970 */
	uint32_t pid, tid;		   /* as the sender says; 0: it does not */
	uint8_t kind;			   /* enum span_kind */
	uint8_t status;			   /* enum span_status */
	const char *host, *service, *name; /* hostile; "": not said */
};

/* "internal", "server" …; "unknown" */
const char *span_kind_name(unsigned int kind);

/* Reads a trace's id of 32 digits; false: it is something else. */
bool span_trace_parse(const char *text, uint8_t trace[SPAN_TRACE]);

/* As 16 digits. */
void span_id_words(const uint8_t id[SPAN_ID], char words[2 * SPAN_ID + 1]);

struct spans_found {
	struct span *at; /* in order of their start */
	size_t count;
	bool is_cut; /* there are more */
	struct name_pool names;
};
void spans_found_free(struct spans_found *found);

/*
 * Where a span stands in the tree: behind its parent, and as deep as those that it lies in are
 * many. A parent that is not there, as another service did not send it, say, leaves its children at
 * the top; so does one that is within itself.
 */
struct span_place {
	uint32_t span; /* place in found->at */
	uint32_t depth;
};

/* One for each span, in the order of the tree: to be freed. Null: no memory. */
struct span_place *spans_tree(const struct spans_found *found);

#endif
