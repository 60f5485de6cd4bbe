// SPDX-License-Identifier: Apache-2.0
/*
 * Whether a thread that was ready to run was held back by the CPU limit of its control group. The
 * film does not say so. But the kernel gives such a group new time once in each period, which is
 * 100 ms unless an administrator changes it (Documentation/scheduler/sched-bwc.rst): threads that
 * it held back can run again at the same phase of that period each time, and others cannot.
 */
#include <math.h>

#include "query/explain_parts.h"

#define PERIOD_NS 100000000ull
#define LONG_NS	  20000000ull /* shorter ones are those of any busy machine */

enum {
	TIMES_MIN = 8,
};

/*
 * How much the directions of the phases agree, from 0 to 1: one of 300 sets of 8 random ones does.
 */
#define AGREED 0.85

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
	return part->long_count >= TIMES_MIN && part->long_ns > part->duration / 3 &&
	       hypot(part->phase_x, part->phase_y) > AGREED * (double)part->long_count;
}
