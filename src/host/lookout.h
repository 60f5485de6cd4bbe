/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_LOOKOUT_H
#define HOST_LOOKOUT_H

#include <stdint.h>

#include "base/fail.h"
#include "sources/happening.h"
#include "process/select.h"

/* A thread that looks each second for what no source of events tells of the programs filmed. */
struct lookout;

struct lookout_options {
	const struct selection *programs; /* borrowed, until lookout_free() */
	uint64_t queue;			  /* ns that an accept queue is full for; 0: no matter */
	uint32_t cpu; /* percent of a CPU that a process takes beyond what is usual; the same */
	/*
	 * percent of the time that threads wait for memory or disks beyond what is usual; the same
	 */
	uint32_t pressure;
	struct happening_listener listener; /* called by that thread */
};

/*
 * The thread inherits the privileges of the moment: to find whose a socket is, it needs those of
 * the recorder. *result is null after an error, and where there is nothing to look for.
 */
int lookout_start(const struct lookout_options *options, struct lookout **result, struct fail *why);

/* Ends the thread, and waits for that. Takes null, too. */
void lookout_free(struct lookout *lookout);

#endif
