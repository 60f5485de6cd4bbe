// SPDX-License-Identifier: Apache-2.0
#include "sources/memory/python.h"

#include <string.h>

/* Bytes of a function's code that are looked at: compilers may put what it calls into it. */
#define CODE_MAX 1024

/* _PyRuntime is not larger. */
#define RUNTIME_MAX (4 << 20)

static const char *const names[MEM_PYTHON_DOMAINS][MEM_PYTHON_FUNCTIONS] = {
	[MEM_PYTHON_OBJ] = {"PyObject_Malloc", "PyObject_Calloc", "PyObject_Realloc",
			    "PyObject_Free"},
	[MEM_PYTHON_MEM] = {"PyMem_Malloc", "PyMem_Calloc", "PyMem_Realloc", "PyMem_Free"},
	[MEM_PYTHON_RAW] = {"PyMem_RawMalloc", "PyMem_RawCalloc", "PyMem_RawRealloc",
			    "PyMem_RawFree"},
};

void mem_python_symbol(struct mem_python *python, const char *name, const Elf64_Sym *symbol)
{
	if (strncmp(name, "Py", 2) != 0 && strncmp(name, "_Py", 3) != 0)
		return;
	if (!strcmp(name, "_PyRuntime"))
		python->runtime = symbol->st_value;
	python->has_no_lock |= !strcmp(name, "_Py_MergeZeroLocalRefcount");
	for (int d = 0; d < MEM_PYTHON_DOMAINS; d++)
		for (int i = 0; i < MEM_PYTHON_FUNCTIONS; i++)
			if (!strcmp(name, names[d][i])) {
				python->functions[d][i].address = symbol->st_value;
				python->functions[d][i].size = symbol->st_size;
			}
}

/* The code of a function, and what the numbers in it can mean. */
struct code {
	uint8_t bytes[CODE_MAX];
	size_t size;
	uint64_t address, runtime;
};

static bool read_code(const struct mem_python *python, const struct elf_file *file,
		      enum mem_python_domain domain, int function, struct code *code)
{
	uint64_t size = python->functions[domain][function].size, offset;

	code->address = python->functions[domain][function].address;
	code->runtime = python->runtime;
	code->size = size < CODE_MAX ? size : CODE_MAX;
	return code->address && code->size > 4 && elf_file_offset(file, code->address, &offset) &&
	       elf_file_read(file, offset, code->bytes, code->size);
}

/*
 * The word of which an instruction says the address, if the byte before `at` is its ModRM (Intel's
 * manual, volume 2, 2.1.5): 32 bits from its end on, 32 or 8 bits from a register on, which has the
 * address of _PyRuntime then. 0: none.
 */
static uint64_t word_at(const struct code *code, size_t at)
{
	uint8_t modrm = code->bytes[at - 1];
	int32_t number = (int8_t)code->bytes[at];
	bool is_from_end = (modrm & 0xc7) == 0x05, is_byte = modrm >> 6 == 1;
	uint64_t word;

	if (!is_byte && at + sizeof(number) > code->size)
		return 0;
	if (!is_byte)
		memcpy(&number, code->bytes + at, sizeof(number));
	if (is_from_end)
		word = code->address + at + sizeof(number) + (uint64_t)(int64_t)number;
	else if ((is_byte || modrm >> 6 == 2) && code->runtime && number > 0 &&
		 number < RUNTIME_MAX)
		word = code->runtime + (uint64_t)number;
	else
		return 0;
	return word % sizeof(word) ? 0 : word;
}

static bool has_word(const struct code *code, uint64_t word)
{
	for (size_t at = 1; at < code->size; at++)
		if (word_at(code, at) == word)
			return true;
	return false;
}

/* All functions load their context, which comes before the words, and each of them its own. */
static bool fits(const struct code codes[MEM_PYTHON_FUNCTIONS], uint64_t word)
{
	for (uint64_t i = 0; i < MEM_PYTHON_FUNCTIONS; i++)
		if (!has_word(&codes[i], word - sizeof(word)) ||
		    !has_word(&codes[i], word + i * sizeof(word)))
			return false;
	return true;
}

/* other: words that the functions also use. */
static uint64_t find_words(const struct mem_python *python, const struct elf_file *file,
			   enum mem_python_domain domain, uint64_t other)
{
	struct code codes[MEM_PYTHON_FUNCTIONS];
	uint64_t found = 0;

	for (int i = 0; i < MEM_PYTHON_FUNCTIONS; i++)
		if (!read_code(python, file, domain, i, &codes[i]))
			return 0;
	for (size_t at = 1; at < codes[0].size; at++) {
		uint64_t word = word_at(&codes[0], at);

		if (!word || word == found || word == other || !fits(codes, word))
			continue;
		/* two of them prove nothing */
		if (found)
			return 0;
		found = word;
	}
	return found;
}

uint64_t mem_python_words(const struct mem_python *python, const struct elf_file *file,
			  enum mem_python_domain domain)
{
	uint64_t raw;

	if (python->has_no_lock)
		return 0;
	raw = find_words(python, file, MEM_PYTHON_RAW, 0);
	/* the others hand on to the raw ones what is too large for them */
	return domain == MEM_PYTHON_RAW ? raw : find_words(python, file, domain, raw);
}
