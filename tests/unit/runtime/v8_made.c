// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include "v8_made.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BASE 0x100000ull

static int read_heap(void *context, void *to, size_t size, uint64_t address)
{
	struct heap *heap = context;

	if (address < BASE || address - BASE > sizeof(heap->bytes) ||
	    size > sizeof(heap->bytes) - (address - BASE))
		return -EFAULT;
	memcpy(to, heap->bytes + (address - BASE), size);
	return 0;
}

int heap_begin(void **state)
{
	struct heap *heap = calloc(1, sizeof(*heap));

	if (!heap)
		return -1;
	heap->at.facts = &v8_facts_11_3;
	heap->at.memory = (struct runtime_memory){read_heap, heap};
	heap->r = (struct v8_reader){&heap->at, &v8_facts_11_3, &heap->state};
	*state = heap;
	return 0;
}

int heap_end(void **state)
{
	struct heap *heap = *state;

	v8_scripts_forget(&heap->state);
	vec_free(&heap->state.scripts);
	free(heap);
	return 0;
}

void put(struct heap *heap, uint64_t pointer, size_t offset, const void *from, size_t size)
{
	memcpy(heap->bytes + (pointer - 1 - BASE) + offset, from, size);
}

void put_word(struct heap *heap, uint64_t pointer, size_t offset, uint64_t word)
{
	put(heap, pointer, offset, &word, sizeof(word));
}

uint64_t make(struct heap *heap, unsigned int type, size_t size)
{
	uint64_t pointer = BASE + heap->used + 1;
	uint16_t number = (uint16_t)type;

	heap->used += (size + 15) & ~(size_t)15;
	assert_true(heap->used <= sizeof(heap->bytes));
	if (type < 512 && !heap->maps[type]) {
		heap->maps[type] = pointer;
		heap->used += 64;
		put(heap, pointer, 12, &number, sizeof(number));
		pointer = BASE + heap->used + 1;
		heap->used += (size + 15) & ~(size_t)15;
	}
	put_word(heap, pointer, 0, heap->maps[type]);
	return pointer;
}

uint64_t make_string(struct heap *heap, unsigned int type, uint32_t length, const void *characters,
		     size_t size)
{
	uint64_t pointer = make(heap, type, 32 + size);

	put(heap, pointer, 12, &length, sizeof(length));
	if (size)
		put(heap, pointer, 16, characters, size);
	return pointer;
}

uint64_t make_text(struct heap *heap, const char *text)
{
	return make_string(heap, TEXT, (uint32_t)strlen(text), text, strlen(text));
}

uint64_t make_script(struct heap *heap, const char *name, const char *source)
{
	uint64_t script = make(heap, 167, 128);

	put_word(heap, script, 8, make_text(heap, source));
	put_word(heap, script, 16, make_text(heap, name));
	return script;
}

uint64_t make_shared(struct heap *heap, uint64_t name, uint64_t script)
{
	uint64_t shared = make(heap, 262, 64);

	/* a function that has run has code */
	if (!v8_expect(&heap->r, name, 261))
		put_word(heap, shared, 8, make(heap, 191, 64));
	put_word(heap, shared, 16, name);
	put_word(heap, shared, 32, script);
	put_word(heap, shared, 40, 0x1002000c00020001);
	return shared;
}

uint64_t make_scope(struct heap *heap, uint32_t flags, uint32_t locals, const uint64_t *behind,
		    size_t count)
{
	uint64_t scope = make(heap, 261, 32 + 16 * locals + 8 * count + 64);

	put_word(heap, scope, 8, small(flags));
	put_word(heap, scope, 24, small(locals));
	put(heap, scope, 32 + 16ull * locals, behind, count * sizeof(*behind));
	return scope;
}

const struct runtime_names *name(struct heap *heap, uint64_t value, unsigned int variant,
				 uint64_t detail, int expected)
{
	static struct runtime_names names;
	uint64_t words[2] = {UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_V8, variant, value), detail};

	memset(&names, 0, sizeof(names));
	assert_int_equal(runtime_v8.name_of(&heap->at, &heap->state, words, &names), expected);
	return &names;
}
