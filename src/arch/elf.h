/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCH_ELF_H
#define ARCH_ELF_H

/*
 * ELF files of the architecture: their machine, their relocations, and the stubs by which they call
 * functions of others.
 */
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#include "arch/x86_64/elf.h"
#endif

/* A stub that calls go through (.plt), by what its relocation is known by. */
struct arch_stub {
	bool by_number; /* of the entry in .rela.plt, else by the slot's address */
	uint64_t key;
};

/* Reads the stub at an address whose code this is. False: it is none. */
bool arch_stub_read(const uint8_t *code, size_t size, uint64_t address, struct arch_stub *stub);

/*
 * Whether a DWARF expression is that of a linker for the CFA of its stubs, which depends on how far
 * the stub has come: from *border bytes on, a word more is on the stack.
 */
bool arch_stub_is_cfa(const uint8_t *expression, size_t size, int64_t *border);

#endif
