/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNWIND_STARTS_H
#define UNWIND_STARTS_H

#include "base/vec.h"
#include "unwind/functions.h"

/*
 * As unwind/functions.h, for who asks again and again: to look up a few addresses takes a pass over
 * all that an image has of unwind information, so where its functions are is kept, 8 bytes for
 * each. What all images take is bounded: those that were not asked for the longest time are
 * forgotten, and an image that has more than fits is searched each time. One thread at a time. All
 * zero is empty.
 */
enum {
	STARTS_BYTES_MAX = 4 << 20,
	STARTS_OF_IMAGE_MAX = 1 << 18, /* functions */
};

struct starts_image;

struct starts {
	vec(struct starts_image) images;
	size_t bytes;
	uint64_t uses;
	uint64_t passes; /* over the unwind information of an image */
};

/* An image, by a number that no other one has. */
struct starts_of {
	uint64_t number;
	int fd; /* -1: it is in memory */
	const void *memory;
	size_t size;
};

/* is_sure: the code at start leads to the address, so that both are of one function. */
typedef void starts_guessed(void *context, size_t index, uint64_t start, bool is_sure);

/*
 * Calls found() at most once for each address that a function covers; guessed(), if it is not null,
 * for those that none covers, where decoding the code tells where their function begins
 * (decoded.h). 0 or a negative errno with *why filled.
 */
int starts_find(struct starts *starts, const struct starts_of *of, const uint64_t *addresses,
		size_t count, unwind_function_found *found, starts_guessed *guessed, void *context,
		struct fail *why);
void starts_forget(struct starts *starts, uint64_t number); /* the image is gone */
void starts_free(struct starts *starts);

#endif
