/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_HOLD_ABI_H
#define BPF_HOLD_ABI_H

/*
 * What hold.bpf.c and user space tell each other of a program that is held: it has executed a file,
 * or mapped one, that has no probes yet.
 */

#include "bpf/capture/abi.h"

/* Holds that can be under way at the same time; more are not held, and counted. A power of 2. */
#define HOLD_SLOTS 64

/* Files that need no hold any more; those that were not used for longest are forgotten. */
#define HOLD_KNOWN_MAX 8192

enum hold_kind {
	/* the process has executed the file, and has not run one of its instructions */
	HOLD_EXEC = 1,
	HOLD_FORK, /* it was just born; there is no file */
	HOLD_MAP,  /* it has mapped the beginning of an ELF file, and does not know yet where */
};

/*
 * A slot is taken by the kernel side and goes from one state to the next by atomic exchanges on
 * shared memory, so that both sides agree on how each hold ended:
 *
 *	FREE -> TAKEN -> WAITING -> GO (user space) -> FREE (kernel)
 *	                         -> EXPIRED (kernel) -> FREE (user space)
 */
enum hold_state {
	HOLD_FREE,
	HOLD_TAKEN,
	HOLD_WAITING,
	HOLD_GO,
	HOLD_EXPIRED,
};

/* A file as the kernel knows it; only compared. */
struct hold_file {
	__u64 inode;
	__u32 device, generation;
};

/* A process that is held. */
struct hold_slot {
	__u32 state; /* enum hold_state */
	__u32 kind;  /* enum hold_kind */
	__u32 pid;
	__u32 undecided; /* user space must decide whether this process is meant at all */
	__u32 by_thread; /* another thread than the first one has executed it, and become that */
	__u32 unused;
	__u64 address; /* a place in the file's first mapping */
	struct hold_file file;
	__u64 began, ended; /* CLOCK_MONOTONIC; ended: of one that has expired */
	char comm[16];
};

#endif
