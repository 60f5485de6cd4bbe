/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_LOADED_H
#define RECORD_LOADED_H

#include <stdbool.h>

#include "base/fail.h"

/*
 * The BPF programs and maps of a recording. If the kernel refuses a program, only the source that
 * needs it is turned off; the others record.
 */
struct kernel_types;
struct probes;
struct sources;
struct walkers;

struct loading {
	/* initialised; sources whose programs are refused are turned off */
	struct sources *sources;
	unsigned int cpus, online;
	bool loads_once; /* no program can be loaded later */
	bool verbose;	 /* messages include the verifier's reason for a refusal */
	/* Reports what the recording lacks, a sentence; may be null. */
	void (*say)(void *context, const char *words);
	void *say_context;
};

/* Owns everything that it points to. */
struct loaded {
	struct kernel_types *types;
	struct probes *probes;
	struct walkers *walkers; /* null: no source records stacks */
	/* programs that start later are not held until their probes are attached */
	bool without_holds;
	bool without_mappings; /* mappings that replace code are noticed late */
};

/*
 * Opens, prepares and loads what the sources need, and sets host.probes of the sources. Returns 0,
 * or a negative errno with *why filled; call loaded_free() in both cases.
 */
int loaded_new(const struct loading *loading, struct loaded *loaded, struct fail *why);
void loaded_free(struct loaded *loaded);

#endif
