/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_SLICES_H
#define SHOW_SLICES_H

#include <stdio.h>

#include "base/fail.h"
#include "film/reader.h"
#include "query/question.h"

/*
 * How long threads were in which state: of all, of each process and of each thread, as text and as
 * JSON. *told: how many slices. Returns 0 or a negative errno with *why filled.
 */
int show_states(struct film *film, const struct question *q, FILE *out, uint64_t *told,
		struct fail *why);
int show_states_json(struct film *film, const struct question *q, FILE *out, uint64_t *told,
		     struct fail *why);

#endif
