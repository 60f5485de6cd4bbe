// SPDX-License-Identifier: Apache-2.0
#include "unwind/cfi_internal.h"

#include <dwarf.h>

#include "arch/arch.h"
#include "arch/elf.h"
/*
 * Expressions in unwind information come in a few shapes. Those that the tables can say are
 * recognised here, all others make the rule unsupported:
 *
 *	register + N; *(register + N) + M	a stack that was realigned or switched
 *	*(register + 8 * index + N) + M		one with an array at its end (openssl's bn_mul_mont)
 *	rsp + 8 + (((rip & 15) >= N) << 3)	the procedure linkage table, as linkers write it
 */

/* A sum of constants behind the registers: N and M above. */
struct sum {
	bool deref, indexed;
	uint64_t reg, index;
	uint64_t offset[2]; /* before and behind the dereference; modulo 2^64, as DWARF has it */
};

static bool read_constant(struct bytes *in, uint8_t op, uint64_t *value)
{
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
		*value = op - DW_OP_lit0;
		return true;
	}
	switch (op) {
	case DW_OP_const1u:
		*value = bytes_u8(in);
		return true;
	case DW_OP_const1s:
		*value = (uint64_t)(int8_t)bytes_u8(in);
		return true;
	case DW_OP_const2u:
		*value = bytes_u16(in);
		return true;
	case DW_OP_const2s:
		*value = (uint64_t)(int16_t)bytes_u16(in);
		return true;
	case DW_OP_const4u:
		*value = bytes_u32(in);
		return true;
	case DW_OP_const4s:
		*value = (uint64_t)(int32_t)bytes_u32(in);
		return true;
	case DW_OP_const8u:
	case DW_OP_const8s:
		*value = bytes_u64(in);
		return true;
	case DW_OP_constu:
		*value = cfi_uleb(in);
		return true;
	case DW_OP_consts:
		*value = (uint64_t)cfi_sleb(in);
		return true;
	default:
		return false;
	}
}

static bool read_register(struct bytes *in, uint8_t op, uint64_t *reg, uint64_t *offset)
{
	if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
		*reg = op - DW_OP_breg0;
	else if (op == DW_OP_bregx)
		*reg = cfi_uleb(in);
	else
		return false;
	*offset = (uint64_t)cfi_sleb(in);
	return true;
}

/* Behind the index: times 8, and added. */
static bool read_scale(struct bytes *in)
{
	uint64_t value;
	uint8_t op;

	if (!read_constant(in, bytes_u8(in), &value))
		return false;
	op = bytes_u8(in);
	return ((op == DW_OP_mul && value == 8) || (op == DW_OP_shl && value == 3)) &&
	       bytes_u8(in) == DW_OP_plus;
}

static bool read_sum(struct bytes in, struct sum *sum)
{
	uint64_t index_offset;

	*sum = (struct sum){0};
	if (!read_register(&in, bytes_u8(&in), &sum->reg, &sum->offset[0]))
		return false;
	while (bytes_left(&in) && !in.failed) {
		uint8_t op = bytes_u8(&in);
		uint64_t value;

		if (op == DW_OP_nop)
			continue;
		if (op == DW_OP_deref) {
			if (sum->deref)
				return false;
			sum->deref = true;
		} else if (!sum->indexed && !sum->deref &&
			   read_register(&in, op, &sum->index, &index_offset)) {
			if (!read_scale(&in))
				return false;
			sum->indexed = true;
			sum->offset[0] += 8 * index_offset;
		} else if (op == DW_OP_plus_uconst) {
			sum->offset[sum->deref] += cfi_uleb(&in);
		} else if (read_constant(&in, op, &value)) {
			op = bytes_u8(&in);
			if (op == DW_OP_minus)
				value = -value;
			else if (op != DW_OP_plus)
				return false;
			sum->offset[sum->deref] += value;
		} else {
			return false;
		}
	}
	/* registers alone could be added, but no compiler has done so yet */
	return !in.failed && (sum->deref || !sum->indexed);
}

void cfi_cfa_expression(struct cfi_state *state, struct bytes expression)
{
	struct sum sum;

	state->expression_register = state->index_register = 0;
	state->expression_offset = state->deref_offset = 0;
	if (arch_stub_is_cfa(expression.at, bytes_left(&expression), &state->expression_offset)) {
		state->cfa = UNWIND_CFA_PLT;
	} else if (read_sum(expression, &sum)) {
		state->cfa = sum.indexed ? UNWIND_CFA_INDEXED
			     : sum.deref ? UNWIND_CFA_DEREF
					 : UNWIND_CFA_REGISTER;
		state->expression_register = sum.reg;
		state->index_register = sum.index;
		state->expression_offset = (int64_t)sum.offset[0];
		state->deref_offset = (int64_t)sum.offset[1];
	} else {
		state->cfa = UNWIND_CFA_UNSUPPORTED;
	}
}

void cfi_fp_expression(struct cfi_state *state, struct bytes expression)
{
	struct sum sum;

	state->fp = UNWIND_FP_LOST;
	state->fp_offset = 0;
	if (!read_sum(expression, &sum) || sum.deref || sum.reg != ARCH_REG_FP)
		return;
	state->fp = UNWIND_FP_FP;
	state->fp_offset = (int64_t)sum.offset[0];
}
