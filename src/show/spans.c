// SPDX-License-Identifier: Apache-2.0
#include "show/spans.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "film/names.h"
#include "show/words.h"

static const char *const statuses[] = {
	[SPAN_STATUS_UNSET] = "unset", [SPAN_STATUS_OK] = "ok", [SPAN_STATUS_ERROR] = "error"};

static const char *status_name(const struct span *span)
{
	return statuses[span->status <= SPAN_STATUS_ERROR ? span->status : SPAN_STATUS_UNSET];
}

static void put_id(struct json *j, const char *key, const uint8_t id[SPAN_ID])
{
	char words[2 * SPAN_ID + 1];
	bool is_none = true;

	for (size_t i = 0; i < SPAN_ID; i++)
		is_none &= !id[i];
	span_id_words(id, words);
	json_text(j, key, is_none ? "" : words);
}

static void put_trace(struct json *j, const struct span *span)
{
	char words[2 * SPAN_TRACE + 1];

	for (size_t i = 0; i < SPAN_TRACE; i++)
		snprintf(words + 2 * i, 3, "%02x", span->trace[i]);
	json_text(j, "trace", words);
}

static void put_ns(struct json *j, const char *key, uint64_t ns)
{
	char words[24];

	/* more than a double holds */
	snprintf(words, sizeof(words), "%" PRIu64, ns);
	json_text(j, key, words);
}

int show_spans_json(struct json *j, const char *key, const struct spans_found *found)
{
	struct span_place *places = spans_tree(found);

	json_open(j, key, '[');
	for (size_t i = 0; places && i < found->count; i++) {
		const struct span *span = &found->at[places[i].span];

		json_open(j, NULL, '{');
		put_trace(j, span);
		put_id(j, "id", span->id);
		put_id(j, "parent", span->parent);
		json_u64(j, "depth", places[i].depth);
		json_text(j, "name", span->name);
		json_text(j, "service", span->service);
		json_text(j, "host", span->host);
		json_u64(j, "pid", span->pid);
		json_u64(j, "tid", span->tid);
		json_text(j, "kind", span_kind_name(span->kind));
		json_text(j, "status", status_name(span));
		put_ns(j, "start", span->start);
		json_u64(j, "duration", span->end - span->start);
		json_close(j, '}');
	}
	json_close(j, ']');
	free(places);
	return places ? 0 : -ENOMEM;
}

enum {
	DEPTH_SHOWN = 20
};

int show_spans_text(const struct spans_found *found, uint64_t start, FILE *out)
{
	struct span_place *places = spans_tree(found);

	for (size_t i = 0; places && i < found->count; i++) {
		const struct span *span = &found->at[places[i].span];
		bool is_before = span->start < start;
		unsigned int depth = places[i].depth < DEPTH_SHOWN ? places[i].depth : DEPTH_SHOWN;
		char after[32], took[32];

		words_value(after, sizeof(after), "ns",
			    is_before ? start - span->start : span->start - start);
		words_value(took, sizeof(took), "ns", span->end - span->start);
		fprintf(out, "%12s %s %12s  %*s", after, is_before ? "before" : "after ", took,
			2 * (int)depth, "");
		text_print_safe(out, *span->name ? span->name : NAME_UNKNOWN);
		if (*span->service) {
			fputs(" of ", out);
			text_print_safe(out, span->service);
		}
		fprintf(out, " (%s%s)\n", span_kind_name(span->kind),
			span->status == SPAN_STATUS_ERROR ? ", failed" : "");
	}
	free(places);
	return places ? 0 : -ENOMEM;
}
