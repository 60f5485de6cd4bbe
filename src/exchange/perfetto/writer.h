/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXCHANGE_PERFETTO_WRITER_H
#define EXCHANGE_PERFETTO_WRITER_H

#include <stdio.h>

#include "query/question.h"
#include "query/replay.h"

/*
 * Traces of Perfetto on the monotonic clock. Each function returns 0 or a
 * negative errno with *why filled; a caller that closes the stream sees whether writing failed.
 */

/* The calls of a film, with their times as they were measured (exchange/chrome/writer.h). */
int perfetto_write_calls(struct film *film, const struct replay_question *q, FILE *out,
			 struct replay_sums *sums, struct fail *why);

/*
 * What the threads of a film did, slice by slice, of the question's event, which has turns; and the
 * machine's gauges and, if the question names no event, all samples. *told: how many slices.
 */
int perfetto_write_slices(struct film *film, const struct question *q, FILE *out, uint64_t *told,
			  struct fail *why);

/*
 * The samples of the question's event, or of each event that has any, of which Perfetto makes flame
 * graphs. *samples: how many.
 */
int perfetto_write_samples(struct film *film, const struct question *q, FILE *out,
			   uint64_t *samples, struct fail *why);

#endif
