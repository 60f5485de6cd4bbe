// SPDX-License-Identifier: Apache-2.0
/*
 * Processes that hold anything: the stored ones (tests/unit/runtime), changed in any way, are
 * looked at, walked and named, as the recorder does it. Besides the frames that the walk finds,
 * words that no walk would make are named.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "stored.h"

#define READS_MAX 20000 /* of memory, for each input: a stored process needs some hundred */
#define MORE	  8	/* words */

/* The corpus is compressed, which nothing can be changed in. */
static uint8_t *expanded(const uint8_t *data, size_t size, size_t *count)
{
	uint8_t *plain = stored_expand(data, size, count);

	if (plain)
		return plain;
	plain = malloc(size + 1);
	if (plain)
		memcpy(plain, data, size);
	*count = size;
	return plain;
}

static uint64_t next(uint64_t *random)
{
	*random += 0x9e3779b97f4a7c15ull;
	return hash_u64(*random);
}

/* Frames of any runtime, at places that exist or not. */
static void make_words(struct stored *stored, uint64_t random, uint64_t words[MORE][2])
{
	const struct pieces *memory = &stored->memory;
	int i;

	for (i = 0; i < MORE; i++) {
		uint64_t value = next(&random);

		if (memory->pages.count && value % 4)
			value = memory->pages.at[value % memory->pages.count].number << 12 |
				(value >> 32 & 0xff8);
		words[i][0] = UNWIND_RUNTIME_WORD(1 + next(&random) % (UNWIND_RUNTIME_COUNT - 1),
						  next(&random) & 15, value);
		words[i][1] = next(&random) >> next(&random) % 64;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct stored_stack stack;
	struct stored_source source;
	uint64_t words[MORE][2];
	struct stored stored;
	size_t count = 0;
	uint8_t *plain = expanded(data, size, &count);

	if (!plain || stored_unpack(&stored, plain, count)) {
		free(plain);
		return 0;
	}
	stored.reads_max = READS_MAX;
	if (!stored_begin(&stored)) {
		source = stored_source(&stored);
		make_words(&stored, hash_bytes(plain, count), words);
		source.more = (const uint64_t(*)[2])words;
		source.more_count = MORE;
		stored_walk(&source, &stack);
		if (stack.endless)
			abort();
		buf_free(&stack.text);
	}
	stored_free(&stored);
	free(plain);
	return 0;
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

/* Changes what is compressed. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	size_t count = 0, room, made;
	uint8_t *plain = expanded(data, size, &count), *wider;

	(void)seed;
	if (!plain)
		return 0;
	room = count + 256;
	wider = realloc(plain, room);
	if (!wider) {
		free(plain);
		return 0;
	}
	count = LLVMFuzzerMutate(wider, count, room);
	made = ZSTD_compress(data, max_size, wider, count, 1);
	free(wider);
	return ZSTD_isError(made) ? LLVMFuzzerMutate(data, size, max_size) : made;
}
