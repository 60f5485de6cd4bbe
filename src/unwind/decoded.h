/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNWIND_DECODED_H
#define UNWIND_DECODED_H

#include "unwind/code_starts.h"
#include "elf/image.h"

/*
 * The functions of an image that decoding has found (code_starts.h), around the addresses that were
 * asked for. What was found is kept; how much is kept and decoded for one image is bounded. All
 * zero is empty.
 */
enum {
	DECODED_FUNCTIONS_MAX = 16 << 10,
	DECODED_CODE_MAX = 4 << 20, /* bytes of code, some 0.3 us each */
};

struct decoded {
	code_functions functions; /* sorted, not overlapping */
	size_t code;		  /* bytes that were decoded */
};

/* Code that no unwind information describes. */
struct decoded_gap {
	uint64_t start, end;
	bool is_aligned; /* functions of the image begin on borders of 16 bytes */
};

struct decoder {
	struct decoded *decoded;
	int fd; /* -1: in memory */
	struct elf_image image;
	bool is_open;
	uint64_t *known; /* sorted starts that symbols tell */
	/* sorted: where a symbol of any kind begins, or one with a size ends */
	uint64_t *borders;
	size_t known_count, border_count;
};

/* 0 or a negative errno; decoder_close() is due after both. */
int decoder_open(struct decoder *decoder, int fd, const void *memory, size_t size);
void decoder_close(struct decoder *decoder);

/* Does the code of a function that was found certainly lead to an address in it? */
bool decoder_leads_to(const struct decoder *decoder, const struct code_function *function,
		      uint64_t address);

/*
 * The function around an address of the gap. 1: *function is it, 0: not found, or a negative errno.
 */
int decoder_find(struct decoder *decoder, const struct decoded_gap *gap, uint64_t address,
		 struct code_function *function);

/* The same in a file that is not an ELF image, by its offset; the decoder needs not be opened. */
int decoder_find_lisp(struct decoder *decoder, uint64_t offset, struct code_function *function);

static inline size_t decoded_bytes(const struct decoded *decoded)
{
	return decoded->functions.count * sizeof(*decoded->functions.at);
}

void decoded_free(struct decoded *decoded);

#endif
