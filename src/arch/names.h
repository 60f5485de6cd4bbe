/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCH_NAMES_H
#define ARCH_NAMES_H

#include <stddef.h>

/* Names of the general registers, and what else of the architecture has a name. */

/* By its DWARF number, of which the lowest four bits count. */
const char *arch_register_name(unsigned int dwarf);

/*
 * As instructions number it, by its name of that many characters, that of its whole or of its lower
 * half. -1: there is none.
 */
int arch_register_numbered(const char *name, size_t length);

/*
 * Functions that compilers add as part of an instruction (thunks of indirect jumps), patterns with
 * a star at the end; a null pointer is the last.
 */
extern const char *const arch_thunks[];

#endif
