/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INJECT_MEMORY_PLACES_H
#define INJECT_MEMORY_PLACES_H

/*
 * What libstackcam-memory.so and the recorder agree on; also for the assembler.
 *
 * stackcam_memory_places is a table in the library: pairs of 64-bit numbers, the distance of a
 * probe from the table's beginning, and what is seen there; it ends with a pair of zeros.
 */
#define MEMORY_LIBRARY	     "libstackcam-memory.so"
#define MEMORY_PLACES_SYMBOL "stackcam_memory_places"

/*
 * rdi: an address that has been allocated; rdx: the bytes that were asked for, at least 1, with
 * MEMORY_UNFOLLOWED; rsi: mean bytes between samples; r8: the bytes alone; r9: what they stand for
 */
#define MEMORY_PLACE_ALLOC 1
/* rdi: an address of a sample, which is about to be given back */
#define MEMORY_PLACE_FREE 2
/* rdi: an address that was told as about to be given back, and was not: a realloc() failed */
#define MEMORY_PLACE_KEPT 4

/* of libstackcam-java.so; rdi: a name of its own; rsi: see above; rdx: the bytes; rcx: its class */
#define MEMORY_PLACE_OBJECT 5

/* With the bytes: there was no room for the address, so its end will not be seen. */
#define MEMORY_UNFOLLOWED (1 << 63)

/* The environment: mean bytes between samples; 1: every allocation is one. */
#define MEMORY_INTERVAL_VARIABLE "STACKCAM_MEMORY_INTERVAL"
#define MEMORY_INTERVAL_USUAL	 (512 << 10)

/*
 * How a thread finds what it has of its own, where the library has no thread-local storage: its
 * thread pointer, multiplied, shifted and masked, is the distance from the beginning of a table of
 * 4096 slots of 64 bytes.
 */
#define MEMORY_THREADS	    4096
#define MEMORY_THREAD_HASH  0x61c88647
#define MEMORY_THREAD_SHIFT 40
#define MEMORY_THREAD_MASK  0x3ffc0

/*
 * stackcam_memory_entries: what a recorder needs that puts the library into a running process, as
 * 64-bit distances from the table's beginning:
 */
#define MEMORY_ENTRIES_SYMBOL "stackcam_memory_entries"
#define MEMORY_ENTRY_START    0 /* memory_start(): takes the mean bytes between samples */
#define MEMORY_ENTRY_HOOK     1 /* slots_change(array of struct memory_slot, its length) */
#define MEMORY_ENTRY_STATE    2 /* struct memory_state */
/*
 * From here on pairs: a function of the program's allocator as the library has it, and the word
 * that is to have the address of the one behind it, in the order of MEMORY_FUNCTIONS.
 */
#define MEMORY_ENTRY_FUNCTIONS 3
#define MEMORY_C_FUNCTIONS     10
/* and behind them those of CPython's domains OBJ and MEM: malloc, calloc, realloc of each */
#define MEMORY_PYTHON_FUNCTIONS 3
#define MEMORY_FUNCTIONS	(MEMORY_C_FUNCTIONS + 2 * MEMORY_PYTHON_FUNCTIONS)
#define MEMORY_ENTRIES		(MEMORY_ENTRY_FUNCTIONS + 2 * MEMORY_FUNCTIONS)

/* C++'s operators new, and all with those that delete. */
#define MEMORY_OPERATORS_NEW 8
#define MEMORY_OPERATORS     20

/* Where a struct memory_table has its filter. */
#define MEMORY_FILTER 48

#ifndef __ASSEMBLER__
#include <stdint.h>

struct memory_state {
	uint64_t granted;    /* samples that it may take; UINT64_MAX: any number */
	uint64_t taken;	     /* since memory_start() */
	uint64_t is_ready;   /* 1: memory_start() was called; 2: the program calls it, or did */
	uint64_t owner;	     /* the recorder, if it put the library there: its process, */
	uint64_t owner_born; /* and when that began, as /proc/PID/stat says it */
};

/* A word that has the address of a function. */
struct memory_slot {
	uint64_t address;
	uint64_t from, to;  /* it is changed only if it has from */
	int32_t protection; /* of its page, as of mmap(2) */
	int32_t result;	    /* 0: done; -EAGAIN: it had another one; other errnos, negative */
};

/* The allocator's functions, in their order, without CPython's. */
#define MEMORY_FUNCTION_NAMES                                                         \
	{                                                                             \
		"malloc", "calloc", "valloc", "pvalloc", "memalign", "aligned_alloc", \
			"posix_memalign", "realloc", "reallocarray", "free"           \
	}
#endif

/*
 * Multiplied with an address: the upper half of the lower 64 bits is its place in a table. It fits
 * into an instruction.
 */
#define MEMORY_HASH 0x61c88647

/* The largest that CPython's pools serve. */
#define MEMORY_POOLS_MAX 512

#endif
