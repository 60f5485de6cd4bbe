/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_ELF_SYMBOLS_H
#define SYMBOL_ELF_SYMBOLS_H

#include "base/fail.h"
#include "symbol/batch.h"
#include "elf/file.h"

/*
 * One pass over a file's symbol table of that type (SHT_SYMTAB or SHT_DYNSYM) for all open
 * questions of a batch. complete: the table names all code, static functions too; only then does a
 * symbol without a size reach beyond its first byte: to the next symbol, the section's end or 64
 * KiB, whichever comes first, and never over the end of a symbol with a size. In a table that lacks
 * functions what follows may be another one. Returns 1; 0: there is no such table; -ENOMEM; -E2BIG:
 * it is too large, or its symbols overlap, beyond all measure (the names found so far are right,
 * but perhaps not the best).
 */
int elf_symbols_answer(const struct elf_file *file, uint32_t type, bool complete,
		       struct batch *batch, struct fail *why);

#endif
