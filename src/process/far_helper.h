/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_FAR_HELPER_H
#define PROCESS_FAR_HELPER_H

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * The process that touches far files (base/far_file.h) for the recorder. Its first thread answers,
 * and never waits for a file; others do what is asked, each for one question at a time. A file
 * system that has not answered within FAR_LIMIT_NS hangs: its question is answered by -ETIMEDOUT,
 * and so are all others about it, at once, until the thread that waits for it comes back. So a file
 * system costs the recorder that time once, and the helper one thread.
 *
 * A process and not threads of the recorder: a thread that waits in the kernel for a file system
 * can keep its process from ending, and a descriptor of a file there is waited for when it is
 * closed. The helper ends with its control socket, or as soon as the file system lets it.
 */
#define FAR_LIMIT_NS 1000000000ull

/* File systems that may hang at a time; with more of them all others are refused. */
#define FAR_WORKERS 16

/* What is asked through the control socket. */
enum far_order_verb {
	FAR_OPEN = 1, /* place, and the helper's end of the socket that stands for the file */
	FAR_WALK,     /* a directory: opens path below it, by O_PATH */
	/* nothing: reads memory of a process, which its file system may have to bring */
	FAR_MEMORY,
};

struct far_order {
	uint64_t number, device;
	uint64_t flags, resolve; /* FAR_WALK: as in struct open_how */
	uint64_t address, size;	 /* FAR_MEMORY */
	int32_t pid;
	uint32_t verb;
	char path[PATH_MAX]; /* FAR_OPEN: for messages */
};

/* The answer: behind it, of FAR_WALK a descriptor, of FAR_MEMORY the bytes. */
struct far_done {
	uint64_t number;
	int64_t result;
	struct stat st; /* FAR_OPEN */
};

/* What the helper shows, in memory that both have. Only the helper writes. */
struct far_board {
	_Atomic uint64_t refused; /* questions that were not answered, so far */
	_Atomic uint64_t hangs;	  /* file systems that stopped to answer, so far, */
	_Atomic uint64_t returns; /* and that answered at last */
	struct far_slot {
		_Atomic uint64_t since; /* ns of CLOCK_MONOTONIC; 0: nothing hangs here */
		uint64_t device;
		char path[256]; /* that was asked for */
	} slots[FAR_WORKERS];
};

/* Serves until the control socket is closed; never returns. */
_Noreturn void far_helper_run(int control, struct far_board *board);

#endif
