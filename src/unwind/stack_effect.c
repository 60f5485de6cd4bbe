// SPDX-License-Identifier: Apache-2.0
#include "unwind/stack_effect.h"

/* A frame larger than this is taken for a mistake. */
#define FRAME_MAX (1 << 24)

/* Frames with less than this need no loop that touches each page: no page is that small. */
#define PAGE_MIN 4096

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
static int32_t place_of(const struct stack_state *s, const struct insn_operand *op)
{
	int64_t base = 0, place;

	if (op->where != INSN_MEMORY)
		return 0;
	if (op->reg == ARCH_REG_SP)
		base = s->sp;
	else if (op->reg == ARCH_REG_FP && s->fp)
		base = s->fp;
	else if (s->copy && op->reg == s->copy_register)
		base = s->copy;
	if (!base || op->number < -FRAME_MAX || op->number > FRAME_MAX)
		return 0;
	place = base - op->number;
	return place > 0 && place <= FRAME_MAX ? (int32_t)place : 0;
}

/*
 * The same on a rounded stack, below where that was rounded (or above, if less than 0). False: not
 * known.
 */
static bool rounded_place_of(const struct stack_state *s, const struct insn_operand *op,
			     int32_t *place)
{
	if (!s->rounded || op->where != INSN_MEMORY || op->reg != ARCH_REG_SP || op->number < 0 ||
	    op->number > FRAME_MAX)
		return false;
	*place = s->room - (int32_t)op->number;
	return true;
}

/* The register is stored at place. It counts if it still holds what the caller had in it. */
static void save(struct stack_state *s, int reg, int32_t place)
{
	if (reg == ARCH_REG_FP && !s->fp_changed && !s->fp_at)
		s->fp_at = place;
	if (reg == ARCH_REG_SAVED && !s->saved_changed && !s->saved_at)
		s->saved_at = place;
}

/* Another value is written to the register. */
static void change(struct stack_state *s, int reg)
{
	if (s->copy && reg == s->copy_register)
		s->copy = s->copy_register = 0;
	if (reg == ARCH_REG_SP) {
		set_sp(s, 0);
	} else if (reg == ARCH_REG_FP) {
		s->fp_changed = true;
		s->fp = 0;
	} else if (reg == ARCH_REG_SAVED) {
		s->saved_changed = true;
	}
}

/* The register is loaded from place, perhaps with what the caller had in it. */
static void restore(struct stack_state *s, int reg, int32_t place)
{
	change(s, reg);
	if (reg == ARCH_REG_FP && place && place == s->fp_at) {
		s->fp_at = 0;
		s->fp_changed = false;
	} else if (reg == ARCH_REG_SAVED && place && place == s->saved_at) {
		s->saved_at = 0;
		s->saved_changed = false;
	}
}

static bool is_saved_by_calls(int reg)
{
	return ARCH_CALLEE_SAVED >> reg & 1;
}

/*
 * The register gets the address so far below the CFA; 0: another value. is_copy: of the stack
 * pointer itself, which may be needed later to find back. One is followed, rather one in a register
 * that calls leave alone.
 */
