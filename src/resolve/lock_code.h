/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_LOCK_CODE_H
#define RESOLVE_LOCK_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "process/targets.h"

/*
 * Classifies the code that waits in futex(2), by the names of well-known functions in their images.
 * The system call alone does not distinguish a mutex with a timeout from a condition variable.
 */
enum lock_code {
	LOCK_CODE_NONE,	 /* no such function is on the stack */
	LOCK_CODE_EVENT, /* waits for an event: a condition variable, the end of a thread */
	LOCK_CODE_SEMAPHORE,
	LOCK_CODE_MUTEX,
	LOCK_CODE_READ, /* a read-write lock, for reading */
	LOCK_CODE_WRITE,
	LOCK_CODE_RUST_MUTEX,
	LOCK_CODE_RUST_RWLOCK,
	LOCK_CODE_PARKING_LOT,
	LOCK_CODE_PYTHON,
	LOCK_CODE_PYTHON_PARKED, /* the same since Python 3.13: a semaphore per thread */
	LOCK_CODE_GO,
	LOCK_CODE_JAVA, /* a lock of java.util.concurrent */
	LOCK_CODE_PARK, /* Java: a thread parks, for any reason */
	LOCK_CODE_UNKNOWN,
};

struct lock_codes {
	struct map images; /* hash of an image's identity -> index in ranges_of + 1 */
	vec(struct lock_ranges) ranges_of;
};

/* The innermost known function on a stack. words: the stack (bpf/unwind/abi.h), leaf first. */
enum lock_code lock_code_of(struct lock_codes *codes, const struct process *process,
			    const uint64_t *words, uint32_t count);

/* The same for a function of a language runtime, by name. */
enum lock_code lock_code_named(const char *function);

/* The lock functions among a stack's frames of language runtimes. All zero: none. */
struct lock_frames {
	uint32_t codes;	     /* a set of enum lock_code */
	enum lock_code leaf; /* of the innermost frame; LOCK_CODE_UNKNOWN: it has no name */
};

/*
 * Combines both: a language's lock waits for an event in native code. LOCK_CODE_UNKNOWN: it depends
 * on a frame without a name.
 */
enum lock_code lock_code_with(enum lock_code native, const struct lock_frames *frames);

void lock_codes_free(struct lock_codes *codes);

#endif
