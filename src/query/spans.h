/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_SPANS_H
#define QUERY_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "query/names.h"

/* Spans of OpenTelemetry traces, which programs emit about their own work. */
enum {
	SPAN_TEXT_MAX = 255, /* bytes of a name, host or service */
	SPAN_TRACE = 16,     /* bytes of a trace id */
	SPAN_ID = 8,	     /* bytes of a span id */
};

/* The numbers are those of OTLP. */
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
	uint8_t parent[SPAN_ID];	   /* all zero: none */
	uint64_t start, end;		   /* ns since 1970 */
	uint32_t pid, tid;		   /* from the sender; 0: not known */
	uint8_t kind;			   /* enum span_kind */
	uint8_t status;			   /* enum span_status */
	const char *host, *service, *name; /* hostile; "": not known */
};

/* "internal", "server" …; "unknown" */
const char *span_kind_name(unsigned int kind);

/* Parses a trace id of 32 hexadecimal digits; false: invalid. */
bool span_trace_parse(const char *text, uint8_t trace[SPAN_TRACE]);

/* Formats a span id as 16 hexadecimal digits. */
void span_id_words(const uint8_t id[SPAN_ID], char words[2 * SPAN_ID + 1]);

struct spans_found {
	struct span *at; /* sorted by start */
	size_t count;
	bool is_cut; /* there are more spans */
	struct name_pool names;
};
void spans_found_free(struct spans_found *found);

/*
 * The position of a span in the tree: after its parent; depth is the number of its ancestors. A
 * span is at the top if its parent is missing, e.g. because another service did not send it, or if
 * it is its own ancestor.
 */
struct span_place {
	uint32_t span; /* index in found->at */
	uint32_t depth;
};

/*
 * The positions of all spans, in the order of the tree. The caller frees the array. Null: no
 * memory.
 */
struct span_place *spans_tree(const struct spans_found *found);

#endif
