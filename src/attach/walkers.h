/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_WALKERS_H
#define ATTACH_WALKERS_H

#include <stdint.h>

#include "base/fail.h"

/*
 * The programs that walk stacks, for those that are called where something happens
 * (bpf/capture/capture.h). They are loaded without any step of a language runtime, and once more
 * with that of each runtime when the first process turns out to have it: a runtime that no process
 * has costs nothing, and the largest program has one of them.
 */
struct kernel_types;
struct probes;
struct walkers;

/* When it is chosen which programs are loaded: what follows walks is loaded with them. */
void walkers_prepare(struct probes *probes);

/*
 * Loads the walkers of all loaded programs that walk; for where a source takes stacks. probes:
 * loaded; types: may be null. They stay the caller's. Returns 0 or a negative errno.
 */
int walkers_new(struct probes *probes, const struct kernel_types *types, struct walkers **walkers);
void walkers_free(struct walkers *walkers);

/* For walkers_need() */
#define WALKERS_ALL UINT32_MAX

/*
 * Before the kernel side is shown code of these runtimes (bits of enum unwind_runtime): loads their
 * steps, if they are not there. That takes some ten ms. Returns 0 or a negative errno: they cannot
 * be loaded, stacks say that frames of theirs are missing, and it is not tried again. *why: what
 * one of them lacks. walkers may be null.
 */
int walkers_need(struct walkers *walkers, uint32_t runtimes, struct fail *why);

#endif
