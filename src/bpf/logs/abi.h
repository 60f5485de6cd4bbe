/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_LOGS_ABI_H
#define BPF_LOGS_ABI_H

/* The records of logs.bpf.c about what programs write to logs. */

#include "bpf/capture/abi.h"
#include "bpf/sched/object_abi.h"

enum {
	/* A part of the bytes that a call has written: a struct logs_record. */
	LOGS_WRITTEN = CAPTURE_KIND(CAPTURE_SOURCE_LOGS, 0),
	/* A file, before its other records: a capture_record followed by a struct object_report. */
	LOGS_OBJECT = CAPTURE_KIND(CAPTURE_SOURCE_LOGS, 1),
};

/* Most bytes of one record, a power of two; and most records of one call. */
#define LOGS_COPY_MAX	8192
#define LOGS_PIECES_MAX 16

/* The target of a write: the film's enum film_log_kind. */
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
	__u64 file;    /* the kernel's address of the file, the same for all writes to it */
	__u32 object;  /* number of the file's LOGS_OBJECT; 0: not known */
	__u32 length;  /* bytes that the call has written */
	__u32 offset;  /* bytes of the call before these */
	__u32 copied;  /* bytes that follow */
	__u8 kind;     /* enum logs_kind */
	__u8 is_whole; /* a complete message, e.g. of a socket: do not join it with others */
	__u8 is_last;  /* the last record of this call */
	__u8 unused[5];
	/* copied bytes */
};

#endif
