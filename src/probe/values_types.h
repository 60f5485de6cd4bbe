/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_VALUES_TYPES_H
#define PROBE_VALUES_TYPES_H

#include <elfutils/libdw.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "probe/values.h"

/* Where the entries of a unit lie that are of the language's library: addresses of entries. */
struct types_library {
	uintptr_t unit, from, to;
};

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
	struct map units; /* whose libraries are known, by the address of their entry */
	vec(struct types_library) libraries;
	/* Go: where the runtime's descriptions of types begin; 0: not known */
	uint64_t descriptions;
	bool has_interfaces; /* that could hold a value of any type */
};

/* The number, + 1, of a type; 0: it has none. pointers: that lead from a value there. */
uint32_t types_number(struct types *types, Dwarf_Die *die, unsigned int pointers);
/* The same of what an entry's DW_AT_type refers to. */
uint32_t types_number_of(struct types *types, Dwarf_Die *entry, unsigned int pointers);
/* Go: numbers all types that an interface can hold. */
void types_number_all(struct types *types, Dwarf *dwarf);
/* Says all that were numbered and not said yet, and what they refer to. */
void types_say(struct types *types, struct buf *to, int pipe);
void types_free(struct types *types);

/* Says a member: bits, where they begin, and whether it is a base. */
void types_say_member(struct buf *to, const char *name, int64_t offset, uint32_t type,
		      const uint8_t bits[3]);
/* An attribute's number, or what it is otherwise. */
uint64_t types_attribute(Dwarf_Die *die, unsigned int name, uint64_t otherwise);

/*
 * -- values_variants.c: Rust -------------------------------------------------------------------
 */

/* Does a structure consist of variants? Their entry is in *part. */
bool types_variants(Dwarf_Die *structure, Dwarf_Die *part);
/* Says them, as VALUE_VARIANT has them, with the type's target and count. Returns how many. */
uint32_t types_say_variants(struct types *types, Dwarf_Die *part, unsigned int pointers,
			    struct buf *to, struct value_type *type, uint32_t *target, bool *cut);

/* -- values_names.c ---------------------------------------------------------------------------- */

/* Puts a type's name as the language writes it, without a zero byte. */
void types_put_name(struct buf *to, Dwarf_Die *die);
/* How many elements an array has; 0: not known. */
uint64_t types_elements(Dwarf_Die *die);
/* The entry that DW_AT_type leads to. */
bool types_type_of(Dwarf_Die *entry, Dwarf_Die *type);
/* Goes through typedefs and qualifiers. False: it ends at void. */
bool types_peel(Dwarf_Die *die);

/*
 * -- values_templates.c: C++ and Rust -----------------------------------------------------------
 */
#define TEMPLATE_PARAMETERS_MAX 64

bool types_is_template(int tag);
/* The parameters of a template, those of packs one by one. False: it has none. */
bool types_parameters(Dwarf_Die *of, Dwarf_Die to[TEMPLATE_PARAMETERS_MAX], size_t *count);
/* Says what stands for the parameters that a type's row wants (shapes.h). Returns how many. */
uint32_t types_say_arguments(struct types *types, Dwarf_Die *structure, const char *name,
			     bool is_library, unsigned int pointers, struct buf *to);
/* Is a type of the language's own library? */
bool types_is_library(struct types *types, Dwarf_Die *die);

#endif
