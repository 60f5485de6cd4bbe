/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_ELF_SYMBOLS_H
#define SYMBOL_ELF_SYMBOLS_H

#include "base/fail.h"
#include "symbol/batch.h"
#include "elf/file.h"

/*
 * One pass over a file's symbol table of that type (SHT_SYMTAB or SHT_DYNSYM) for all open
 * questions of a batch. A symbol with a size names what lies in it; one without names the function
 * that begins there, where it is known to begin (question.start), up to the next symbol. starts:
 * only those without a size are asked for, and those with one only bound what these name. Returns
 * 1; 0: there is no such table; -ENOMEM; -E2BIG: it is too large, or its symbols overlap, beyond
 * all measure (the names found so far are right, but perhaps not the best).
 */
int elf_symbols_answer(const struct elf_file *file, uint32_t type, bool starts, struct batch *batch,
		       struct fail *why);

#endif
