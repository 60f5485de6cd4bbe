/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_LOCK_CODE_H
#define RESOLVE_LOCK_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "process/targets.h"

/*
 * What code waits in futex(2): functions that are known by their names in the image that they are
 * in. The system call alone does not tell a mutex with a timeout from a condition variable.
 */
enum lock_code {
	LOCK_CODE_NONE,	 /* none of these is on the stack */
	LOCK_CODE_EVENT, /* it waits for something to happen: a condition, the end of a thread */
	LOCK_CODE_SEMAPHORE,
	LOCK_CODE_MUTEX,
	LOCK_CODE_READ, /* of a lock for many readers or one writer */
	LOCK_CODE_WRITE,
	LOCK_CODE_RUST_MUTEX,
	LOCK_CODE_RUST_RWLOCK,
	LOCK_CODE_PARKING_LOT,
	LOCK_CODE_PYTHON,
	LOCK_CODE_PYTHON_PARKED, /* the same since 3.13: a semaphore of the thread's own */
	LOCK_CODE_GO,
	LOCK_CODE_JAVA, /* a lock of java.util.concurrent */
	LOCK_CODE_PARK, /* of Java: a thread waits for another one, for any reason */
	LOCK_CODE_UNKNOWN,
};

struct lock_codes {
	struct map images; /* a hash of what an image is: its number in ranges_of, plus one */
	vec(struct lock_ranges) ranges_of;
};

/* The innermost of these functions on a stack: its words (bpf/unwind/abi.h), leaf first. */
enum lock_code lock_code_of(struct lock_codes *codes, const struct process *process,
			    const uint64_t *words, uint32_t count);

/* The same of a function of a language runtime, by its name. */
enum lock_code lock_code_named(const char *function);

/* What a stack's frames of language runtimes are. All zero: it has none. */
struct lock_frames {
	uint32_t codes;	     /* a bit for each of enum lock_code */
	enum lock_code leaf; /* of the innermost one; LOCK_CODE_UNKNOWN: it has no name */
};

/*
 * Both together: a lock of a language is made of what waits for an event natively.
 * LOCK_CODE_UNKNOWN: a frame without a name would tell.
 */
enum lock_code lock_code_with(enum lock_code native, const struct lock_frames *frames);

void lock_codes_free(struct lock_codes *codes);

#endif
