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
 * MEMORY_UNFOLLOWED; rsi: mean bytes between samples
 */
#define MEMORY_PLACE_ALLOC 1
/* rdi: an address of a sample, which is about to be given back */
#define MEMORY_PLACE_FREE 2
/* rdi: what could not be followed, one of these */
#define MEMORY_PLACE_LOST 3

/* rdi: an address that was told as about to be given back, and was not: a realloc() failed */
#define MEMORY_PLACE_KEPT 4

#define MEMORY_LOST_FREE  1 /* a sample is in use no more, which could not be told when it was so */

/* With the bytes: there was no room for the address, so its end will not be seen. */
#define MEMORY_UNFOLLOWED (1 << 63)

/* The environment: mean bytes between samples; 1: every allocation is one. */
#define MEMORY_INTERVAL_VARIABLE "STACKCAM_MEMORY_INTERVAL"
#define MEMORY_INTERVAL_USUAL	 (512 << 10)

/* Multiplied with an address: the upper half of the lower 64 bits is its place in a table. */
#define MEMORY_HASH 0x9e3779b97f4a7c15

#endif
