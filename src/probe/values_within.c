// SPDX-License-Identifier: Apache-2.0
/*
 * Where a variable is at any address of a function: in the child (values_read.c). An expression of
 * DWARF (version 5, section 2.5) is understood if it comes to a register, to a sum of a register
 * and a number, or to what memory at such a sum holds; all else is VALUE_NOT_KNOWN.
 */
#include <dwarf.h>
#include <string.h>

#include "probe/values_reader.h"

#define DEPTH_MAX 4

/* What an expression has come to so far: base + offset, or [base + offset] + behind. */
struct sum {
	enum base {
		BASE_NONE,
		BASE_REGISTER,
		BASE_FRAME, /* the canonical frame address */
		BASE_IMAGE,
	} base;
	uint8_t reg;
	bool is_behind;
	int64_t offset, behind;
};

struct evaluation {
	const struct values_place *place;
	Dwarf_Attribute *attribute;
	struct sum at[DEPTH_MAX];
	unsigned int depth;
	bool is_value; /* DW_OP_stack_value: what it comes to is the value, and not its address */
};

static bool push(struct evaluation *e, struct sum sum)
{
	if (e->depth == DEPTH_MAX)
		return false;
	e->at[e->depth++] = sum;
	return true;
}

static void add(struct sum *sum, int64_t number)
{
	int64_t *to = sum->is_behind ? &sum->behind : &sum->offset;

	*to = (int64_t)((uint64_t)*to + (uint64_t)number);
}

static bool push_register(struct evaluation *e, uint64_t reg, int64_t offset)
{
	return reg < 16 &&
	       push(e, (struct sum){.base = BASE_REGISTER, .reg = (uint8_t)reg, .offset = offset});
}

/* False: there is none. */
static bool location(Dwarf_Attribute *attribute, uint64_t address, Dwarf_Op **ops, size_t *count)
{
	Dwarf_Block block;

	/*
	 * Go's compiler writes blocks, which libdw refuses from DWARF 4 on. Short ones are what
	 * DW_FORM_exprloc is: a number of one byte, and that many bytes.
	 */
	if (dwarf_whatform(attribute) == DW_FORM_block1 && !dwarf_formblock(attribute, &block) &&
	    block.length < 0x80)
		attribute->form = DW_FORM_exprloc;
	return dwarf_getlocation_addr(attribute, address, ops, count, 1) == 1;
}

/* The frame base, of the function that really is there. */
static bool push_frame(struct evaluation *e, int64_t offset)
{
	Dwarf_Attribute attribute;
	size_t count;
	Dwarf_Op *ops;

	if (!dwarf_attr_integrate(e->place->function, DW_AT_frame_base, &attribute) ||
	    !location(&attribute, e->place->address, &ops, &count) || count != 1)
		return false;
	if (ops->atom == DW_OP_call_frame_cfa)
		return push(e, (struct sum){.base = BASE_FRAME, .offset = offset});
	if (ops->atom >= DW_OP_breg0 && ops->atom <= DW_OP_breg15)
		return push_register(e, ops->atom - DW_OP_breg0, (int64_t)ops->number + offset);
	return values_register(ops) >= 0 &&
	       push_register(e, (uint64_t)values_register(ops), offset);
}

/* An address that stands in a table of them. */
static bool push_address(struct evaluation *e, const Dwarf_Op *op)
{
	Dwarf_Attribute attribute;
	Dwarf_Addr address;

	return !dwarf_getlocation_attr(e->attribute, op, &attribute) &&
	       !dwarf_formaddr(&attribute, &address) &&
	       push(e, (struct sum){.base = BASE_IMAGE, .offset = (int64_t)address});
}

static bool plus(struct evaluation *e, bool is_minus)
{
	struct sum *a, b;

	if (e->depth < 2)
		return false;
	b = e->at[--e->depth];
	a = &e->at[e->depth - 1];
	if (b.base == BASE_NONE && !b.is_behind) {
		add(a, is_minus ? -b.offset : b.offset);
		return true;
	}
	if (is_minus || a->base != BASE_NONE || a->is_behind)
		return false;
	add(&b, a->offset);
	*a = b;
	return true;
}

