/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_KEPT_H
#define CMD_KEPT_H

#include <stdbool.h>
#include <stdint.h>

/* What a recording has of what happened. Zeros: it failed before, and nothing is known. */
struct kept {
	uint64_t kept, lost;
	bool nothing_matched; /* nor was there anything to lose: no function had a probe */
};

/*
 * The exit status of a recording whose status would be `status`: if all was lost, or nothing could
 * be recorded, this is said on standard error, and a status of 0 becomes EXIT_FAILURE. what:
 * "calls" or "samples".
 */
int kept_exit_status(int status, const struct kept *kept, const char *what);

#endif
