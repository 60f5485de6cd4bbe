/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_RUNTIME_V8_MADE_H
#define TESTS_RUNTIME_V8_MADE_H

/*
 * A heap of V8 11.3 that a test makes, object by object, and the names of frames that lead into it.
 */

#include "bpf/runtime/v8/abi.h"
#include "v8_heap.h"

/* Types of strings: how they are kept, and whether their characters have one byte. */
enum {
	TEXT_WIDE = 0x20,
	TEXT = 0x28,
	CONS = 0x29,
	EXTERNAL = 0x2a,
	UNCACHED = 0x3a,
	SLICED = 0x2b,
	THIN = 0x2d,
};

struct heap {
	_Alignas(64) uint8_t bytes[1 << 16];
	size_t used;
	uint64_t maps[512]; /* pointer to the Map of each type */
	struct v8_state state;
	struct runtime_at at;
	struct v8_reader r;
};

/* Of each test, for cmocka: *state is the heap. */
int heap_begin(void **state);
int heap_end(void **state);

void put(struct heap *heap, uint64_t pointer, size_t offset, const void *from, size_t size);
void put_word(struct heap *heap, uint64_t pointer, size_t offset, uint64_t word);

static inline uint64_t small(uint32_t value)
{
	return (uint64_t)value << 32;
}

/* Room for an object of a type; returns the pointer to it. */
uint64_t make(struct heap *heap, unsigned int type, size_t size);
uint64_t make_string(struct heap *heap, unsigned int type, uint32_t length, const void *characters,
		     size_t size);
uint64_t make_text(struct heap *heap, const char *text);
uint64_t make_script(struct heap *heap, const char *name, const char *source);
/* name: a string, or a scope */
uint64_t make_shared(struct heap *heap, uint64_t name, uint64_t script);

/*
 * Flags: a function's scope (2), a class that is saved (1 << 10), its name is there (3 << 12), a
 * guessed one (1 << 14).
 */
uint64_t make_scope(struct heap *heap, uint32_t flags, uint32_t locals, const uint64_t *behind,
		    size_t count);

/*
 * What a frame with these words is called, which the next call forgets; expected: what name_of()
 * returns.
 */
const struct runtime_names *name(struct heap *heap, uint64_t value, unsigned int variant,
				 uint64_t detail, int expected);

#endif
