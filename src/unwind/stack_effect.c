// SPDX-License-Identifier: Apache-2.0
#include "unwind/stack_effect.h"

/* A frame larger than this is taken for a mistake. */
#define FRAME_MAX (1 << 24)

int stack_register(unsigned int reg)
{
	static const uint16_t names[][5] = {
		{X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH},
		{X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH},
		{X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH},
		{X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH},
		{X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL},
		{X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL},
		{X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL},
		{X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL},
		{X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B},
		{X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B},
		{X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B},
		{X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B},
		{X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B},
		{X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B},
		{X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B},
		{X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B},
	};

	for (int i = 0; reg && i < 16; i++) {
		for (int j = 0; j < 5; j++) {
			if (names[i][j] == reg)
				return i;
		}
	}
	return -1;
}

static bool is_register(const cs_x86_op *op, x86_reg reg)
{
	return op->type == X86_OP_REG && op->reg == reg;
}

static void set_sp(struct stack_state *s, int64_t sp)
{
	s->sp = sp > 0 && sp <= FRAME_MAX ? (int32_t)sp : 0;
	s->rounded = false;
	s->room = s->stored_at = s->stored = 0;
}

static void move_sp(struct stack_state *s, int64_t down)
{
	if (down < -FRAME_MAX || down > FRAME_MAX) {
		set_sp(s, 0);
	} else if (s->rounded) {
		s->room += (int32_t)down;
		s->rounded = s->room >= 0 && s->room <= FRAME_MAX;
	} else if (s->sp) {
		set_sp(s, s->sp + down);
	}
}

/* The stack pointer is rounded down, to a multiple of a power of two. */
static void round_sp(struct stack_state *s)
{
	set_sp(s, 0);
	s->rounded = true;
}

/* How far below the CFA the memory lies; 0: not known. */
static int32_t place_of(const struct stack_state *s, const cs_x86_op *op)
{
	int64_t base = 0, place;
	int reg;

	if (op->type != X86_OP_MEM || op->mem.index != X86_REG_INVALID ||
	    op->mem.segment != X86_REG_INVALID)
		return 0;
	reg = op->mem.base == X86_REG_INVALID ? -1 : stack_register(op->mem.base);
	if (reg == STACK_RSP)
		base = s->sp;
	else if (reg == STACK_RBP && s->fp)
		base = s->fp;
	else if (s->copy && reg == s->copy_register)
		base = s->copy;
	if (!base || op->mem.disp < -FRAME_MAX || op->mem.disp > FRAME_MAX)
		return 0;
	place = base - op->mem.disp;
	return place > 0 && place <= FRAME_MAX ? (int32_t)place : 0;
}

/*
 * The same on a rounded stack, below where that was rounded (or above, if less than 0). False: not
 * known.
 */
static bool rounded_place_of(const struct stack_state *s, const cs_x86_op *op, int32_t *place)
{
	if (!s->rounded || op->type != X86_OP_MEM || op->mem.index != X86_REG_INVALID ||
	    op->mem.segment != X86_REG_INVALID || op->mem.base != X86_REG_RSP)
		return false;
	if (op->mem.disp < 0 || op->mem.disp > FRAME_MAX)
		return false;
	*place = s->room - (int32_t)op->mem.disp;
	return true;
}

/* The register is stored at place. It counts if it still holds what the caller had in it. */
static void save(struct stack_state *s, int reg, int32_t place)
{
	if (reg == STACK_RBP && !s->rbp_changed && !s->rbp_at)
		s->rbp_at = place;
	if (reg == STACK_RBX && !s->rbx_changed && !s->rbx_at)
		s->rbx_at = place;
}

/* Another value is written to the register. */
static void change(struct stack_state *s, int reg)
{
	if (s->copy && reg == s->copy_register)
		s->copy = s->copy_register = 0;
	if (reg == STACK_RSP) {
		set_sp(s, 0);
	} else if (reg == STACK_RBP) {
		s->rbp_changed = true;
		s->fp = 0;
	} else if (reg == STACK_RBX) {
		s->rbx_changed = true;
	}
}

/* The register is loaded from place, perhaps with what the caller had in it. */
static void restore(struct stack_state *s, int reg, int32_t place)
{
	change(s, reg);
	if (reg == STACK_RBP && place && place == s->rbp_at) {
		s->rbp_at = 0;
		s->rbp_changed = false;
	} else if (reg == STACK_RBX && place && place == s->rbx_at) {
		s->rbx_at = 0;
		s->rbx_changed = false;
	}
}

static bool is_saved_by_calls(int reg)
{
	return STACK_CALLEE_SAVED >> reg & 1;
}

/*
 * The register gets the address so far below the CFA; 0: another value. is_copy: of the stack
 * pointer itself, which may be needed later to find back. One is followed, rather one in a register
 * that calls leave alone.
 */
