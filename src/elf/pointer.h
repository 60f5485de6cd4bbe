/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ELF_POINTER_H
#define ELF_POINTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Reads a pointer in encoding (DW_EH_PE_*) whose first byte is loaded at address; false: damaged,
 * or an encoding that unwind sections do not use (relative to text, data or function, indirect).
 */
bool elf_read_pointer(struct bytes *in, uint8_t encoding, uint64_t address, uint64_t *pointer);

#endif
