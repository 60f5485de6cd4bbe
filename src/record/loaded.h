/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_LOADED_H
#define RECORD_LOADED_H

#include <stdbool.h>

#include "base/fail.h"

/*
 * The programs and maps of a recording in the kernel. What the kernel refuses takes away what it is
 * for, and no more: its source is off, the others record.
 */
struct kernel_types;
struct probes;
struct sources;
struct walkers;

struct loading {
	struct sources *sources; /* made; those whose programs are refused are off afterwards */
	unsigned int cpus, online;
	bool loads_once; /* no program can be loaded later */
	bool verbose;	 /* the kernel's words for why it refuses are said, too */
	/* What the recording lacks, a sentence; may be null. */
	void (*say)(void *context, const char *words);
	void *say_context;
};

/* All its own. */
struct loaded {
	struct kernel_types *types;
	struct probes *probes;
	struct walkers *walkers; /* null: no source takes stacks */
	bool without_holds;	 /* what starts later is not held until its probes are set */
	bool without_mappings;	 /* what is mapped over code is noticed late */
};

/*
 * Opens, prepares and loads what the sources need; host.probes of the sources is set. Returns 0, or
 * a negative errno with *why filled; loaded is to be freed in both cases.
 */
int loaded_new(const struct loading *loading, struct loaded *loaded, struct fail *why);
void loaded_free(struct loaded *loaded);

#endif
