/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_CALLS_REACH_H
#define SOURCES_CALLS_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"
#include "attach/uprobes.h"

/*
 * Which processes have the probes of which file.
 *
 * A probe belongs to a file: the kernel sets it into the memory of each process that maps it, and
 * one in libc slows down the whole machine. So probes are bound to processes: each target that maps
 * a file has its own. A file that only targets map, such as a server with hundreds of processes,
 * has unbound ones, which cost each process nothing, until a stranger maps it, too.
 */
struct reach;

struct reach_options {
	struct uprobes *uprobes;
	bool can_bind; /* the kernel can; else all probes are unbound */
	/* no probe is unbound; children of targets are none */
	bool only_bind;
	bool (*is_target)(void *context, pid_t pid);
	/* a process has none of the probes that it should have in an image, or had: an errno */
	void (*without)(void *context, uint32_t image, int err);
	void *context;
};

/* Returns 0 or -ENOMEM. */
int reach_new(const struct reach_options *options, struct reach **reach);
void reach_free(struct reach *reach);

/*
 * The next file; images are numbered in this order. fd: open as long as reach lives. places: are
 * taken over, and freed by free(). Nothing is attached yet. Returns 0 or -ENOMEM.
 */
int reach_add(struct reach *reach, int fd, struct uprobe_place *places, size_t count);

/*
 * Looks for strangers that map one of the files, and attaches unbound probes to those that have
 * none. *strangers: of files that must have unbound ones nevertheless (can_bind). Returns 0 or a
 * negative errno with *why filled.
 */
int reach_start(struct reach *reach, size_t *strangers, struct fail *why);

/*
 * A process maps an image, or will: it shall have its probes. Returns 1: they were set now; 2: and
 * those of others had to be set anew, so that calls of theirs were not seen; 0: it has them, or
 * there are none; -ESRCH: it is gone; -ENOSPC: too many processes have their own;
 * -EOPNOTSUPP: its first thread is gone, and the kernel binds no probes to what is left; or another
 * negative errno.
 */
int reach_process(struct reach *reach, uint32_t image, pid_t pid);

/* Does each process that maps it need probes of its own? */
bool reach_is_bound(const struct reach *reach, uint32_t image);

/*
 * Strangers run an image with unbound probes: they are bound to the targets that map it now. To be
 * called while nothing is kept (calls_on), since some calls would be seen twice. Returns 0 or a
 * negative errno: the processes could not be listed.
 */
int reach_bind(struct reach *reach, uint32_t image);

/*
 * Looks for an image with many processes that only targets map, to give it unbound probes. Returns
 * its number or UINT32_MAX.
 */
uint32_t reach_find_private(struct reach *reach);

/* Gives it those; calls as for reach_bind(). Returns 0 or a negative errno: nothing has changed. */
int reach_unbind(struct reach *reach, uint32_t image);

/* A process has ended: probes that are bound to it go, now or with a later tick. */
void reach_ended(struct reach *reach, pid_t pid);

/*
 * It has executed another program with a thread that was not its first one: what is bound to it is
 * bound to one that has ended.
 */
void reach_executed(struct reach *reach, pid_t pid);

/* About once a second. */
void reach_tick(struct reach *reach);

#endif
