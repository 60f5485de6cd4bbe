/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_EXPLAIN_LANES_H
#define SHOW_EXPLAIN_LANES_H

#include <stdio.h>

#include "base/json.h"
#include "query/explain/answer.h"

/*
 * What goroutines waited for, as text, and as the member "goroutines" of an object. related: of the
 * processes of what is explained, or else of all others.
 */
void show_explain_lanes(struct explainer *e, const struct explain_lanes *lanes,
			const struct explain_answer *answer, bool related, FILE *out);
void put_explain_lanes(struct json *j, struct explainer *e, const struct explain_lanes *lanes);

#endif
