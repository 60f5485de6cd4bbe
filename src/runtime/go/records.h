/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_GO_RECORDS_H
#define RUNTIME_GO_RECORDS_H

#include <stdint.h>

#include "bpf/runtime/go/abi.h"

/*
 * Where things are in the records of Go's runtime of threads (m) and goroutines (g). That is not in
 * a stripped program, so it stands here by version.
 */

/* The same in all versions, in bytes: of g, and of its sched (gobuf). */
#define GO_G_M	    48
#define GO_G_SCHED  56
#define GO_SCHED_PC 8 /* the stack pointer is the first */

/* From g's goid on. */
#define GO_GOID_REASON 24

struct go_records {
	uint32_t first, last;  /* 1.x */
	uint32_t sched_bp;     /* of sched */
	uint32_t labels, curg; /* of g, of m */
	uint32_t goid;	       /* of g */
	enum go_labels kind;   /* how labels lie in memory */
};

/* Null: that version is not known. */
const struct go_records *go_records_of(uint32_t minor);

#endif
