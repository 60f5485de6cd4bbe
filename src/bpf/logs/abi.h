/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_LOGS_ABI_H
#define BPF_LOGS_ABI_H

/* What logs.bpf.c tells of what programs write to logs. */

#include "bpf/capture/abi.h"
#include "bpf/sched/object_abi.h"

enum {
	/* A part of what a call has written: a struct logs_record. */
	LOGS_WRITTEN = CAPTURE_KIND(CAPTURE_SOURCE_LOGS, 0),
	/* A file, before its other records: a struct object_told behind a capture_record. */
	LOGS_OBJECT = CAPTURE_KIND(CAPTURE_SOURCE_LOGS, 1),
};

/* The most bytes of one record, a power of two; and the most records of one call. */
#define LOGS_COPY_MAX	8192
#define LOGS_PIECES_MAX 16

/* Where it was written: enum film_log_kind of the film. */
enum logs_kind {
	LOGS_OUTPUT = 1,
	LOGS_ERROR,
	LOGS_FILE,
	LOGS_JOURNAL,
	LOGS_SYSLOG,
};

struct logs_record {
	struct capture_head head;
	struct capture_identity identity;
	__u64 file;    /* where the kernel has it: the same for all that is written there */
	__u32 object;  /* number of what it is; 0: not known */
	__u32 length;  /* bytes that the call has written, */
	__u32 offset;  /* those before these, */
	__u32 copied;  /* and those that are here */
	__u8 kind;     /* enum logs_kind */
	__u8 is_whole; /* a message by itself, as of a socket: not to be joined with others */
	__u8 is_last;  /* no more records of this call follow */
	__u8 unused[5];
	/* copied bytes */
};

#endif
