/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_MACHINE_ABI_H
#define BPF_MACHINE_ABI_H

/* The records of machine.bpf.c about requests to disks. */

#include "bpf/capture/abi.h"

enum {
	/* A request was completed: a struct machine_request. */
	MACHINE_REQUEST = CAPTURE_KIND(CAPTURE_SOURCE_MACHINE, 0),
};

#define MACHINE_DISK_NAME 32

struct machine_request {
	struct capture_head head; /* time of the completion */
	/* the thread that made the request, or, if that is not known, the thread that queued it */
	struct capture_identity identity;
	__u64 took; /* ns since then */
	__u32 bytes;
	__u8 is_write;
	__u8 is_lost; /* the thread is not known: the request was made before the recording */
	__u8 unused[2];
	char disk[MACHINE_DISK_NAME];
};

#endif
