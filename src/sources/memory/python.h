/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MEMORY_PYTHON_H
#define SOURCES_MEMORY_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/file.h"

/*
 * The words by which CPython calls its allocators (Objects/obmalloc.c): for each of three domains,
 * a context and four functions, in one structure. Where it is, no symbol tells. But each of the
 * functions that programs call loads one of those words, at an address that stands in its first
 * instructions: from the instruction on, or from _PyRuntime on (since 3.12). What is 8 bytes apart
 * in PyObject_Malloc(), PyObject_Calloc(), PyObject_Realloc() and PyObject_Free() is it.
 */
enum mem_python_domain {
	MEM_PYTHON_OBJ,
	MEM_PYTHON_MEM,
	MEM_PYTHON_RAW, /* which calls malloc() */
	MEM_PYTHON_DOMAINS
};

/* Functions of a domain: malloc, calloc, realloc, free. */
#define MEM_PYTHON_FUNCTIONS 4

/* An image's, as far as its symbols are known. All zero: nothing is. */
struct mem_python {
	struct {
		uint64_t address, size;
	} functions[MEM_PYTHON_DOMAINS][MEM_PYTHON_FUNCTIONS];
	uint64_t runtime;
	bool has_no_lock; /* it has another allocator, and no pools */
};

/* Takes note of a symbol. */
void mem_python_symbol(struct mem_python *python, const char *name, const Elf64_Sym *symbol);

/*
 * The address in the file's image of the word that has the malloc function of a domain; the others
 * follow it. 0: it is not known, or there is none.
 */
uint64_t mem_python_words(const struct mem_python *python, const struct elf_file *file,
			  enum mem_python_domain domain);

#endif
