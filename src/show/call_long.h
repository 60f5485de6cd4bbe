/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_CALL_LONG_H
#define SHOW_CALL_LONG_H

#include "show/call_lines.h"

/*
 * Of the lines of calls as they happen, those of calls that last long enough. That a call does is
 * known only when it ends, or when something happens later than that; its beginning waits until
 * then, and that of a shorter one is not passed on at all. What is passed on is in order for each
 * thread.
 */
struct call_long;

/* min_time: ns. Returns 0 or -ENOMEM. */
int call_long_new(uint64_t min_time, struct call_lines *to, struct call_long **result);

/*
 * As call_lines_add(), to which it passes on; comm of the line need not live longer. Returns 0 or
 * -ENOMEM.
 */
int call_long_add(struct call_long *filter, const struct call_line *line);

void call_long_free(struct call_long *filter); /* null is allowed */

#endif
