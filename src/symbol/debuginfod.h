/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_DEBUGINFOD_H
#define SYMBOL_DEBUGINFOD_H

#include <stdatomic.h>

#include "symbol/debug_file.h"

/*
 * Debug files from the servers of DEBUGINFOD_URLS, through libdebuginfod, which keeps them (and
 * what no server has) in its cache directory and takes all its settings from the environment
 * (debuginfod-find(1)). On top of its limits: a transfer that stands still for 10 s is given up,
 * and after two failed connections no server is asked again by this client.
 */
struct debuginfod;

/*
 * Settings of all clients of this process, in its environment, where the library looks for them:
 * for a process that asks for long, while it has one thread. What the user has set of the last two
 * stays. 0 or -ENOMEM.
 */
struct debuginfod_settings {
	const char *urls;     /* of servers, with a space between */
	const char *cache;    /* a folder, made when it is needed */
	uint64_t bytes;	      /* of a file, as servers say it */
	unsigned int seconds; /* of a transfer */
};
int debuginfod_settings(const struct debuginfod_settings *settings);

/* Null: no memory. */
struct debuginfod *debuginfod_new(void);

/* More limits of one client; the pointers stay the caller's. */
struct debuginfod_bounds {
	const atomic_bool *stop; /* once it is set, no transfer goes on */
	/* of a file as it is written, also if its server says less; 0: no limit */
	uint64_t bytes;
	const char *cache; /* the folder of the settings, for bytes */
};
void debuginfod_bound(struct debuginfod *d, const struct debuginfod_bounds *bounds);
void debuginfod_free(struct debuginfod *d);

/*
 * Fetches the debug file of a build id, or, with program set, the program's file itself. Returns 0;
 * -ENOENT: no server has it; -EFBIG: it is too large; -ESTALE: it is another file; -ENOSYS:
 * DEBUGINFOD_URLS is not set, or the library is not here; else why the servers could not be asked.
 */
int debuginfod_fetch(struct debuginfod *d, const uint8_t *build_id, size_t build_id_size,
		     bool program, struct debug_file *found, struct fail *why);

#endif
