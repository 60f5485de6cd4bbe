/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_ELF_PLT_H
#define SYMBOL_ELF_PLT_H

#include "symbol/batch.h"
#include "elf/file.h"

/*
 * Names the open questions that lie in the stubs through which a file calls functions of other
 * files: "read@plt". A stub is known by the slot it jumps through, and the slot by its relocation,
 * so that it does not matter how a linker arranges them. x86-64 only; elsewhere nothing is named.
 * Returns 0 or -ENOMEM.
 */
int elf_plt_answer(const struct elf_file *file, struct batch *batch);

struct elf_plt_stub {
	uint64_t address;
	uint64_t symbol; /* its number in .dynsym */
};

/*
 * Lists the stubs that calls go through, in new memory. Where calls have a table of their own
 * (.plt.sec), the one that only binds them (.plt) is left out. Returns 0 or -ENOMEM.
 */
int elf_plt_list(const struct elf_file *file, struct elf_plt_stub **stubs, size_t *count);

#endif
