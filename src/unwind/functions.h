/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNWIND_FUNCTIONS_H
#define UNWIND_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/*
 * Where functions begin and end by the unwind information of their image, which is there also when
 * the symbols are gone. A part of a function that the compiler put elsewhere (.cold) is a function
 * of its own here. The image is hostile input.
 */

/* addresses[index] lies in the function of size bytes from start on. */
typedef void unwind_function_found(void *context, size_t index, uint64_t start, uint64_t size);

/*
 * Looks up count virtual addresses (unsorted and repeated ones are fine) in the ELF file open at fd
 * (its position is not used), or in the ELF image in memory (the vDSO), in one pass. found() is
 * called at most once for each, in any order; not for what no function covers. Returns 0, or a
 * negative errno with *why: out of memory, not an ELF file of this machine's kind, or damaged
 * beyond use.
 */
int unwind_functions_of_file(int fd, const uint64_t *addresses, size_t count,
			     unwind_function_found *found, void *context, struct fail *why);
int unwind_functions_of_memory(const void *image, size_t size, const uint64_t *addresses,
			       size_t count, unwind_function_found *found, void *context,
			       struct fail *why);

/*
 * Calls emit() with each function of the image, in the order in which the first that covers an
 * address counts.
 */
int unwind_each_function_of_file(int fd, void (*emit)(void *context, uint64_t start, uint64_t size),
				 void *context, struct fail *why);
int unwind_each_function_of_memory(const void *image, size_t size,
				   void (*emit)(void *context, uint64_t start, uint64_t size),
				   void *context, struct fail *why);

#endif
