/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_VALUES_TYPES_H
#define PROBE_VALUES_TYPES_H

#include <elfutils/libdw.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "probe/values.h"

/*
 * DWARF's types as a table, in the child (values_read.c). Types are numbered when something first
 * refers to them, and said in that order; those that are further than a few pointers away from any
 * value are left out.
 */
struct types {
	bool is_go;
	struct map numbers; /* by the offset of the type's entry, and which file it is in */
	vec(struct pending_type {
		Dwarf_Die die;
		unsigned int pointers; /* that lead there */
	}) pending;
	size_t said, cut;
};

/* The number, + 1, of a type; 0: it has none. pointers: that lead from a value there. */
uint32_t types_number(struct types *types, Dwarf_Die *die, unsigned int pointers);
/* The same of what an entry's DW_AT_type refers to. */
uint32_t types_number_of(struct types *types, Dwarf_Die *entry, unsigned int pointers);
/* Says all that were numbered and not said yet, and what they refer to. */
void types_say(struct types *types, struct buf *to, int pipe);
void types_free(struct types *types);

#endif
