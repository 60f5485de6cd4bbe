/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXCHANGE_CHROME_WRITER_H
#define EXCHANGE_CHROME_WRITER_H

#include <stdio.h>

#include "query/replay.h"

/*
 * Writes the calls of a film as JSON in the Trace Event Format of Chrome: a complete event ("X")
 * for each call, with its times as they were measured, since those of a call must lie within those
 * of its caller; what is left without the tracer's cost is among its args. Returns 0 or a negative
 * errno with *why filled; a caller that closes the stream sees whether writing failed.
 */
int chrome_write_calls(struct film *film, const struct replay_question *q, FILE *out,
		       struct replay_sums *sums, struct fail *why);

#endif
