/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_MACHINE_H
#define SHOW_MACHINE_H

#include <stdio.h>

#include "base/json.h"
#include "query/machine.h"
#include "query/question.h"
#include "show/show.h"

/*
 * What the machine did beside its threads, as show_heatmap() is called: *rows becomes how many
 * gauges there are.
 */
int show_machine(struct film *film, const struct question *q, const struct show_options *options,
		 FILE *out, uint64_t *rows, struct fail *why);
int show_machine_json(struct film *film, const struct question *q,
		      const struct show_options *options, FILE *out, uint64_t *rows,
		      struct fail *why);

/* The same as a part of other answers: nothing, or "machine": null, where the film has none. */
int show_machine_part(struct film *film, const struct question *q, FILE *out, struct fail *why);
int json_put_machine_of(struct json *j, struct film *film, const struct question *q,
			struct fail *why);

/* Gauges, notes and threads of an answer that is open. has_steps: with the values of the steps. */
void json_put_machine(struct json *j, const struct machine *machine, bool has_steps);

#endif
