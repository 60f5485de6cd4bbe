/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_SLICES_H
#define SHOW_SLICES_H

#include <stdio.h>

#include "base/fail.h"
#include "film/reader.h"
#include "query/question.h"

/*
 * What the threads of a film did, slice by slice, as a trace of Perfetto: of the event of the
 * question, which has turns. *told: how many slices. 0 or a negative errno with *why filled.
 */
int show_perfetto_slices(struct film *film, const struct question *q, FILE *out, uint64_t *told,
			 struct fail *why);

/*
 * How long threads were in which state: of all, of each process and of each thread, as text and as
 * JSON. As show_perfetto_slices().
 */
int show_states(struct film *film, const struct question *q, FILE *out, uint64_t *told,
		struct fail *why);
int show_states_json(struct film *film, const struct question *q, FILE *out, uint64_t *told,
		     struct fail *why);

#endif
