// SPDX-License-Identifier: Apache-2.0
/*
 * Python's names from memory that holds anything: tables of lines, code objects, strings. (Real
 * processes that were damaged are in fuzz_stored.c.)
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "python_made.h"

struct input {
	const uint8_t *bytes;
	size_t size;
};

/* All of the address space is the input, again and again; some pages are missing. */
static int read_input(void *context, void *to, size_t size, uint64_t address)
{
	const struct input *input = context;
	size_t i;

	if ((address >> 12) % 61 == 7)
		return -EFAULT;
	for (i = 0; i < size; i++)
		((uint8_t *)to)[i] = input->bytes[(address + i) % input->size];
	return 0;
}

/* Takes the place of a checksum that fits: no input would be looked at otherwise. */
static uint32_t sum_of(const struct runtime_at *at, const struct python_layout *layout,
		       uint64_t code)
{
	const struct python_data *data = &layout->data;
	__u64 words[PYTHON_WORDS], name[PYTHON_NAME_WORDS];
	uint32_t sum;

	if (runtime_read(at, words, sizeof(words), code + data->code_from))
		return 0;
	sum = python_sum(words, data->code_words, PYTHON_NO_HASH);
	if (runtime_read(at, name, sizeof(name),
			 words[data->code_name] + data->name_hash - sizeof(name[0])))
		return 0;
	return python_sum_name(sum, name, python_text_from(data));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct runtime_names names;
	struct input input = {data, size};
	struct runtime_at at = {.memory = {read_input, &input}};
	struct python_layout layout = python_3_11;
	uint64_t code, words[2];
	int32_t index;

	if (size < 16)
		return 0;
	layout.minor = 8 + data[0] % 7;
	memcpy(&code, data + 1, sizeof(code));
	memcpy(&index, data + 9, sizeof(index));
	python_line_of(layout.minor, data + 13, size - 13, (uint32_t)code, index);
	words[0] = UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_PYTHON, PYTHON_CHECKED, code);
	words[1] = (uint64_t)(uint32_t)index << 32 | sum_of(&at, &layout, code & UNWIND_VALUE_MASK);
	memset(&names, 0, sizeof(names));
	python_name_of(&at, &layout, words, &names);
	return 0;
}
