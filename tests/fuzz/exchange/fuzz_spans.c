// SPDX-License-Identifier: Apache-2.0
/*
 * Spans of OTLP that a client pushes, as protobuf or, after a first byte of '{', as JSON; and their
 * tree.
 */
#include <stdlib.h>
#include <string.h>

#include "exchange/otlp/spans.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_tree(const struct otlp_spans *spans)
{
	const struct spans_found found = {.at = spans->all.at, .count = spans->all.count};
	struct span_place *places = spans_tree(&found);
	uint8_t *seen = calloc(found.count + 1, 1);

	if (!places || !seen)
		abort();
	/* each once, and no deeper than there are spans around it */
	for (size_t i = 0; i < found.count; i++)
		if (places[i].span >= found.count || seen[places[i].span]++ || places[i].depth > i)
			abort();
	free(places);
	free(seen);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct otlp_spans spans = {.now = 1800000000000000000ull};
	struct fail why;
	int err = size && *data == '{' ? otlp_spans_json(&spans, data, size, &why)
				       : otlp_spans_protobuf(&spans, data, size, &why);

	vec_foreach (&spans.all, span)
		if (strlen(span->name) > SPAN_TEXT_MAX || span->end < span->start)
			abort();
	if (!err)
		check_tree(&spans);
	otlp_spans_free(&spans);
	return 0;
}
