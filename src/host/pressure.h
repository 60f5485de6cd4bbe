/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PRESSURE_H
#define HOST_PRESSURE_H

#include <stdbool.h>
#include <stdint.h>

#include "sources/happening.h"
#include "host/usual.h"

/*
 * For which part of the time threads of the machine waited for memory, and for disks: the kernel's
 * pressure stall information (Documentation/accounting/psi.rst), line "some". A kernel without it
 * has no such files: then nothing is ever reported.
 */
enum {
	PRESSURE_MEMORY,
	PRESSURE_DISKS,
	PRESSURES,
};

struct pressure {
	struct pressure_of {
		bool is_known;
		uint64_t total; /* us, at the last look */
		uint64_t at;	/* ns of that */
		struct usual usual;
	} of[PRESSURES];
};

/*
 * Looks, about once a second, and reports each that jumped (host/usual.h) by `more` percent of the
 * time. folder: "/proc/pressure". now: ns of the monotonic clock.
 */
void pressure_look(struct pressure *pressure, const char *folder, uint64_t now, uint32_t more,
		   const struct happening_listener *listener);

#endif
