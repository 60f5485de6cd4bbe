/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXCHANGE_SPEEDSCOPE_WRITER_H
#define EXCHANGE_SPEEDSCOPE_WRITER_H

#include <stdio.h>

#include "query/flame.h"
#include "query/report.h"

/*
 * Profiles for speedscope: stacks with their weights, in the order of the flame, not of time. A
 * comparison becomes two profiles: the film before, scaled to the total of the later one, and the
 * later one. Each function returns 0 or -ENOMEM; a caller that closes the stream sees whether
 * writing failed.
 */
int speedscope_write_report(const struct report *report, FILE *out);
int speedscope_write_flame(const struct flame *flame, FILE *out);

#endif
