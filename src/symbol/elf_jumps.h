/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_ELF_JUMPS_H
#define SYMBOL_ELF_JUMPS_H

#include "symbol/batch.h"
#include "elf/file.h"

/*
 * Names the open questions that lie in functions whose address only a word of the file holds. A
 * library that dispatches its interface exports small functions of one shape, a test or two and
 * "jmp *WORD(%rip)", and the word is relocated to the function that does the work, which a stripped
 * file has no symbol for: it gets the exported name. Such a library of a graphics driver has 600 of
 * them. What several words lead to gets none.
 *
 * Asked for questions with starts (symbols_of_starts()).
 * Returns how many such exported functions the file has, or -ENOMEM.
 */
int elf_jumps_answer(const struct elf_file *file, struct batch *batch);

/*
 * Calls each() with the name of each such exported function, until the next call, and the virtual
 * address of its word. Returns 0 or -ENOMEM.
 */
int elf_jumps_each(const struct elf_file *file,
		   void (*each)(void *context, const char *name, uint64_t word), void *context);

#endif