static void point(struct stack_state *s, int reg, int32_t place, bool is_copy)
{
	change(s, reg);
	if (reg == STACK_RSP) {
		set_sp(s, place);
	} else if (reg == STACK_RBP) {
		s->fp = place;
	} else if (reg >= 0 && place && is_copy &&
		   (!s->copy || is_saved_by_calls(reg) || !is_saved_by_calls(s->copy_register))) {
		s->copy_register = (uint8_t)reg;
		s->copy = place;
	}
}

/* What the register holds, as a distance below the CFA; 0: not known. */
static int32_t pointer_in(const struct stack_state *s, int reg)
{
	if (reg == STACK_RSP)
		return s->sp;
	if (reg == STACK_RBP && s->fp)
		return s->fp;
	return s->copy && reg == s->copy_register ? s->copy : 0;
}

static void push(struct stack_state *s, const cs_insn *insn)
{
	const cs_x86 *x = &insn->detail->x86;
	bool is_register = insn->id == X86_INS_PUSH && x->operands[0].type == X86_OP_REG;

	if (x->prefix[2] == 0x66) { /* two bytes */
		set_sp(s, 0);
		return;
	}
	move_sp(s, 8);
	if (is_register && s->sp)
		save(s, stack_register(x->operands[0].reg), s->sp);
}

static void pop(struct stack_state *s, const cs_insn *insn)
{
	const cs_x86 *x = &insn->detail->x86;
	int32_t place = s->sp;

	if (x->prefix[2] == 0x66) {
		set_sp(s, 0);
		return;
	}
	move_sp(s, -8);
	if (insn->id == X86_INS_POP && x->operands[0].type == X86_OP_REG)
		restore(s, stack_register(x->operands[0].reg), place);
}

static void leave(struct stack_state *s)
{
	int32_t place = s->fp;

	set_sp(s, place);
	move_sp(s, -8);
	restore(s, STACK_RBP, place);
}

/* A register goes to memory: perhaps a pointer to the old stack, on the rounded one. */
static void store(struct stack_state *s, const cs_x86_op *to, int reg)
{
	int32_t place, stored = pointer_in(s, reg);

	save(s, reg, place_of(s, to));
	if (!rounded_place_of(s, to, &place))
		return;
	if (stored) {
		s->stored_at = place;
		s->stored = stored;
	} else if (s->stored && place == s->stored_at) {
		s->stored = s->stored_at = 0;
	}
}

static void load(struct stack_state *s, int reg, const cs_x86_op *from)
{
	int32_t place;

	if (s->stored && rounded_place_of(s, from, &place) && place == s->stored_at)
		point(s, reg, s->stored, true);
	else if (reg >= 0)
		restore(s, reg, place_of(s, from));
}

static void move(struct stack_state *s, const cs_x86_op *to, const cs_x86_op *from)
{
	int reg = to->type == X86_OP_REG ? stack_register(to->reg) : -1;

	if (to->type == X86_OP_MEM && from->type == X86_OP_REG && from->size == 8)
		store(s, to, stack_register(from->reg));
	else if (to->type != X86_OP_REG)
		return;
	else if (to->size != 8)
		change(s, reg);
	else if (from->type == X86_OP_REG)
		point(s, reg, pointer_in(s, stack_register(from->reg)), true);
	else
		load(s, reg, from);
}

static void load_address(struct stack_state *s, const cs_x86_op *to, const cs_x86_op *from)
{
	const int reg = stack_register(to->reg);

	/* of the rounded stack itself: it only moves */
	if (reg == STACK_RSP && s->rounded && from->mem.base == X86_REG_RSP &&
	    from->mem.index == X86_REG_INVALID)
		move_sp(s, -from->mem.disp);
	else
		/*
		 * "lea 8(%rsp), %r10" keeps the CFA before the stack is rounded; others are of
		 * variables
		 */
		point(s, reg, to->size == 8 ? place_of(s, from) : 0, s->sp == 8);
}

/* What is called leaves only some registers as they were. */
static void call(struct stack_state *s)
{
	if (s->copy && !is_saved_by_calls(s->copy_register))
		change(s, s->copy_register);
}

/* Beside its other effects: the registers that it writes. */
static void change_written(struct stack_state *s, const cs_insn *insn)
{
	const cs_detail *detail = insn->detail;
	const cs_x86 *x = &detail->x86;
	int i;

	for (i = 0; i < detail->regs_write_count; i++)
		change(s, stack_register(detail->regs_write[i]));
	for (i = 0; i < x->op_count; i++) {
		if (x->operands[i].type == X86_OP_REG && x->operands[i].access & CS_AC_WRITE)
			change(s, stack_register(x->operands[i].reg));
	}
}

