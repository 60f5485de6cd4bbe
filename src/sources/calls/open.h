/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_CALLS_OPEN_H
#define SOURCES_CALLS_OPEN_H

#include "bpf/capture/abi.h"

struct probes;

/*
 * Gives what the kernel side still holds of each thread, once all probes are gone and the rings are
 * empty: CAPTURE_TRACK records, calls that had ended and were not sent yet, and then those that are
 * open (CALLS_OPEN), innermost first. The records live until emit() returns. Returns 0 or a
 * negative errno.
 */
int open_calls_read(struct probes *probes,
		    void (*emit)(void *context, const struct capture_head *head), void *context);

#endif