static void point(struct stack_state *s, int reg, int32_t place, bool is_copy)
{
	change(s, reg);
	if (reg == ARCH_REG_SP) {
		set_sp(s, place);
	} else if (reg == ARCH_REG_FP) {
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
	if (reg == ARCH_REG_SP)
		return s->sp;
	if (reg == ARCH_REG_FP && s->fp)
		return s->fp;
	return s->copy && reg == s->copy_register ? s->copy : 0;
}

static void push(struct stack_state *s, const struct insn *insn)
{
	if (insn->is_short) {
		set_sp(s, 0);
		return;
	}
	move_sp(s, 8);
	if (insn->to.where == INSN_REGISTER && s->sp)
		save(s, insn->to.reg, s->sp);
}

static void pop(struct stack_state *s, const struct insn *insn)
{
	int32_t place = s->sp;

	if (insn->is_short) {
		set_sp(s, 0);
		return;
	}
	move_sp(s, -8);
	if (insn->to.where == INSN_REGISTER)
		restore(s, insn->to.reg, place);
}

static void leave(struct stack_state *s)
{
	int32_t place = s->fp;

	set_sp(s, place);
	move_sp(s, -8);
	restore(s, ARCH_REG_FP, place);
}

/* A register goes to memory: perhaps a pointer to the old stack, on the rounded one. */
static void store(struct stack_state *s, const struct insn_operand *to, int reg)
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

static void load(struct stack_state *s, int reg, const struct insn_operand *from)
{
	int32_t place;

	if (s->stored && rounded_place_of(s, from, &place) && place == s->stored_at)
		point(s, reg, s->stored, true);
	else if (reg >= 0)
		restore(s, reg, place_of(s, from));
}

static void move(struct stack_state *s, const struct insn_operand *to,
		 const struct insn_operand *from)
{
	if (to->where == INSN_MEMORY && from->where == INSN_REGISTER && from->size == 8)
		store(s, to, from->reg);
	else if (to->where != INSN_REGISTER)
		return;
	else if (to->size != 8)
		change(s, to->reg);
	else if (from->where == INSN_REGISTER)
		point(s, to->reg, pointer_in(s, from->reg), true);
	else
		load(s, to->reg, from);
}

static void load_address(struct stack_state *s, const struct insn_operand *to,
			 const struct insn_operand *from)
{
	/* of the rounded stack itself: it only moves */
	if (to->reg == ARCH_REG_SP && s->rounded && from->reg == ARCH_REG_SP) {
		move_sp(s, -from->number);
	} else {
		if (from->reg == ARCH_REG_SP && from->number <= -PAGE_MIN && s->sp)
			s->goal = place_of(s, from);
		/*
		 * "lea 8(%rsp), %r10" keeps the CFA before the stack is rounded; others are of
		 * variables
		 */
		point(s, to->reg, to->size == 8 ? place_of(s, from) : 0, s->sp == 8);
	}
}

/* What is called leaves only some registers as they were. */
static void call(struct stack_state *s)
{
	if (s->copy && !is_saved_by_calls(s->copy_register))
		change(s, s->copy_register);
}

/* Beside its other effects: the registers that it writes. */
static void change_written(struct stack_state *s, const struct insn *insn)
{
	for (unsigned int left = insn->writes; left; left &= left - 1)
		change(s, __builtin_ctz(left));
}

/*
 * Whether a thread begins here: behind a system call (clone()), rbp is cleared while it still is
 * the caller's, and nothing is on the stack yet. It is how a thread's first function marks its
 * frame (System V ABI, 3.4.1). Without the system call, it may be any code whose callers do not
 * count on rbp.
 */
static bool is_root_mark(const struct stack_state *s, const struct insn *insn)
{
	return s->behind_system_call && insn->to.where == INSN_REGISTER &&
	       insn->from.where == INSN_REGISTER && insn->to.reg == ARCH_REG_FP &&
	       insn->from.reg == ARCH_REG_FP && insn->to.size >= 4 && s->sp == 8 &&
	       !s->fp_changed && !s->fp_at && !s->saved_changed;
}

/* Whether a number is added to the stack pointer, or the like. */
static bool is_of_stack_pointer(const struct insn *insn)
{
	return insn->to.where == INSN_REGISTER && insn->to.reg == ARCH_REG_SP &&
	       insn->to.size == 8 && insn->from.where == INSN_NUMBER;
}

/* Of the loop that touches each page: "sub $4096, %rsp; orq $0, (%rsp); cmp %r11, %rsp". */
static bool touches_page(const struct insn *insn)
{
	switch (insn->kind) {
	case INSN_SUB:
		return is_of_stack_pointer(insn);
	case INSN_MOVE:
		return insn->to.where == INSN_MEMORY;
	case INSN_OR:
	case INSN_COMPARE:
	case INSN_TEST:
	case INSN_OTHER:
		return !insn->writes;
	default:
		return false;
	}
}

/* The loop's branch back is the only one, and not taken once the stack pointer is at its goal. */
static void approach_goal(struct stack_state *s, const struct insn *insn)
{
	if (insn->kind == INSN_BRANCH)
		set_sp(s, s->goal);
	if (!touches_page(insn))
		s->goal = 0;
}

void stack_step(struct stack_state *s, const struct insn *insn)
{
	const int64_t number = insn->from.number;

	if (s->kind != STACK_PLAIN)
		return;
	if (s->goal)
		approach_goal(s, insn);
	switch (insn->kind) {
	case INSN_PUSH:
		push(s, insn);
		return;
	case INSN_POP:
		pop(s, insn);
		return;
	case INSN_LEAVE:
		leave(s);
		return;
	case INSN_MOVE:
		move(s, &insn->to, &insn->from);
		return;
	case INSN_LEA:
		load_address(s, &insn->to, &insn->from);
		return;
	case INSN_SUB:
	case INSN_ADD:
		if (!is_of_stack_pointer(insn))
			break;
		if (number < -FRAME_MAX || number > FRAME_MAX)
			set_sp(s, 0);
		else
			move_sp(s, insn->kind == INSN_SUB ? number : -number);
		return;
	case INSN_AND:
		if (!is_of_stack_pointer(insn) || number >= 0)
			break;
		round_sp(s);
		return;
	case INSN_SYSTEM_CALL:
		s->behind_system_call = true;
		break;
	case INSN_CALL:
		call(s);
		return;
	case INSN_XOR:
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
	if (s->copy && (s->copy_register == ARCH_REG_SAVED || !s->stored)) {
		rule->cfa = UNWIND_CFA_REGISTER;
		rule->cfa_register = s->copy_register;
		rule->cfa_offset = s->copy;
	} else {
		rule->cfa = UNWIND_CFA_DEREF;
		rule->cfa_register = ARCH_REG_SP;
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
	if (s->fp_at && fits(s->fp_at)) {
		rule.fp = UNWIND_FP_CFA;
		rule.fp_offset = (int16_t)-s->fp_at;
	} else if (s->fp_at || s->fp_changed) {
		rule.fp = UNWIND_FP_LOST;
	}
	if (s->saved_at && s->saved_at % 8 == 0 && s->saved_at <= 8 * -INT8_MIN)
		rule.saved = (int8_t)(-s->saved_at / 8);
	else if (s->saved_at || s->saved_changed)
		rule.saved = UNWIND_SAVED_LOST;
	return rule;
}
