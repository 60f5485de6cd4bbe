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
 * Programs, and libraries that they map, are held until their probes are set (bpf/hold.bpf.c), or
 * as long as is allowed. Where the kernel cannot hold them (before 6.18), the recorder learns
 * of programs that have begun.
 */
struct holds;
struct probes;

/* Of libraries, only those are held whose names begin with one of these. */
struct holds_libraries {
	bool any; /* all are held, under any name */
	size_t count;
	const char *names[8];
};

/* To be called between open and load: what is held, and for how long. */
void holds_prepare(struct probes *probes, const struct selection *selection,
		   const struct holds_libraries *libraries);

/* Instead, for a recording that sets no probes into programs. */
void holds_leave_out(struct probes *probes);

/* From here on programs are held: holds_take() must be called when camera_fd() is readable. */
int holds_start(struct probes *probes, struct holds **holds, struct fail *why);

/* From now on, children are held when they are born: they need probes of their own. */
void holds_children(struct probes *probes);

/* Files that were known need another look: each process needs its own probes from now on. */
void holds_forget(struct probes *probes);

/* Lets all go, and holds no more. */
void holds_stop(struct holds *holds);

/* A process that waits. */
struct held {
	pid_t pid;
	bool is_program; /* it has executed the file; else it maps it, */
	bool is_child;	 /* or it was just born, with all that its parent maps: there is no file */
	bool by_thread;	 /* another thread than the first one has executed it, and become that */
	bool undecided;	 /* whether it is meant has to be asked */
	const char *comm;
	uint64_t address; /* in the file's first mapping */
	/* of the file, as the kernel has it: some file systems say another one to stat() */
	dev_t device;
	ino_t inode;
	uint64_t began; /* CLOCK_MONOTONIC, ns */
};

struct holds_listener {
	/*
	 * Sets the probes. Returns whether the process is meant: only then its file is known from
	 * now on; unless *each is set, since each process that has the file needs its own probes.
	 */
	bool (*prepare)(void *context, const struct held *held, bool *each);
	/* ran_ns: how long it has run without its probes; 0: it was held all the time */
	void (*released)(void *context, const struct held *held, uint64_t ran_ns);
	void *context;
};

/* Lets each process that waits go, once it is prepared. */
void holds_take(struct holds *holds, const struct holds_listener *listener);

struct holds_counts {
	uint64_t count;	  /* until their probes were set */
	uint64_t longest; /* ns, of all */
};
struct holds_counts holds_counts(const struct holds *holds);

#endif
