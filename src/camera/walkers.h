/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_WALKERS_H
#define CAMERA_WALKERS_H

#include <stdint.h>

/*
 * The programs that walk stacks: what they can do of language runtimes. For the kernel to verify
 * the steps of all runtimes takes ten times as long as the rest of such a program, and users wait
 * for it. So those of a runtime are loaded when the first process turns out to have it
 * (CAPTURE_WHOLE() in bpf/capture_unwind.h).
 */
struct kernel_types;
struct probes;
struct walkers;

/* For walkers_prepare(): nothing can be loaded later. */
#define WALKERS_ALL UINT32_MAX

/* Before the probes are loaded: which runtimes they know from the beginning, as walkers_need(). */
void walkers_prepare(struct probes *probes, uint32_t runtimes);

/* probes: loaded; types: may be null. They stay the caller's. Returns 0 or -ENOMEM. */
int walkers_new(struct probes *probes, const struct kernel_types *types, struct walkers **walkers);
void walkers_free(struct walkers *walkers);

/*
 * Before the kernel side is shown code of these runtimes (bits of enum unwind_runtime): loads their
 * steps, if they are not there. That takes some ten ms. Returns 0 or a negative errno: they cannot
 * be loaded, stacks say that frames of theirs are missing, and it is not tried again. walkers may
 * be null.
 */
int walkers_need(struct walkers *walkers, uint32_t runtimes);

#endif
