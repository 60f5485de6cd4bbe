// SPDX-License-Identifier: Apache-2.0
#include "unwind/cfi_internal.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "elf/pointer.h"
#include "base/vec.h"

/* Compilers nest one deep, assembler programmers two. */
#define REMEMBER_MAX 32

/* The kinds of rules for a register (DWARF 5, 6.4.1). */
enum kind {
	UNDEFINED,
	SAME,
	OFFSET,
	VAL_OFFSET,
	REGISTER,
	EXPRESSION,
	VAL_EXPRESSION
};

struct run {
	const struct cfi_cie *cie; /* the rules that restore brings back; null in the CIE itself */
	const struct cfi_fde *fde; /* null in a CIE */
	struct bytes in;
	int64_t data_align;
	uint64_t code_align;
	struct cfi_state state;
	bool changed; /* state, since the last row */
	bool past_end;
	uint64_t at; /* bytes from the start of the function */
	struct cfi_rows *rows;
	struct cfi_state remembered[REMEMBER_MAX];
	unsigned int depth;
};

static bool fits(int64_t offset)
{
	return offset >= INT32_MIN && offset <= INT32_MAX;
}

static bool fits_short(int64_t offset)
{
	return offset >= INT16_MIN && offset <= INT16_MAX;
}

/*
 * rbx is followed in all images, although few need it: over 2993 programs and libraries with 2.2
 * million functions that makes 29255 rules instead of 27517, and 24.3 MB of tables instead of 23.8.
 */
static int8_t saved_slot(const struct cfi_state *s)
{
	if (s->saved_lost || s->saved_offset % 8 || s->saved_offset < INT8_MIN * 8 ||
	    s->saved_offset >= UNWIND_SAVED_LOST * 8)
		return UNWIND_SAVED_LOST;
	return (int8_t)(s->saved_offset / 8);
}

static struct unwind_rule unsupported(void)
{
	return (struct unwind_rule){.cfa = UNWIND_CFA_UNSUPPORTED};
}

/* A register and an offset, or what the register then points to and an offset. */
static struct unwind_rule cfa_rule(enum unwind_cfa cfa, uint64_t reg, int64_t offset,
				   int64_t deref_offset)
{
	struct unwind_rule rule = {.cfa = cfa};

	if (reg >= ARCH_REG_RETURN || !fits(offset) || !fits(deref_offset))
		return unsupported();
	if (cfa == UNWIND_CFA_REGISTER && reg == ARCH_REG_SP)
		rule.cfa = UNWIND_CFA_SP;
	else if (cfa == UNWIND_CFA_REGISTER && reg == ARCH_REG_FP)
		rule.cfa = UNWIND_CFA_FP;
	else
		rule.cfa_register = (uint8_t)reg;
	rule.cfa_offset = (int32_t)offset;
	rule.deref_offset = (int32_t)deref_offset;
	return rule;
}

/*
 * The return address is in a register: code that must leave the stack alone for a while, as vfork()
 * does. The tables can say so where nothing else was saved.
 */
static struct unwind_rule rule_in_register(const struct cfi_state *s)
{
	if (s->cfa != UNWIND_CFA_SP || s->cfa_register != ARCH_REG_SP || !s->sp_is_cfa ||
	    !fits(s->cfa_offset) || s->ra_register >= ARCH_REG_RETURN || s->fp != UNWIND_FP_SAME ||
	    saved_slot(s))
		return unsupported();
	return (struct unwind_rule){
		.cfa = UNWIND_CFA_IN_REGISTER,
		.cfa_register = (uint8_t)s->ra_register,
		.cfa_offset = (int32_t)s->cfa_offset,
	};
}

static struct unwind_rule rule_of(const struct cfi_state *s, bool signal)
{
	struct unwind_rule rule;

