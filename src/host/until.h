/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_UNTIL_H
#define HOST_UNTIL_H

#include <stdint.h>

#include "base/fail.h"
#include "host/recorder.h"

/* How long something runs: until a signal, some time, or the recorder ends it. */

/*
 * SIGINT, SIGTERM and SIGHUP are waited for from now on: no thread is interrupted by them, for they
 * are blocked in this one and all that it starts; SIGPIPE is ignored. Returns the descriptor that
 * they are read from, or a negative errno with *why filled.
 */
int until_block_signals(struct fail *why);

/* From here on a second signal ends the process at once: its sender does not want to wait. */
void until_let_signals_end(void);

struct until {
	int signals;		   /* of until_block_signals() */
	uint64_t duration;	   /* ns; 0: any */
	struct recorder *recorder; /* null: nothing is filmed */
	/* Something beside it that may end, and what is to be done then, once, as all goes on. */
	int beside; /* can be read when it has ended; -1: there is none */
	void (*beside_ended)(void *context);
	void (*reload)(void *context); /* at SIGHUP */
	void *context;
};

/*
 * Waits, and feeds the watchdog of who started it as long as the recorder lives. Returns 0 or a
 * negative errno.
 */
int until_end(const struct until *until);

#endif
