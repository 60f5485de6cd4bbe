/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_UPROBES_H
#define ATTACH_UPROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"

/*
 * Attaches many user-space probes at once, in the best way that this kernel has:
 *
 *	session		entry and return by one program (6.13)
 *	multi		thousands of places with one call, a cookie each (6.6)
 *	perf events	one descriptor per place (6.1), slow to take away
 *
 * Places are attached in chunks, so that a group of places can be removed again by attaching only
 * its chunk anew. Probes live as long as this process's descriptors: they end with it, however it
 * ends.
 */
struct uprobes;
struct bpf_program;

struct uprobe_ways {
	bool session, multi;
	bool pid_filter; /* multi links can be limited to a process (correct since 6.10) */
};

/* Finds out what this kernel supports. */
void uprobe_ways_probe(struct uprobe_ways *ways);

/* The programs of one source. Several sources may probe the same file. */
struct uprobe_programs {
	struct bpf_program *session; /* for entries and returns of functions; may be null */
	/* for all other places, and, without sessions, also for those */
	struct bpf_program *site;
};

/*
 * Call it between open and load: sets which of the programs are loaded, and how they will be
 * attached. ways, here and below: null: those of this kernel.
 */
void uprobes_prepare(const struct uprobe_programs *programs, const struct uprobe_ways *ways);

int uprobes_new(const struct uprobe_programs *programs, const struct uprobe_ways *ways,
		struct uprobes **uprobes);
/* Removes all probes. */
void uprobes_free(struct uprobes *uprobes);

/* A place to probe. */
struct uprobe_place {
	uint64_t offset; /* in the file */
	/*
	 * Offset of a 16-bit counter in the file (a USDT semaphore), which is incremented while the
	 * place has a probe; 0: none.
	 */
	uint64_t counter;
	/*
	 * Places of one group, e.g. of one function, are refused and removed together. The caller
	 * chooses the number, which identifies the same group in all files.
	 */
	uint32_t group;
	enum uprobe_kind {
		/* a session; without sessions an entry and a return probe */
		UPROBE_ENTRY,
		UPROBE_ENTRY_AND_RETURN,
		/* a return probe alone; the place is the function's beginning */
		UPROBE_EXIT_SITE,
		UPROBE_RETURN,
	} kind;
	uint64_t cookie; /* passed to the program */
	/* for UPROBE_ENTRY_AND_RETURN without sessions: cookies of the two probes */
	uint64_t entry_cookie, return_cookie;
};

/*
 * Attaches places of one file. Places are copied. path: a path that this process can open
 * (/proc/PID/map_files/… works). pid: only in that process, also after it executes another program
 * (-ESRCH: it has ended); 0: in all processes. If the kernel cannot limit probes to a process
 * correctly, they hit all processes, and the program skips those that are not selected. A child
 * that a limited process forks has the breakpoints in its memory and is slowed down until it
 * executes another program, but the program does not run for it. In that child, and in another
 * process with probes at the same place, the program cannot prevent return probes. If the kernel
 * refuses a place (an instruction that it cannot handle), its group is left out and counted; the
 * rest is attached. (The kernel checks only instructions of files that a process has mapped. In a
 * file that is mapped later, such a place silently stays without a probe.) Returns 0, or a negative
 * errno with *why filled, and none of these places is attached.
 */
int uprobes_attach(struct uprobes *uprobes, const char *path, pid_t pid,
		   const struct uprobe_place *places, size_t count, struct fail *why);

/*
 * Removes what was attached to a file for that pid (0: for all processes). Returns before the
 * kernel has finished: probes may still run for a moment.
 */
void uprobes_detach(struct uprobes *uprobes, const char *path, pid_t pid);

/* Waits until the kernel has finished all removals. */
void uprobes_wait_detached(struct uprobes *uprobes);

/*
 * Removes all places of a group. Meanwhile the other places of its chunk have no probes, and the
 * kernel forgets their pending returns: their open calls end when a later event shows that. Returns
 * 0, or a negative errno: then the other places of the chunk are removed, too.
 */
int uprobes_remove_group(struct uprobes *uprobes, uint32_t group);

struct uprobes_counts {
	size_t attached, refused; /* places */
	size_t links;		  /* descriptors */
};
struct uprobes_counts uprobes_counts(const struct uprobes *uprobes);

#endif
