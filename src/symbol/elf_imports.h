/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_ELF_IMPORTS_H
#define SYMBOL_ELF_IMPORTS_H

#include <stddef.h>
#include <stdint.h>

#include "elf/file.h"

/*
 * Which library an imported symbol comes from. ELF does not say so, but a symbol's version does: it
 * is the version of one library (System V gABI extensions, "Symbol Versioning"). A symbol without
 * one comes from a library that has no versions; if the file needs just one such, from that.
 */
struct elf_imports {
	uint16_t *versions; /* of each symbol of .dynsym */
	size_t version_count;
	char *strings; /* .dynstr, ends with a zero byte of our own */
	size_t strings_size;
	uint32_t *libraries; /* of each version: where in strings; 0: none */
	size_t library_count;
	uint32_t unversioned; /* the library of all others; 0: not known */
};

/* Returns 0 or -ENOMEM; what is broken or not there is taken for nothing. */
int elf_imports_open(struct elf_imports *imports, const struct elf_file *file);
void elf_imports_close(struct elf_imports *imports);

/* The file name of the library of the symbol of that number in .dynsym; "": not known. */
const char *elf_imports_library(const struct elf_imports *imports, uint64_t symbol);

#endif