/*
 * Whether a thread begins here: behind a system call (clone()), rbp is cleared while it still is
 * the caller's, and nothing is on the stack yet. It is how a thread's first function marks its
 * frame (System V ABI, 3.4.1). Without the system call, it may be any code whose callers do not
 * count on rbp.
 */
static bool is_root_mark(const struct stack_state *s, const cs_insn *insn)
{
	const cs_x86_op *op = insn->detail->x86.operands;

	return s->behind_system_call && insn->id == X86_INS_XOR && op[0].type == X86_OP_REG &&
	       op[1].type == X86_OP_REG && op[0].reg == op[1].reg &&
	       stack_register(op[0].reg) == STACK_RBP && op[0].size >= 4 && s->sp == 8 &&
	       !s->rbp_changed && !s->rbp_at && !s->rbx_changed;
}

void stack_step(struct stack_state *s, const cs_insn *insn)
{
	const cs_x86_op *op = insn->detail->x86.operands;

	if (s->kind != STACK_PLAIN)
		return;
	switch (insn->id) {
	case X86_INS_PUSH:
	case X86_INS_PUSHFQ:
		push(s, insn);
		return;
	case X86_INS_POP:
	case X86_INS_POPFQ:
		pop(s, insn);
		return;
	case X86_INS_LEAVE:
		leave(s);
		return;
	case X86_INS_MOV:
		move(s, &op[0], &op[1]);
		return;
	case X86_INS_LEA:
		load_address(s, &op[0], &op[1]);
		return;
	case X86_INS_SUB:
	case X86_INS_ADD:
		if (!is_register(&op[0], X86_REG_RSP) || op[1].type != X86_OP_IMM)
			break;
		if (op[1].imm < -FRAME_MAX || op[1].imm > FRAME_MAX)
			set_sp(s, 0);
		else
			move_sp(s, insn->id == X86_INS_SUB ? op[1].imm : -op[1].imm);
		return;
	case X86_INS_AND:
		if (!is_register(&op[0], X86_REG_RSP) || op[1].type != X86_OP_IMM || op[1].imm >= 0)
			break;
		round_sp(s);
		return;
	case X86_INS_SYSCALL:
		s->behind_system_call = true;
		break;
	case X86_INS_CALL:
		call(s);
		return;
	case X86_INS_XOR:
		if (is_root_mark(s, insn)) {
			*s = (struct stack_state){.kind = STACK_ROOT};
			return;
		}
		break;
	default:
		break;
	}
	change_written(s, insn);
}

/*
 * The register or memory that leads to the CFA of a rounded stack. One that calls leave alone is
 * the surest.
 */
static void rule_of_copy(const struct stack_state *s, struct unwind_rule *rule)
{
	if (s->copy && (s->copy_register == STACK_RBX || !s->stored)) {
		rule->cfa = UNWIND_CFA_REGISTER;
		rule->cfa_register = s->copy_register;
		rule->cfa_offset = s->copy;
	} else {
		rule->cfa = UNWIND_CFA_DEREF;
		rule->cfa_register = STACK_RSP;
		rule->cfa_offset = s->room - s->stored_at;
		rule->deref_offset = s->stored;
	}
}

static bool fits(int32_t place)
{
	return place <= -INT16_MIN;
}

struct unwind_rule stack_rule(const struct stack_state *s)
{
	struct unwind_rule rule = {.guess = 1};

	if (s->kind == STACK_ROOT)
		return (struct unwind_rule){.cfa = UNWIND_CFA_END};
	if (s->kind == STACK_SIGNAL)
		return (struct unwind_rule){.cfa = UNWIND_CFA_SIGNAL};
	if (!s->fp && !s->sp && !s->copy && !s->stored)
		return (struct unwind_rule){.cfa = UNWIND_CFA_NONE};
	if (s->fp || s->sp) {
		rule.cfa = s->fp ? UNWIND_CFA_FP : UNWIND_CFA_SP;
		rule.cfa_offset = s->fp ? s->fp : s->sp;
	} else {
		rule_of_copy(s, &rule);
	}
	if (s->rbp_at && fits(s->rbp_at)) {
		rule.fp = UNWIND_FP_CFA;
		rule.fp_offset = (int16_t)-s->rbp_at;
	} else if (s->rbp_at || s->rbp_changed) {
		rule.fp = UNWIND_FP_LOST;
	}
	if (s->rbx_at && s->rbx_at % 8 == 0 && s->rbx_at <= 8 * -INT8_MIN)
		rule.rbx = (int8_t)(-s->rbx_at / 8);
	else if (s->rbx_at || s->rbx_changed)
		rule.rbx = UNWIND_RBX_LOST;
	return rule;
}
