/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_UPROBES_H
#define ATTACH_UPROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"

/*
 * User-space probes, many at once, in the best way that this kernel has:
 *
 *	session		entry and return by one program (6.13)
 *	multi		thousands of places with one call, a cookie each (6.6)
 *	perf events	one descriptor per place (6.1), slow to take away
 *
 * Places are attached in chunks, so that one group of them can be taken out again at the price of
 * attaching its chunk anew. All hang on descriptors of this process: however it ends, they end with
 * it.
 */
struct uprobes;
struct bpf_program;

struct uprobe_ways {
	bool session, multi;
	bool pid_filter; /* multi links can be bound to a process (right since 6.10) */
};

/* What this kernel can do. */
void uprobe_ways_probe(struct uprobe_ways *ways);

/* The programs of one source; several sources can probe the same file. */
struct uprobe_programs {
	struct bpf_program *session; /* where functions begin and return; may be null */
	struct bpf_program *site;    /* at all other places, and without sessions at those, too */
};

/* To be called between open and load: which of them are needed, and how they will be attached. */
void uprobes_prepare(const struct uprobe_programs *programs, const struct uprobe_ways *ways);

int uprobes_new(const struct uprobe_programs *programs, const struct uprobe_ways *ways,
		struct uprobes **uprobes);
/* Takes all away. */
void uprobes_free(struct uprobes *uprobes);

/* One place. */
struct uprobe_place {
	uint64_t offset; /* in the file */
	/*
	 * Where the file has a number of 16 bits that is one more while the place has a probe (a
	 * semaphore of USDT); 0: nowhere.
	 */
	uint64_t counter;
	/*
	 * Places of one group, a function's say, are refused and taken out together. Its number is
	 * the caller's, and means the same in all files.
	 */
	uint32_t group;
	enum uprobe_kind {
		UPROBE_ENTRY,
		UPROBE_ENTRY_AND_RETURN, /* session; else an entry and a return probe */
		UPROBE_EXIT_SITE,
		UPROBE_RETURN, /* where a function begins: a return probe alone */
	} kind;
	uint64_t cookie; /* what the program gets */
	/* of UPROBE_ENTRY_AND_RETURN without sessions: what it gets from each of the two probes */
	uint64_t entry_cookie, return_cookie;
};

/*
 * Attaches places of one file. path: as this process can open it (/proc/PID/map_files/… serves).
 * pid: only there, also when it executes other programs (-ESRCH: it is gone); 0: wherever the file
 * runs; where the kernel cannot do that right, all that run it are hit, and the probe itself passes
 * over those that are not meant. A child that such a process forks has its breakpoints in its
 * memory, and is slowed down by them, until it executes another program; the probe does not run for
 * it. But whether its functions, or those of another process that has probes at the same place, are
 * asked for their return is not the probe's to say then. A group with a place that
 * the kernel refuses (an instruction that it cannot handle) is left out, and counted; the rest is
 * attached. (The kernel looks at the instructions only of a file that a process has mapped. In one
 * that is mapped later, such a place stays without a probe, and nothing tells.) Places are copied.
 * Returns 0 or a negative errno with *why filled; then none of these places is attached.
 */
int uprobes_attach(struct uprobes *uprobes, const char *path, pid_t pid,
		   const struct uprobe_place *places, size_t count, struct fail *why);

/*
 * Takes away what was attached to a file for that process (0: wherever it runs). It returns before
 * the kernel has done so: probes may still run for a moment.
 */
void uprobes_detach(struct uprobes *uprobes, const char *path, pid_t pid);

/* Returns when the kernel has. */
void uprobes_wait_detached(struct uprobes *uprobes);

/*
 * Takes out all places of a group. Others of its chunk are without probes for the moment that it
 * takes, and the kernel forgets their returns that are due: calls of them that are open end when a
 * later event shows it. Returns 0 or a negative errno: then those others are out too.
 */
int uprobes_take_out(struct uprobes *uprobes, uint32_t group);

struct uprobes_counts {
	size_t attached, refused; /* places */
	size_t links;		  /* descriptors */
};
struct uprobes_counts uprobes_counts(const struct uprobes *uprobes);

#endif
