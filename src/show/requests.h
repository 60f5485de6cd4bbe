/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_REQUESTS_H
#define SHOW_REQUESTS_H

#include "show/show.h"

/*
 * The requests of a film: by endpoint, by whom they were made of, and the slowest, as text and as
 * JSON. As show_heatmap(); *samples: how many requests.
 */
int show_requests(struct film *film, const struct question *q, const struct show_options *options,
		  FILE *out, uint64_t *samples, struct fail *why);
int show_requests_json(struct film *film, const struct question *q,
		       const struct show_options *options, FILE *out, uint64_t *samples,
		       struct fail *why);

#endif