	if (signal)
		return (struct unwind_rule){.cfa = UNWIND_CFA_SIGNAL};
	if (s->ra == CFI_RA_UNDEFINED)
		return (struct unwind_rule){.cfa = UNWIND_CFA_END};
	if (s->ra == CFI_RA_REGISTER)
		return rule_in_register(s);
	if (s->ra != CFI_RA_BELOW_CFA || !s->sp_is_cfa)
		return unsupported();
	switch (s->cfa) {
	case UNWIND_CFA_SP:
		rule = cfa_rule(UNWIND_CFA_REGISTER, s->cfa_register, s->cfa_offset, 0);
		break;
	case UNWIND_CFA_REGISTER:
	case UNWIND_CFA_DEREF:
		rule = cfa_rule(s->cfa, s->expression_register, s->expression_offset,
				s->deref_offset);
		break;
	case UNWIND_CFA_INDEXED:
		if (s->index_register >= ARCH_REG_RETURN)
			return unsupported();
		rule = cfa_rule(s->cfa, s->expression_register, s->expression_offset,
				s->deref_offset);
		if (rule.cfa == UNWIND_CFA_INDEXED)
			rule.cfa_register |= (uint8_t)(s->index_register << 4);
		break;
	case UNWIND_CFA_PLT:
		rule = (struct unwind_rule){
			.cfa = UNWIND_CFA_PLT,
			.cfa_offset = (int32_t)s->expression_offset,
		};
		break;
	default:
		return unsupported();
	}
	if (rule.cfa == UNWIND_CFA_UNSUPPORTED)
		return rule;
	rule.fp = fits_short(s->fp_offset) ? s->fp : UNWIND_FP_LOST;
	if (rule.fp == UNWIND_FP_CFA || rule.fp == UNWIND_FP_FP)
		rule.fp_offset = (int16_t)s->fp_offset;
	rule.saved = saved_slot(s);
	return rule;
}

/* From here on this holds. */
static bool push_rule(struct run *run, struct unwind_rule rule)
{
	const struct cfi_rows *rows = run->rows;

	if (rows->count && !memcmp(&vec_last(rows)->rule, &rule, sizeof(rule)))
		return true;
	return vec_push(run->rows, (struct cfi_row){(uint32_t)run->at, rule});
}

/* The state holds from here on. */
static int put_row(struct run *run)
{
	if (!run->changed)
		return 0;
	run->changed = false;
	if (run->rows->count == CFI_ROWS_MAX)
		return -EINVAL;
	return push_rule(run, rule_of(&run->state, run->cie->signal)) ? 0 : -ENOMEM;
}

static int advance_bytes(struct run *run, uint64_t bytes)
{
	int err;

	if (!bytes)
		return 0;
	err = put_row(run);
	/* what comes behind the end of the function applies to nothing */
	run->past_end = bytes >= run->fde->size - run->at;
	run->at += bytes;
	return err;
}

static int advance(struct run *run, uint64_t units)
{
	uint64_t bytes;

	if (!run->fde || __builtin_mul_overflow(units, run->code_align, &bytes))
		return -EINVAL;
	return advance_bytes(run, bytes);
}

static int set_location(struct run *run)
{
	uint64_t address, to;

	if (!run->fde)
		return -EINVAL;
	address =
		run->fde->instructions_address + (uint64_t)(run->in.at - run->fde->instructions.at);
	if (!elf_read_pointer(&run->in, run->cie->encoding, address, &to) ||
	    to < run->fde->start + run->at)
		return -EINVAL;
	return advance_bytes(run, to - (run->fde->start + run->at));
}

/* What holds for register reg from now on; operand: the offset, or the other register. */
static void set_register(struct run *run, uint64_t reg, enum kind kind, int64_t operand)
{
	struct cfi_state *s = &run->state;

	switch (reg) {
	case ARCH_REG_SAVED:
		s->saved_lost = kind != SAME && (kind != OFFSET || !operand);
		s->saved_offset = kind == OFFSET ? operand : 0;
		break;
	case ARCH_REG_FP:
		s->fp = kind == SAME	 ? UNWIND_FP_SAME
			: kind == OFFSET ? UNWIND_FP_CFA
					 : UNWIND_FP_LOST;
		s->fp_offset = kind == OFFSET ? operand : 0;
		break;
	case ARCH_REG_SP:
		s->sp_is_cfa = kind == VAL_OFFSET && !operand;
		break;
	case ARCH_REG_RETURN:
		s->ra = kind == UNDEFINED		  ? CFI_RA_UNDEFINED
			: kind == OFFSET && operand == -8 ? CFI_RA_BELOW_CFA
			: kind == REGISTER		  ? CFI_RA_REGISTER
							  : CFI_RA_ELSEWHERE;
		s->ra_register = (uint64_t)operand;
		break;
	default:
		return;
	}
	run->changed = true;
}

