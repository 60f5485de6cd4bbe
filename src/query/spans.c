// SPDX-License-Identifier: Apache-2.0
#include "query/spans.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"

const char *span_kind_name(unsigned int kind)
{
	static const char *const names[] = {
		[SPAN_KIND_UNKNOWN] = "unknown",   [SPAN_KIND_INTERNAL] = "internal",
		[SPAN_KIND_SERVER] = "server",	   [SPAN_KIND_CLIENT] = "client",
		[SPAN_KIND_PRODUCER] = "producer", [SPAN_KIND_CONSUMER] = "consumer",
	};

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : names[0];
}

bool span_trace_parse(const char *text, uint8_t trace[SPAN_TRACE])
{
	return strlen(text) == 2ul * SPAN_TRACE && text_parse_hex(text, 2ul * SPAN_TRACE, trace);
}

void span_id_words(const uint8_t id[SPAN_ID], char words[2 * SPAN_ID + 1])
{
	for (size_t i = 0; i < SPAN_ID; i++)
		snprintf(words + 2 * i, 3, "%02x", id[i]);
}

void spans_found_free(struct spans_found *found)
{
	free(found->at);
	name_pool_free(&found->names);
	*found = (struct spans_found){0};
}

struct tree {
	const struct spans_found *found;
	uint32_t *parent, *first, *next; /* places and 1; 0: none */
	struct span_place *places;
};

static uint64_t key_of(const struct span *span, const uint8_t id[SPAN_ID])
{
	return hash_u64(hash_bytes(span->trace, SPAN_TRACE) ^ hash_bytes(id, SPAN_ID)) | 1;
}

static bool find_parents(struct tree *t)
{
	const struct spans_found *found = t->found;
	static const uint8_t none[SPAN_ID];
	struct map by_id = {0};
	bool ok = true;

	for (size_t i = 0; ok && i < found->count; i++)
		ok = map_put(&by_id, key_of(&found->at[i], found->at[i].id), i + 1);
	for (size_t i = 0; ok && i < found->count; i++) {
		const struct span *span = &found->at[i], *of;
		const uint64_t *known = memcmp(span->parent, none, SPAN_ID)
						? map_get(&by_id, key_of(span, span->parent))
						: NULL;

		of = known ? &found->at[*known - 1] : NULL;
		/* (a hash alone does not make one a parent) */
		if (of && *known != i + 1 && !memcmp(of->id, span->parent, SPAN_ID) &&
		    !memcmp(of->trace, span->trace, SPAN_TRACE))
			t->parent[i] = (uint32_t)*known;
	}
	map_free(&by_id);
	return ok;
}

/* Spans that are parents of each other, round and round, have none from then on. */
static void cut_circles(struct tree *t)
{
	uint8_t *seen = (uint8_t *)t->first; /* not used yet, and long enough */
	enum {
		NEW,
		ON_THE_WAY,
		DONE
	};

	for (size_t i = 0; i < t->found->count; i++) {
		size_t at = i;

		while (seen[at] == NEW && t->parent[at]) {
			size_t next = t->parent[at] - 1;

			seen[at] = ON_THE_WAY;
			if (seen[next] == ON_THE_WAY)
				t->parent[at] = 0;
			else
				at = next;
		}
		for (at = i; seen[at] != DONE; at = t->parent[at] - 1) {
			seen[at] = DONE;
			if (!t->parent[at])
				break;
		}
	}
	memset(t->first, 0, t->found->count * sizeof(*t->first));
}

/* Depth first, without recursion: a span's next one is its first child, or who comes behind it. */
static void place_all(struct tree *t)
{
	size_t count = t->found->count, placed = 0;
	uint32_t depth = 0, top = 0;

	for (size_t i = count; i-- > 0;) {
		uint32_t *of = t->parent[i] ? &t->first[t->parent[i] - 1] : &top;

		t->next[i] = *of;
		*of = (uint32_t)i + 1;
	}
	for (uint32_t at = top; at && placed < count;) {
		t->places[placed++] = (struct span_place){at - 1, depth};
		if (t->first[at - 1]) {
			at = t->first[at - 1];
			depth++;
			continue;
		}
		while (at && !t->next[at - 1]) {
			at = t->parent[at - 1];
			depth -= at != 0;
		}
		at = at ? t->next[at - 1] : 0;
	}
}

struct span_place *spans_tree(const struct spans_found *found)
{
	struct tree t = {.found = found};
	size_t count = found->count + 1;
	bool ok;

	t.parent = calloc(count, sizeof(*t.parent));
	t.first = calloc(count, sizeof(*t.first));
	t.next = calloc(count, sizeof(*t.next));
	t.places = calloc(count, sizeof(*t.places));
	ok = t.parent && t.first && t.next && t.places && find_parents(&t);
	if (ok) {
		cut_circles(&t);
		place_all(&t);
	} else {
		free(t.places);
		t.places = NULL;
	}
	free(t.parent);
	free(t.first);
	free(t.next);
	return t.places;
}
