/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_EXPLAIN_GOROUTINES_H
#define SHOW_EXPLAIN_GOROUTINES_H

#include <stdio.h>

#include "base/json.h"
#include "query/explain/goroutines.h"

/* What goroutines waited for, as text, and as the member "goroutines" of an object. */
void show_explain_goroutines(struct explainer *e, const struct explain_goroutines *goroutines,
			     FILE *out);
void put_explain_goroutines(struct json *j, struct explainer *e,
			    const struct explain_goroutines *goroutines);

#endif
