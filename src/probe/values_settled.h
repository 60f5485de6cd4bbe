/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_VALUES_SETTLED_H
#define PROBE_VALUES_SETTLED_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a parameter is to be behind the prologue: below a register, as DWARF numbers it. */
struct value_home {
	uint8_t reg;
	int64_t displacement;
	uint64_t size;
	bool is_stored;
};

/*
 * Does the code between two addresses of an image go straight on? Then homes' is_stored says into
 * which of them it stores something; it is false before. elf is that of fd. *keeps_first: rdi is
 * behind it as it was before.
 */
bool values_settle(Elf *elf, int fd, uint64_t begin, uint64_t end, struct value_home *homes,
		   size_t count, bool *keeps_first);

/* The same, and are they all stored? */
bool values_are_settled(Elf *elf, int fd, uint64_t begin, uint64_t end, struct value_home *homes,
			size_t count, bool *keeps_first);

/* Reads code at an address of the image. False: it is not in the file, or not executable. */
bool values_read_code(Elf *elf, int fd, uint64_t address, uint8_t *code, size_t size);

#endif