static bool step(struct evaluation *e, const Dwarf_Op *op)
{
	struct sum *top = e->depth ? &e->at[e->depth - 1] : NULL;

	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg15)
		return push_register(e, op->atom - DW_OP_breg0, (int64_t)op->number);
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return push(e, (struct sum){.offset = op->atom - DW_OP_lit0});
	switch (op->atom) {
	case DW_OP_const1u:
	case DW_OP_const2u:
	case DW_OP_const4u:
	case DW_OP_const8u:
	case DW_OP_constu:
	case DW_OP_const1s:
	case DW_OP_const2s:
	case DW_OP_const4s:
	case DW_OP_const8s:
	case DW_OP_consts:
		return push(e, (struct sum){.offset = (int64_t)op->number});
	case DW_OP_addr:
		return push(e, (struct sum){.base = BASE_IMAGE, .offset = (int64_t)op->number});
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
		return push_address(e, op);
	case DW_OP_bregx:
		return push_register(e, op->number, (int64_t)op->number2);
	case DW_OP_fbreg:
		return push_frame(e, (int64_t)op->number);
	case DW_OP_call_frame_cfa:
		return push(e, (struct sum){.base = BASE_FRAME});
	case DW_OP_nop:
		return true;
	case DW_OP_plus_uconst:
		if (top)
			add(top, (int64_t)op->number);
		return top;
	case DW_OP_plus:
	case DW_OP_minus:
		return plus(e, op->atom == DW_OP_minus);
	case DW_OP_deref:
		if (!top || top->is_behind || top->base == BASE_NONE)
			return false;
		top->is_behind = true;
		return true;
	case DW_OP_stack_value:
		e->is_value = true;
		return top;
	default:
		return false;
	}
}

static uint8_t register_of_sum(const struct sum *sum)
{
	switch (sum->base) {
	case BASE_FRAME:
		return VALUE_REGISTER_CFA;
	case BASE_IMAGE:
		return VALUE_REGISTER_IMAGE;
	default:
		return sum->reg;
	}
}

/* The value's address is the sum, or it is the value itself. */
static void put_sum(struct value_param *param, const struct sum *sum, bool is_value)
{
	param->reg = register_of_sum(sum);
	param->displacement = sum->offset;
	param->behind = sum->behind;
	param->place = VALUE_NOT_KNOWN;
	if (is_value && !sum->is_behind)
		param->place = sum->base == BASE_NONE ? VALUE_CONSTANT : VALUE_SUM;
	else if (is_value || sum->base == BASE_NONE)
		return; /* what was read in part, or an address that is a number */
	else if (sum->is_behind)
		param->place = sum->base == BASE_IMAGE ? VALUE_NOT_KNOWN : VALUE_BEHIND;
	else if (sum->base == BASE_FRAME)
		param->place = VALUE_MEMORY;
	else
		param->place = sum->base == BASE_IMAGE ? VALUE_STATIC : VALUE_AT_POINTER;
}

/* DW_OP_implicit_value: the bytes themselves. */
static void put_bytes(struct value_param *param, const Dwarf_Block *block)
{
	uint64_t word = 0;

	param->place = VALUE_NOT_KNOWN;
	if (!block->length || block->length > sizeof(word) || !block->data)
		return;
	memcpy(&word, block->data, block->length);
	param->displacement = (int64_t)word;
	param->place = VALUE_CONSTANT;
}

static bool evaluate(struct evaluation *e, const Dwarf_Op *ops, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!step(e, &ops[i]))
			return false;
	return e->depth == 1;
}

