/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_HOLDS_H
#define ATTACH_HOLDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"
#include "process/select.h"

/*
 * Holds processes that execute a program or map a library until their probes are attached
 * (bpf/hold.bpf.c), or until a timeout. Kernels before 6.18 cannot hold: there the recorder is only
 * notified of programs that have already begun.
 */
struct holds;
struct probes;

/* Prefixes of the names of libraries that are held. */
struct holds_libraries {
	bool any; /* hold for any library */
	size_t count;
	const char *names[8];
};

/* Call it between open and load: sets what is held and for how long. */
void holds_prepare(struct probes *probes, const struct selection *selection,
		   const struct holds_libraries *libraries);

/* Call it instead for a recording without probes in programs. */
void holds_leave_out(struct probes *probes);

/* Starts to hold: call holds_handle() whenever camera_fd() is readable. */
int holds_start(struct probes *probes, struct holds **holds, struct fail *why);

/* From now on also holds new children, which need probes of their own. */
void holds_children(struct probes *probes);

/* Forgets the known files, because each process needs its own probes from now on. */
void holds_forget(struct probes *probes);

/* Releases all held processes, and stops holding. */
void holds_stop(struct holds *holds);

/* A held process. */
struct held {
	pid_t pid;
	bool is_program; /* it has executed the file; else it maps the file, */
	bool is_child;	 /* or it is a new child with its parent's mappings, and there is no file */
	bool by_thread;	 /* a thread other than the first has executed it, and became the first */
	bool undecided;	 /* whether the process is selected is not known yet */
	const char *comm;
	uint64_t address; /* an address in the file's first mapping */
	/* the file's device and inode in the kernel; some file systems return others to stat() */
	dev_t device;
	ino_t inode;
	uint64_t began; /* start of the hold, CLOCK_MONOTONIC, ns */
};

struct holds_listener {
	/*
	 * Attaches the probes. Returns whether the process is selected. If so, later processes with
	 * the same file are not held, unless *each is set because each process needs its own
	 * probes.
	 */
	bool (*prepare)(void *context, const struct held *held, bool *each);
	/* Called after the release. ran_ns: time that the process ran without probes; 0: none */
	void (*released)(void *context, const struct held *held, uint64_t ran_ns);
	void *context;
};

/* Prepares and releases each held process. */
void holds_handle(struct holds *holds, const struct holds_listener *listener);

struct holds_counts {
	uint64_t count;	  /* number of processes that were held until their probes were attached */
	uint64_t longest; /* longest hold, ns */
};
struct holds_counts holds_counts(const struct holds *holds);

#endif
