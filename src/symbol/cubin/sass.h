/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_CUBIN_SASS_H
#define SYMBOL_CUBIN_SASS_H

#include <stdint.h>

/*
 * Instructions of GPUs from sm_70 on. They have 16 bytes, the low 9 bits of which are the
 * operation; the 3 bits above it are the form of its operands.
 */
#define SASS_OPERATIONS 512

/*
 * The mnemonic without its modifiers: "LDG" of "LDG.E.64"; null: not known. head: the first 8 bytes
 * of the instruction; architecture: 80 for sm_80.
 */
const char *sass_mnemonic(uint64_t head, uint32_t architecture);

#endif
