/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_VALUES_H
#define SHOW_VALUES_H

#include "show/show.h"

/*
 * The calls of a film with their arguments and results. As show_heatmap(); *samples: how many
 * calls. values: added up by function and by value, and the slowest, with a heat map by one value
 * (--by arg.NAME); inspect: one by one, as 'stackcam inspect' prints them.
 */
int show_values(struct film *film, const struct question *q, const struct show_options *options,
		FILE *out, uint64_t *samples, struct fail *why);
int show_values_json(struct film *film, const struct question *q,
		     const struct show_options *options, FILE *out, uint64_t *samples,
		     struct fail *why);
int show_inspect(struct film *film, const struct question *q, const struct show_options *options,
		 FILE *out, uint64_t *samples, struct fail *why);
int show_inspect_json(struct film *film, const struct question *q,
		      const struct show_options *options, FILE *out, uint64_t *samples,
		      struct fail *why);

#endif
