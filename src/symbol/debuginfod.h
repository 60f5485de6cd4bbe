/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_DEBUGINFOD_H
#define SYMBOL_DEBUGINFOD_H

#include "symbol/debug_file.h"

/*
 * Debug files from the servers of DEBUGINFOD_URLS, through libdebuginfod, which keeps them (and
 * what no server has) in its cache directory and takes all its settings from the environment
 * (debuginfod-find(1)). On top of its limits: a transfer that stands still for 10 s is given up,
 * and after two failed connections no server is asked again by this client.
 */
struct debuginfod;

/* Null: no memory. */
struct debuginfod *debuginfod_new(void);
void debuginfod_free(struct debuginfod *d);

/*
 * Fetches the debug file of a build id, or, with program set, the program's file itself. Returns 0;
 * -ENOENT: no server has it; -ENOSYS: DEBUGINFOD_URLS is not set; else why the servers could not be
 * asked.
 */
int debuginfod_fetch(struct debuginfod *d, const uint8_t *build_id, size_t build_id_size,
		     bool program, struct debug_file *found, struct fail *why);

#endif
