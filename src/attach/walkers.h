/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_WALKERS_H
#define ATTACH_WALKERS_H

#include <stdint.h>

#include "base/fail.h"

/*
 * Loads the programs that walk stacks on behalf of the programs at events (bpf/capture/capture.h).
 * They are loaded without the steps of language runtimes, and once more with the step of a runtime
 * when the first process has that runtime. So an absent runtime costs nothing, and the largest
 * program has one step.
 */
struct kernel_types;
struct probes;
struct walkers;

/* Call it when the programs to load are chosen: it adds the programs that continue walks. */
void walkers_prepare(struct probes *probes);

/*
 * Loads the walkers of all loaded programs that walk stacks. Needed if a source records stacks.
 * probes: loaded; types: may be null; the caller owns both. Returns 0 or a negative errno.
 */
int walkers_new(struct probes *probes, const struct kernel_types *types, struct walkers **walkers);
void walkers_free(struct walkers *walkers);

/* For walkers_need() */
#define WALKERS_ALL UINT32_MAX

/*
 * Loads the steps of runtimes (bits of enum unwind_runtime) unless they are loaded; takes tens of
 * ms. Call it before code of these runtimes is published to the kernel side. Returns 0, or a
 * negative errno with *why filled if a step cannot be loaded: stacks then mark its frames as
 * missing, and it is not tried again. walkers may be null.
 */
int walkers_need(struct walkers *walkers, uint32_t runtimes, struct fail *why);

#endif