/* A location in pieces: in registers, nowhere, or one behind the other in memory. */
static void put_pieces(const struct values_place *place, Dwarf_Attribute *attribute,
		       struct value_param *param, const Dwarf_Op *ops, size_t count)
{
	uint64_t offset = 0;
	struct value_param memory = {0};
	bool has_memory = false, has_gap = false;
	size_t end;

	param->place = VALUE_NOT_KNOWN;
	for (size_t i = 0; i < count; i = end + 1) {
		struct evaluation e = {.place = place, .attribute = attribute};
		struct value_param one = {0};

		for (end = i; end < count && ops[end].atom != DW_OP_piece; end++)
			;
		if (end == count)
			return;
		if (end == i) {
			has_gap = true;
		} else if (end == i + 1 && values_register(&ops[i]) >= 0) {
			if (!values_put_piece(param, offset, ops[end].number,
					      values_register(&ops[i])))
				return;
		} else if (evaluate(&e, ops + i, end - i)) {
			put_sum(&one, &e.at[0], e.is_value);
			if (one.place != VALUE_MEMORY && one.place != VALUE_AT_POINTER)
				return;
			one.displacement -= (int64_t)offset;
			if (has_memory && (one.place != memory.place || one.reg != memory.reg ||
					   one.displacement != memory.displacement))
				return;
			has_memory = true;
			memory = one;
		} else {
			return;
		}
		offset += ops[end].number;
	}
	if (has_memory && (param->count || has_gap))
		return;
	param->place = has_memory ? memory.place : param->count ? VALUE_REGISTERS : VALUE_NOWHERE;
	param->reg = memory.reg;
	param->displacement = memory.displacement;
}

/* A value that only the reader of the callers could know is one that the code does not keep. */
static bool is_of_the_entry(const Dwarf_Op *ops, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (ops[i].atom == DW_OP_entry_value || ops[i].atom == DW_OP_GNU_entry_value ||
		    ops[i].atom == DW_OP_implicit_pointer ||
		    ops[i].atom == DW_OP_GNU_implicit_pointer)
			return true;
	return false;
}

static void place_by_ops(const struct values_place *place, Dwarf_Attribute *attribute,
			 struct value_param *param, Dwarf_Op *ops, size_t count, uint64_t size)
{
	struct evaluation e = {.place = place, .attribute = attribute};
	Dwarf_Block block;

	param->place = VALUE_NOT_KNOWN;
	if (!count || is_of_the_entry(ops, count)) {
		param->place = VALUE_NOWHERE;
	} else if (count == 1 && values_register(&ops[0]) >= 0) {
		if (values_put_piece(param, 0, size, values_register(&ops[0])))
			param->place = VALUE_REGISTERS;
	} else if (count == 1 && ops[0].atom == DW_OP_implicit_value) {
		if (!dwarf_getlocation_implicit_value(attribute, ops, &block))
			put_bytes(param, &block);
	} else if (ops[count - 1].atom == DW_OP_piece) {
		put_pieces(place, attribute, param, ops, count);
	} else if (evaluate(&e, ops, count)) {
		put_sum(param, &e.at[0], e.is_value);
	}
}

void values_place_constant(Dwarf_Attribute *attribute, struct value_param *param)
{
	Dwarf_Sword number;
	Dwarf_Block block;

	if (!dwarf_formblock(attribute, &block)) {
		put_bytes(param, &block);
	} else if (!dwarf_formsdata(attribute, &number)) {
		param->displacement = number;
		param->place = VALUE_CONSTANT;
	} else {
		param->place = VALUE_NOT_KNOWN;
	}
}

void values_place_within(const struct values_place *place, Dwarf_Die *die,
			 struct value_param *param)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t count;

	param->place = VALUE_NOWHERE;
	if (dwarf_attr_integrate(die, DW_AT_location, &attribute)) {
		if (location(&attribute, place->address, &ops, &count))
			place_by_ops(place, &attribute, param, ops, count, values_size(die));
	} else if (dwarf_attr_integrate(die, DW_AT_const_value, &attribute)) {
		values_place_constant(&attribute, param);
	}
}
