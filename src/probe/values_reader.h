/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_VALUES_READER_H
#define PROBE_VALUES_READER_H

/* What the files share that read values in the child (values_read.c). */

#include <elfutils/libdw.h>

#include "arch/arch.h"
#include "base/buf.h"
#include "probe/values.h"
#include "probe/values_types.h"

#define VALUES_PARAMS_MAX 64

struct values_reader {
	const struct values_question *question;
	int pipe;
	struct buf said;
	struct types types;
	Elf *elf, *main_elf;
	Dwarf *dwarf, *alternate;
	Dwarf_CFI *cfi, *eh_cfi; /* of .debug_frame, .eh_frame */
	size_t used;		 /* memory, at the beginning */
};

/* -- values_read.c ----------------------------------------------------------------------------- */

enum value_language values_language(Dwarf_Die *unit);
/* A flag of an entry, or of what it is an instance of. */
bool values_flag(Dwarf_Die *die, unsigned int name);
/* The first address in a function that is marked as the end of its prologue; 0: none is. */
uint64_t values_prologue_end(Dwarf_Die *unit, uint64_t low, uint64_t high);
/* The rule of the canonical frame address at a place. False: it has none of a register. */
bool values_frame_address(const struct values_reader *r, uint64_t address, uint8_t *reg,
			  int32_t *offset);
/*
 * libdw keeps the line table of each unit. 1: it was too much, and all is opened anew; 0, or
 * -EBADMSG.
 */
int values_forget_if_large(struct values_reader *r);
void values_say_signed(struct buf *to, int64_t value);
void values_say_text(struct buf *to, const char *text);
void values_say_param(struct buf *to, const struct value_param *param);

/* -- values_place.c ---------------------------------------------------------------------------- */

/* Where a function's parameters are to be found. */
struct values_place {
	Dwarf_Die *function;
	uint64_t address;
	uint64_t behind; /* the end of the prologue, which is looked at, too; 0: none is */
	bool is_settled; /* the address is behind the prologue: they are where they stay */
};

/* The place of a parameter at its function's entry, or behind its prologue. */
void values_place_param(const struct values_place *place, Dwarf_Die *die,
			struct value_param *param);
/* Does an attribute hold a list of places by address, rather than one for the whole function? */
bool values_is_list(Dwarf_Attribute *attribute);
/* Bytes of a variable's type; 8: not known. */
uint64_t values_size(Dwarf_Die *die);
/* A register as DWARF's operation names it; -1: none. */
int values_register(const Dwarf_Op *op);
/* A part of a value in a register. False: there is no room for it, or no such register. */
bool values_put_piece(struct value_param *param, uint64_t offset, uint64_t size, int reg);

/*
 * -- values_floats.c: does a function take what can be in vector registers? ---------------------
 */

bool values_has_floats(Dwarf_Die *function);

/* -- values_within.c: the same for any address of a function ----------------------------------- */

/* A value that is the same at all times: DW_AT_const_value. */
void values_place_constant(Dwarf_Attribute *attribute, struct value_param *param);
void values_place_within(const struct values_place *place, Dwarf_Die *die,
			 struct value_param *param);

#endif
