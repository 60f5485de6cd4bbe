// SPDX-License-Identifier: Apache-2.0
/* Where DWARF says that a parameter is at its function's entry: in the child (values_read.c). */
#include <dwarf.h>

#include "probe/values_reader.h"

int values_register(const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
		return op->atom - DW_OP_reg0;
	return op->atom == DW_OP_regx && op->number < 64 ? (int)op->number : -1;
}

bool values_put_piece(struct value_param *param, uint64_t offset, uint64_t size, int reg)
{
	/* XMM registers are 17 to 32 */
	bool is_float = reg >= 17 && reg <= 32;

	if (param->count == VALUES_PIECES_MAX || offset > 4096 || size > 4096 ||
	    (!is_float && (reg > 15 || size > 8)))
		return false;
	param->piece[param->count++] = (struct value_piece){
		(uint16_t)offset, (uint16_t)size, is_float ? VALUE_REGISTER_FLOAT : (uint8_t)reg};
	return true;
}

/* A location of pieces, of which some may be nowhere. */
static void place_pieces(struct value_param *param, const Dwarf_Op *ops, size_t count)
{
	uint64_t offset = 0;

	param->place = VALUE_REGISTERS;
	for (size_t i = 0; i < count; i++) {
		int reg = values_register(&ops[i]);

		if (ops[i].atom == DW_OP_piece) {
			offset += ops[i].number; /* nowhere */
			continue;
		}
		if (reg < 0 || i + 1 == count || ops[i + 1].atom != DW_OP_piece ||
		    !values_put_piece(param, offset, ops[i + 1].number, reg)) {
			param->place = VALUE_ODD;
			return;
		}
		offset += ops[++i].number;
	}
	if (!param->count)
		param->place = VALUE_NOWHERE;
}

/* The operation that gives the frame base; null: it is not one alone. */
static const Dwarf_Op *frame_base(Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	size_t count;
	Dwarf_Op *ops;

	return dwarf_attr_integrate(function, DW_AT_frame_base, &attribute) &&
			       !dwarf_getlocation(&attribute, &ops, &count) && count == 1
		       ? ops
		       : NULL;
}

static void place_in_frame(const struct values_place *place, bool is_list,
			   struct value_param *param, int64_t offset)
{
	const Dwarf_Op *base = frame_base(place->function);
	int reg = base ? values_register(base) : -1;

	if (base && base->atom == DW_OP_call_frame_cfa && (offset >= 0 || place->is_settled)) {
		param->place = VALUE_MEMORY;
		param->displacement = offset;
	} else if (place->is_settled && reg >= 0 && reg < 16) {
		param->place = VALUE_AT_POINTER;
		param->reg = (uint8_t)reg;
		param->displacement = offset;
	} else if (!is_list) {
		param->place = VALUE_HOME;
	}
}

/* In the frame is the address of the value. */
static void place_behind(const struct values_place *place, struct value_param *param,
			 int64_t offset)
{
	place_in_frame(place, false, param, offset);
	if (param->place == VALUE_MEMORY)
		param->reg = VALUE_REGISTER_CFA;
	if (param->place == VALUE_MEMORY || param->place == VALUE_AT_POINTER)
		param->place = VALUE_BEHIND;
}

static void place_by_ops(const struct values_place *place, bool is_list, struct value_param *param,
			 Dwarf_Op *ops, size_t count, uint64_t size)
{
	int reg = count ? values_register(&ops[0]) : -1;

	param->place = VALUE_ODD;
	if (!count) {
		param->place = VALUE_NOWHERE;
	} else if (count == 1 && reg >= 0) {
		if (values_put_piece(param, 0, size, reg))
			param->place = VALUE_REGISTERS;
	} else if (count == 1 && ops[0].atom == DW_OP_fbreg) {
		place_in_frame(place, is_list, param, (int64_t)ops[0].number);
	} else if (count == 1 && ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg15) {
		param->place = VALUE_AT_POINTER;
		param->reg = (uint8_t)(ops[0].atom - DW_OP_breg0);
		param->displacement = (int64_t)ops[0].number;
		/* an address relative to the stack pointer in code that is not there yet */
		if (param->reg == ARCH_REG_SP && !is_list && !place->is_settled)
			param->place = VALUE_HOME;
	} else if (count == 2 && ops[0].atom == DW_OP_fbreg && ops[1].atom == DW_OP_deref &&
		   (!is_list || (int64_t)ops[0].number >= 0)) {
		/* the address of a copy that the caller has made, and perhaps put on the stack */
		param->place = VALUE_HOME;
		param->is_address = true;
		if (place->is_settled || (int64_t)ops[0].number >= 0)
			place_behind(place, param, (int64_t)ops[0].number);
	} else if (ops[count - 1].atom == DW_OP_piece) {
		place_pieces(param, ops, count);
	}
}

bool values_is_list(Dwarf_Attribute *attribute)
{
	switch (dwarf_whatform(attribute)) {
	case DW_FORM_exprloc:
	case DW_FORM_block:
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4:
		return false;
	default:
		return true;
	}
}

uint64_t values_size(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Word size;
	Dwarf_Die type;

	return dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), &type) &&
			       !dwarf_aggregate_size(&type, &size)
		       ? size
		       : 8;
}

/*
 * Go's compiler writes expressions as blocks, which libdw takes for lists of DWARF 2: on the
 * caller's stack, which is all that is of use of them.
 */
static void place_block(const struct values_place *place, Dwarf_Attribute *attribute,
			struct value_param *param)
{
	Dwarf_Block block;
	struct bytes b;
	int64_t offset = 0;

	if (values_is_list(attribute) || dwarf_formblock(attribute, &block) || !block.length)
		return;
	b = (struct bytes){block.data, block.data + block.length, false};
	switch (bytes_u8(&b)) {
	case DW_OP_call_frame_cfa:
		break;
	case DW_OP_fbreg:
		offset = bytes_svarint(&b);
		break;
	default:
		return;
	}
	if (!b.failed && !bytes_left(&b))
		place_in_frame(place, false, param, offset);
}

/*
 * LLVM, without optimisation: of what is passed by its address, DWARF says where that is from the
 * end of the prologue on.
 */
static bool is_late(const struct values_place *place, Dwarf_Attribute *attribute)
{
	Dwarf_Op *ops;
	size_t count;

	return place->behind && !place->is_settled && values_is_list(attribute) &&
	       dwarf_getlocation_addr(attribute, place->behind, &ops, &count, 1) == 1 &&
	       count == 1 && ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg15 &&
	       !ops[0].number;
}

void values_place_param(const struct values_place *place, Dwarf_Die *die, struct value_param *param)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t count;

	param->place = VALUE_NOWHERE;
	if (!dwarf_attr_integrate(die, DW_AT_location, &attribute)) {
		/* all callers pass the same */
		if (dwarf_attr_integrate(die, DW_AT_const_value, &attribute))
			values_place_constant(&attribute, param);
		return;
	}
	if (dwarf_getlocation_addr(&attribute, place->address, &ops, &count, 1) == 1)
		place_by_ops(place, values_is_list(&attribute), param, ops, count,
			     values_size(die));
	else if (is_late(place, &attribute))
		param->place = VALUE_LATE;
	else
		place_block(place, &attribute, param);
}
