/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_OTEL_ABI_H
#define BPF_RUNTIME_OTEL_ABI_H

/*
 * What programs publish of their threads (OTEP 4947, "Thread Context"), as the kernel side has it.
 */

#include "bpf/capture/tls_abi.h"
#include "bpf/unwind/abi.h"

/* A process's block of data: where its threads have the pointer to their record. */
struct otel_data {
	struct tls_place place;
};

/* The record, as the document packs it; its attributes follow. */
struct otel_record {
	__u8 trace[16], span[8];
	__u8 valid; /* 1: it is; all else is reserved */
	__u8 flags;
	__u16 size; /* bytes of attributes */
};

/*
 * Most bytes of attributes that are looked at, a multiple of 8. Records are recommended to stay at
 * or under 640 bytes.
 */
#define OTEL_ATTRIBUTES_MAX 608

struct otel_head {
	__u64 ids[3]; /* trace and span, byte by byte, if they are wanted; else zero */
	__u64 size;   /* as the record has it: more than are kept, if it is cut */
};

/* What is kept for the naming of a record's labels (kept.h). */
struct otel_kept {
	struct otel_head head;
	__u8 attributes[OTEL_ATTRIBUTES_MAX];
};

#endif
