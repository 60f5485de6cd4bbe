// SPDX-License-Identifier: Apache-2.0
#include "unwind/stack_effect.h"

/* A frame larger than this is taken for a mistake. */
#define FRAME_MAX (1 << 24)

enum reg {
	OTHER,
	RSP,
	RBP,
	RBX
};

/* Whether it is one of the three that matter here, or a part of it. */
static enum reg reg_of(unsigned int reg)
{
	switch (reg) {
	case X86_REG_RSP:
	case X86_REG_ESP:
	case X86_REG_SP:
	case X86_REG_SPL:
		return RSP;
	case X86_REG_RBP:
	case X86_REG_EBP:
	case X86_REG_BP:
	case X86_REG_BPL:
		return RBP;
	case X86_REG_RBX:
	case X86_REG_EBX:
	case X86_REG_BX:
	case X86_REG_BL:
	case X86_REG_BH:
		return RBX;
	default:
		return OTHER;
	}
}

static bool is_register(const cs_x86_op *op, x86_reg reg)
{
	return op->type == X86_OP_REG && op->reg == reg;
}

static void set_sp(struct stack_state *s, int64_t sp)
{
	s->sp = sp > 0 && sp <= FRAME_MAX ? (int32_t)sp : 0;
}

static void move_sp(struct stack_state *s, int64_t down)
{
	if (down < -FRAME_MAX || down > FRAME_MAX)
		s->sp = 0;
	if (s->sp)
		set_sp(s, s->sp + down);
}

/* How far below the CFA the memory lies; 0: not known. */
static int32_t place_of(const struct stack_state *s, const cs_x86_op *op)
{
	int64_t base = 0, place;

	if (op->type != X86_OP_MEM || op->mem.index != X86_REG_INVALID ||
	    op->mem.segment != X86_REG_INVALID)
		return 0;
	if (op->mem.base == X86_REG_RSP)
		base = s->sp;
	else if (op->mem.base == X86_REG_RBP)
		base = s->fp;
	if (!base || op->mem.disp < -FRAME_MAX || op->mem.disp > FRAME_MAX)
		return 0;
	place = base - op->mem.disp;
	return place > 0 && place <= FRAME_MAX ? (int32_t)place : 0;
}

/* The register is stored at place. It counts if it still holds what the caller had in it. */
static void save(struct stack_state *s, enum reg reg, int32_t place)
{
	if (reg == RBP && !s->rbp_changed && !s->rbp_at)
		s->rbp_at = place;
	if (reg == RBX && !s->rbx_changed && !s->rbx_at)
		s->rbx_at = place;
}

/* Another value is written to the register. */
static void change(struct stack_state *s, enum reg reg)
{
	if (reg == RSP) {
		s->sp = 0;
	} else if (reg == RBP) {
		s->rbp_changed = true;
		s->fp = 0;
	} else if (reg == RBX) {
		s->rbx_changed = true;
	}
}

/* The register is loaded from place, perhaps with what the caller had in it. */
static void restore(struct stack_state *s, enum reg reg, int32_t place)
{
	change(s, reg);
	if (reg == RBP && place && place == s->rbp_at) {
		s->rbp_at = 0;
		s->rbp_changed = false;
	} else if (reg == RBX && place && place == s->rbx_at) {
		s->rbx_at = 0;
		s->rbx_changed = false;
	}
}

static void make_frame(struct stack_state *s, int32_t fp)
{
	change(s, RBP);
	s->fp = fp;
}

static void push(struct stack_state *s, const cs_insn *insn)
{
	const cs_x86 *x = &insn->detail->x86;

	if (x->prefix[2] == 0x66) { /* two bytes */
		s->sp = 0;
		return;
	}
	move_sp(s, 8);
	if (insn->id == X86_INS_PUSH && x->operands[0].type == X86_OP_REG && s->sp)
		save(s, reg_of(x->operands[0].reg), s->sp);
}

static void pop(struct stack_state *s, const cs_insn *insn)
{
	const cs_x86 *x = &insn->detail->x86;
	int32_t place = s->sp;

	if (x->prefix[2] == 0x66) {
		s->sp = 0;
		return;
	}
	move_sp(s, -8);
	if (insn->id == X86_INS_POP && x->operands[0].type == X86_OP_REG)
		restore(s, reg_of(x->operands[0].reg), place);
}

static void leave(struct stack_state *s)
{
	int32_t place = s->fp;

	s->sp = place;
	move_sp(s, -8);
	restore(s, RBP, place);
}

static void move(struct stack_state *s, const cs_x86_op *to, const cs_x86_op *from)
{
	if (is_register(to, X86_REG_RBP) && is_register(from, X86_REG_RSP))
		make_frame(s, s->sp);
	else if (is_register(to, X86_REG_RSP) && is_register(from, X86_REG_RBP))
		s->sp = s->fp;
	else if (to->type == X86_OP_MEM && from->type == X86_OP_REG && from->size == 8)
		save(s, reg_of(from->reg), place_of(s, to));
	else if (to->type == X86_OP_REG)
		restore(s, reg_of(to->reg), to->size == 8 ? place_of(s, from) : 0);
}

static void load_address(struct stack_state *s, const cs_x86_op *to, const cs_x86_op *from)
{
	if (is_register(to, X86_REG_RSP))
		s->sp = place_of(s, from);
	else if (is_register(to, X86_REG_RBP))
		make_frame(s, place_of(s, from));
	else
		change(s, reg_of(to->reg));
}

/* Whatever else it does: the registers that it writes. */
static void change_written(struct stack_state *s, const cs_insn *insn)
{
	const cs_detail *detail = insn->detail;
	const cs_x86 *x = &detail->x86;
	int i;

	for (i = 0; i < detail->regs_write_count; i++)
		change(s, reg_of(detail->regs_write[i]));
	for (i = 0; i < x->op_count; i++) {
		if (x->operands[i].type == X86_OP_REG && x->operands[i].access & CS_AC_WRITE)
			change(s, reg_of(x->operands[i].reg));
	}
}

/*
 * Whether a thread begins here: behind a system call (clone()), rbp is cleared while it still is the caller's, and
 * nothing is on the stack yet. It is how a thread's first function marks its frame (System V ABI, 3.4.1). Without the
 * system call, it may be any code whose callers do not count on rbp.
 */
static bool is_root_mark(const struct stack_state *s, const cs_insn *insn)
{
	const cs_x86_op *op = insn->detail->x86.operands;

	return s->behind_system_call && insn->id == X86_INS_XOR && op[0].type == X86_OP_REG && op[1].type == X86_OP_REG &&
	       op[0].reg == op[1].reg && reg_of(op[0].reg) == RBP && op[0].size >= 4 &&
	       s->sp == 8 && !s->rbp_changed && !s->rbp_at && !s->rbx_changed;
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
			s->sp = 0;
		else
			move_sp(s, insn->id == X86_INS_SUB ? op[1].imm : -op[1].imm);
		return;
	case X86_INS_SYSCALL:
		s->behind_system_call = true;
		break;
	case X86_INS_CALL: /* what is called leaves them all as they were */
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
	if (!s->fp && !s->sp)
		return (struct unwind_rule){.cfa = UNWIND_CFA_NONE};
	rule.cfa = s->fp ? UNWIND_CFA_FP : UNWIND_CFA_SP;
	rule.cfa_offset = s->fp ? s->fp : s->sp;
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
