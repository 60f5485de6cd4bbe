/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_SPANS_H
#define SHOW_SPANS_H

#include "base/json.h"
#include "query/spans.h"

/* The member `key`: an array of spans, in the order of their tree. 0 or -ENOMEM. */
int show_spans_json(struct json *j, const char *key, const struct spans_found *found);

/*
 * A line each, in the order of their tree: when it began after `start` (ns since 1970), how long it
 * took, its name. 0 or -ENOMEM.
 */
int show_spans_text(const struct spans_found *found, uint64_t start, FILE *out);

#endif
