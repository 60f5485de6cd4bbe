// SPDX-License-Identifier: Apache-2.0
/*
 * Whether a thread that was ready to run was held back by the CPU limit of its control group. The
 * film does not say so. But the kernel gives such a group new time once in each period, which is
 * 100 ms unless an administrator changes it (Documentation/scheduler/sched-bwc.rst): threads that
 * it held back can run again at the same phase of that period each time, and others cannot.
 */
#include <math.h>

#include "query/explain/parts.h"

#define PERIOD_NS 100000000ull
#define LONG_NS	  20000000ull /* shorter ones are those of any busy machine */

/*
 * Directions that have nothing to do with each other have a mean of length r with the probability
 * exp(-n r r), by Rayleigh's test; what other threads do moves some ends of those that do.
 */
#define CERTAINTY 8 /* 1 of 3000 by chance */
#define AGREED	  0.6

void explain_throttle_add(struct explain_part *part, uint64_t start, uint64_t end)
{
	double phase = 2 * M_PI * (double)(end % PERIOD_NS) / (double)PERIOD_NS;

	if (end - start < LONG_NS)
		return;
	part->long_ns += end - start;
	part->long_count++;
	part->phase_x += cos(phase);
	part->phase_y += sin(phase);
}

bool explain_is_throttled(const struct explain_part *part)
{
	double count = (double)part->long_count, mean;

	if (!part->long_count || part->long_ns < part->duration / 3)
		return false;
	mean = hypot(part->phase_x, part->phase_y) / count;
	return mean > AGREED && count * mean * mean > CERTAINTY;
}
