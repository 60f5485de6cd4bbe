// SPDX-License-Identifier: Apache-2.0
/*
 * Requests of Pyroscope's querier.v1: the first byte is the method, and whether the rest is JSON or
 * protobuf. What was read is then matched against a value.
 */
#include <stdlib.h>
#include <string.h>

#include "exchange/pyroscope/query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pyroscope_query query = {0};
	struct fail why = {0};
	int err;

	if (!size)
		return 0;
	err = pyroscope_query_read((enum pyroscope_method)(*data % PYROSCOPE_METHODS), *data & 0x80,
				   data + 1, size - 1, &query, &why);
	if (err && !*why.what)
		abort();
	vec_foreach (&query.matchers, matcher) {
		bool is_same = matcher->value && !matcher->regex && !err &&
			       !pyroscope_matches(matcher, matcher->value) != matcher->is_negative;

		if (is_same)
			abort();
		if (!err)
			pyroscope_matches(matcher, "shop");
	}
	if (!err && query.start && query.end && query.start >= query.end)
		abort();
	pyroscope_query_free(&query);
	return 0;
}