static int set_offset(struct run *run, uint64_t reg, enum kind kind, int64_t factored)
{
	int64_t offset;

	if (__builtin_mul_overflow(factored, run->data_align, &offset))
		return -EINVAL;
	set_register(run, reg, kind, offset);
	return 0;
}

static int set_unsigned_offset(struct run *run, uint64_t reg, enum kind kind, uint64_t factored)
{
	return factored > INT64_MAX ? -EINVAL : set_offset(run, reg, kind, (int64_t)factored);
}

static int restore_register(struct run *run, uint64_t reg)
{
	if (!run->cie)
		return -EINVAL;
	switch (reg) {
	case ARCH_REG_SAVED:
		run->state.saved_lost = run->cie->start.saved_lost;
		run->state.saved_offset = run->cie->start.saved_offset;
		break;
	case ARCH_REG_FP:
		run->state.fp = run->cie->start.fp;
		run->state.fp_offset = run->cie->start.fp_offset;
		break;
	case ARCH_REG_SP:
		run->state.sp_is_cfa = run->cie->start.sp_is_cfa;
		break;
	case ARCH_REG_RETURN:
		run->state.ra = run->cie->start.ra;
		run->state.ra_register = run->cie->start.ra_register;
		break;
	default:
		return 0;
	}
	run->changed = true;
	return 0;
}

static int define_cfa(struct run *run, uint64_t reg, int64_t offset)
{
	run->state.cfa = UNWIND_CFA_SP;
	run->state.cfa_register = reg;
	run->state.cfa_offset = offset;
	run->changed = true;
	return 0;
}

/* The kind of rule stays: behind an expression, the offset only counts once a register follows. */
static int set_cfa_offset(struct run *run, int64_t offset)
{
	run->state.cfa_offset = offset;
	run->changed = true;
	return 0;
}

static int signed_cfa_offset(struct run *run, int64_t *offset)
{
	return __builtin_mul_overflow(cfi_sleb(&run->in), run->data_align, offset) ? -EINVAL : 0;
}

static int read_expression(struct run *run, struct bytes *expression)
{
	uint64_t length = cfi_uleb(&run->in);
	const uint8_t *at = bytes_read(&run->in, length);

	*expression = (struct bytes){at, at ? at + length : NULL, false};
	return at ? 0 : -EINVAL;
}

static int register_expression(struct run *run, enum kind kind)
{
	uint64_t reg = cfi_uleb(&run->in);
	struct bytes expression;
	int err;

	err = read_expression(run, &expression);
	if (err)
		return err;
	set_register(run, reg, kind, 0);
	if (reg == ARCH_REG_FP && kind == EXPRESSION)
		cfi_fp_expression(&run->state, expression);
	return 0;
}

static int cfa_expression(struct run *run)
{
	struct bytes expression;
	int err;

	err = read_expression(run, &expression);
	if (err)
		return err;
	cfi_cfa_expression(&run->state, expression);
	run->changed = true;
	return 0;
}

static int remember(struct run *run)
{
	if (run->depth == REMEMBER_MAX)
		return -EINVAL;
	run->remembered[run->depth++] = run->state;
	return 0;
}

static int recall(struct run *run)
{
	if (!run->depth)
		return -EINVAL;
	run->state = run->remembered[--run->depth];
	run->changed = true;
	return 0;
}

/* The instructions whose operands all follow the first byte. */
static int execute_extended(struct run *run, uint8_t op)
{
	struct bytes *in = &run->in;
	uint64_t reg;
	int64_t offset;
	int err;

	switch (op) {
	case DW_CFA_nop:
		return 0;
	case DW_CFA_set_loc:
		return set_location(run);
	case DW_CFA_advance_loc1:
		return advance(run, bytes_u8(in));
	case DW_CFA_advance_loc2:
		return advance(run, bytes_u16(in));
	case DW_CFA_advance_loc4:
		return advance(run, bytes_u32(in));
	case DW_CFA_MIPS_advance_loc8:
		return advance(run, bytes_u64(in));
	case DW_CFA_def_cfa:
		reg = cfi_uleb(in);
		return define_cfa(run, reg, (int64_t)cfi_uleb(in));
	case DW_CFA_def_cfa_sf:
		reg = cfi_uleb(in);
		err = signed_cfa_offset(run, &offset);
		return err ? err : define_cfa(run, reg, offset);
	case DW_CFA_def_cfa_register:
		return define_cfa(run, cfi_uleb(in), run->state.cfa_offset);
	case DW_CFA_def_cfa_offset:
		return set_cfa_offset(run, (int64_t)cfi_uleb(in));
	case DW_CFA_def_cfa_offset_sf:
		err = signed_cfa_offset(run, &offset);
		return err ? err : set_cfa_offset(run, offset);
	case DW_CFA_def_cfa_expression:
		return cfa_expression(run);
	case DW_CFA_remember_state:
		return remember(run);
	case DW_CFA_restore_state:
		return recall(run);
	case DW_CFA_restore_extended:
		return restore_register(run, cfi_uleb(in));
	case DW_CFA_undefined:
		set_register(run, cfi_uleb(in), UNDEFINED, 0);
		return 0;
	case DW_CFA_same_value:
		set_register(run, cfi_uleb(in), SAME, 0);
		return 0;
	case DW_CFA_register:
		reg = cfi_uleb(in);
		set_register(run, reg, REGISTER, (int64_t)cfi_uleb(in));
		return 0;
	case DW_CFA_offset_extended:
		reg = cfi_uleb(in);
		return set_unsigned_offset(run, reg, OFFSET, cfi_uleb(in));
	case DW_CFA_offset_extended_sf:
		reg = cfi_uleb(in);
		return set_offset(run, reg, OFFSET, cfi_sleb(in));
	case DW_CFA_val_offset:
		reg = cfi_uleb(in);
		return set_unsigned_offset(run, reg, VAL_OFFSET, cfi_uleb(in));
	case DW_CFA_val_offset_sf:
		reg = cfi_uleb(in);
		return set_offset(run, reg, VAL_OFFSET, cfi_sleb(in));
	case DW_CFA_expression:
		return register_expression(run, EXPRESSION);
	case DW_CFA_val_expression:
		return register_expression(run, VAL_EXPRESSION);
	case DW_CFA_GNU_args_size:
		cfi_uleb(in); /* what a call pushed: only of use to land in a catch block */
		return 0;
	case DW_CFA_GNU_negative_offset_extended:
		reg = cfi_uleb(in);
		offset = (int64_t)cfi_uleb(in);
		return offset < 0 ? -EINVAL : set_offset(run, reg, OFFSET, -offset);
	default:
		return -EINVAL;
	}
}

static int execute(struct run *run)
{
	while (bytes_left(&run->in) && !run->past_end) {
		uint8_t byte = *run->in.at++;
		uint8_t low = byte & 0x3f;
		int err;

		switch (byte & 0xc0) {
		case DW_CFA_advance_loc:
			err = advance(run, low);
			break;
		case DW_CFA_offset:
			err = set_unsigned_offset(run, low, OFFSET, cfi_uleb(&run->in));
			break;
		case DW_CFA_restore:
			err = restore_register(run, low);
			break;
		default:
			err = execute_extended(run, low);
		}
		if (err)
			return err;
		if (run->in.failed)
			return -EINVAL;
	}
	return 0;
}

int cfi_run_initial(struct cfi_cie *cie, struct bytes instructions)
{
	struct run run = {
		.in = instructions,
		.data_align = cie->data_align,
		.code_align = cie->code_align,
		/* before any rule, the psABI says: the CFA is the caller's rsp, rbp is kept */
		.state = {.cfa = UNWIND_CFA_NONE, .fp = UNWIND_FP_SAME, .sp_is_cfa = true},
	};
	int err;

	err = execute(&run);
	cie->start = run.state;
	return err;
}

int cfi_run(const struct cfi_fde *fde, struct cfi_rows *rows)
{
	struct run run;
	int err;

	run.cie = fde->cie;
	run.fde = fde;
	run.in = fde->instructions;
	run.data_align = fde->cie->data_align;
	run.code_align = fde->cie->code_align;
	run.state = fde->cie->start;
	run.changed = true;
	run.past_end = false;
	run.at = 0;
	run.rows = rows;
	run.depth = 0;
	rows->count = 0;
	err = execute(&run);
	if (!err && !run.past_end)
		err = put_row(&run);
	if (err == -EINVAL && !push_rule(&run, unsupported()))
		return -ENOMEM;
	return err;
}
