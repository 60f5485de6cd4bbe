// SPDX-License-Identifier: Apache-2.0
#include "unwind/reading.h"

/*
 * From a place that no way led to, the code is followed up to a return: what is taken off the stack
 * on the way is what lies on it, and what rbp and rbx are loaded with from there is what the caller
 * had in them. No way that is not taken matters: at one place, a function has one frame.
 */

/* Instructions on the ways from one place, and jumps whose other way can still be tried. */
#define FORWARD_MAX 256
#define FORKS_MAX   8

/*
 * What has happened since the place. Distances are upwards, from what the base held there: rsp
 * itself, or another register that rsp was loaded from.
 */
struct since {
	int64_t sp;
	int base;	  /* DWARF number */
	uint32_t written; /* bit per register */
	bool has_fp, has_saved;
	int64_t fp_from, saved_from; /* where the caller's was loaded from, if so */
	uint32_t at;
};

struct forward {
	struct reading *r;
	const struct piece *piece;
	struct since now;
	struct since forks[FORKS_MAX];
	uint32_t fork_count;
};

enum step {
	STEP_ON,
	STEP_DEAD, /* this way tells nothing */
	STEP_DONE,
};

static bool is_pure(const struct since *s, int reg)
{
	return reg >= 0 && !(s->written >> reg & 1);
}

/* rsp gets what the register held, and more. */
static bool rebase(struct since *s, int reg, int64_t more)
{
	if (!is_pure(s, reg) || (s->base != ARCH_REG_SP && s->base != reg))
		return false;
	/* what was loaded by another base cannot be told any more */
	if (s->base != reg && (s->has_fp || s->has_saved))
		return false;
	s->base = reg;
	s->sp = more;
	return true;
}

static void write_register(struct since *s, int reg)
{
	if (reg < 0)
		return;
	s->written |= 1u << reg;
	s->has_fp &= reg != ARCH_REG_FP;
	s->has_saved &= reg != ARCH_REG_SAVED;
}

static void load_register(struct since *s, int reg, int64_t from)
{
	write_register(s, reg);
	if (reg == ARCH_REG_FP) {
		s->has_fp = true;
		s->fp_from = from;
	} else if (reg == ARCH_REG_SAVED) {
		s->has_saved = true;
		s->saved_from = from;
	}
}

/* Where memory lies, from the base on. */
static bool is_on_stack(const struct since *s, const struct insn_operand *op, int64_t *from)
{
	if (op->where != INSN_MEMORY || op->reg < 0)
		return false;
	*from = op->number + (op->reg == ARCH_REG_SP ? s->sp : 0);
	return op->reg == ARCH_REG_SP || (op->reg == s->base && is_pure(s, op->reg));
}

static enum step step_move(struct since *s, const struct insn *insn)
{
	const struct insn_operand *to = &insn->to, *source = &insn->from;
	const bool is_address = insn->kind == INSN_LEA;
	int64_t from;

	if (to->where != INSN_REGISTER)
		return STEP_ON;
	if (to->reg != ARCH_REG_SP) {
		if (!is_address && to->size == 8 && is_on_stack(s, source, &from))
			load_register(s, to->reg, from);
		else
			write_register(s, to->reg);
		return STEP_ON;
	}
	if (source->where == INSN_REGISTER)
		return rebase(s, source->reg, 0) ? STEP_ON : STEP_DEAD;
	if (!is_address || source->where != INSN_MEMORY)
		return STEP_DEAD;
	if (source->reg == ARCH_REG_SP) {
		s->sp += source->number;
		return STEP_ON;
	}
	return rebase(s, source->reg, source->number) ? STEP_ON : STEP_DEAD;
}

static enum step step_written(struct since *s, const struct insn *insn)
{
	for (unsigned int left = insn->writes; left; left &= left - 1)
		write_register(s, __builtin_ctz(left));
	return s->written >> ARCH_REG_SP & 1 ? STEP_DEAD : STEP_ON;
}

/* What an instruction does that neither jumps nor returns. */
static enum step step_plain(struct since *s, const struct insn *insn)
{
	const struct insn_operand *to = &insn->to;

	switch (insn->kind) {
	case INSN_PUSH:
		s->sp -= 8;
		return insn->is_short ? STEP_DEAD : STEP_ON;
	case INSN_POP:
		if (insn->is_short)
			return STEP_DEAD;
		if (to->where == INSN_REGISTER)
			load_register(s, to->reg, s->sp);
		s->sp += 8;
		return s->written >> ARCH_REG_SP & 1 ? STEP_DEAD : STEP_ON;
	case INSN_LEAVE:
		if (!rebase(s, ARCH_REG_FP, 0))
			return STEP_DEAD;
		load_register(s, ARCH_REG_FP, 0);
		s->sp = 8;
		return STEP_ON;
	case INSN_MOVE:
	case INSN_LEA:
		return step_move(s, insn);
	case INSN_ADD:
	case INSN_SUB:
		if (to->where != INSN_REGISTER || to->reg != ARCH_REG_SP || to->size != 8 ||
		    insn->from.where != INSN_NUMBER)
			return step_written(s, insn);
		s->sp += insn->kind == INSN_ADD ? insn->from.number : -insn->from.number;
		return STEP_ON;
	case INSN_CALL:
		if (insn->calls_next)
			s->sp -= 8;
		s->written |= (uint32_t)~ARCH_CALLEE_SAVED & 0xffff;
		return STEP_ON;
	default:
		return step_written(s, insn);
	}
}

/* The stack pointer is at the return address. */
static bool at_return(const struct since *s, struct stack_state *state)
{
	const int64_t cfa = s->sp + 8;
	int64_t fp = s->has_fp ? cfa - s->fp_from : 0,
		saved = s->has_saved ? cfa - s->saved_from : 0;

	if (cfa < 8 || cfa > INT16_MAX * 64 || fp < 0 || saved < 0 || fp > INT16_MAX ||
	    saved > INT16_MAX)
		return false;
	/*
	 * it was changed, and nothing was loaded: then the caller does not count on this register
	 */
	if ((s->written >> ARCH_REG_FP & 1 && !s->has_fp) ||
	    (s->written >> ARCH_REG_SAVED & 1 && !s->has_saved))
		return false;
	*state = (struct stack_state){.fp_at = (int32_t)fp, .saved_at = (int32_t)saved};
	state->fp_changed = fp != 0;
	state->saved_changed = saved != 0;
	if (s->base == ARCH_REG_SP) {
		state->sp = (int32_t)cfa;
	} else if (s->base == ARCH_REG_FP) {
		state->fp = (int32_t)cfa;
	} else {
		state->copy = (int32_t)cfa;
		state->copy_register = (uint8_t)s->base;
	}
	return true;
}

/* A place of which the state is known. */
static bool at_known(const struct since *s, const struct stack_state *known,
		     struct stack_state *state)
{
	int64_t sp = known->sp + s->sp;

	if (known->kind != STACK_PLAIN || !known->sp || s->base != ARCH_REG_SP || sp <= 0 ||
	    sp > INT32_MAX || s->has_fp || s->has_saved)
		return false;
	*state = (struct stack_state){
		.sp = (int32_t)sp,
		.fp_at = known->fp_at,
		.saved_at = known->saved_at,
		.fp_changed = known->fp_changed,
		.saved_changed = known->saved_changed,
	};
	if (known->fp && is_pure(s, ARCH_REG_FP))
		state->fp = known->fp;
	return true;
}

/* Goes on to where a jump leads to. */
static enum step jump(struct forward *f, uint64_t target, struct stack_state *state)
{
	uint32_t to;

	if (find_place(f->r, target, &to) && !(f->r->marks[to] & STARTS)) {
		f->now.at = to;
		f->piece = piece_at(f->r, to);
		return STEP_ON;
	}
	/* it hands on to another function, which returns for it */
	return at_return(&f->now, state) ? STEP_DONE : STEP_DEAD;
}

/* Whether another function is known to begin there. */
static bool is_start(const struct forward *f, uint32_t at)
{
	return at < f->piece->at + f->piece->size && f->r->marks[at] & STARTS;
}

/* Whether behind a call, which may not return, another function seems to stand. */
static bool at_function(const struct forward *f)
{
	const uint32_t at = f->now.at;

	return looks_like_start(f->r, f->piece, at) ||
	       (at < f->piece->at + f->piece->size && padding(f->r, f->piece, at));
}

static enum step step(struct forward *f, struct stack_state *state)
{
	struct reading *r = f->r;
	const uint32_t at = f->now.at;
	const struct insn *insn = &r->insn;
	enum step done;
	bool target;

	if (at < f->piece->at || at >= f->piece->at + f->piece->size)
		return STEP_DEAD;
	if (r->states[at] > 1)
		return at_known(&f->now, &r->seen.at[r->states[at] - 1], state) ? STEP_DONE
										: STEP_DEAD;
	if (!decode(r, f->piece, at))
		return STEP_DEAD;
	if (insn->kind == INSN_RETURN)
		return at_return(&f->now, state) ? STEP_DONE : STEP_DEAD;
	target = jumps(insn);
	f->now.at = at + insn->size;
	if (insn_ends(insn))
		return target ? jump(f, insn->target, state) : STEP_DEAD;
	/* behind a call that does not return, something else may stand */
	if (is_start(f, f->now.at))
		return STEP_DEAD;
	if (target) {
		struct since fork = f->now;

		if (f->fork_count < FORKS_MAX && find_place(r, insn->target, &fork.at))
			f->forks[f->fork_count++] = fork;
		return STEP_ON;
	}
	done = step_plain(&f->now, insn);
	return insn->kind == INSN_CALL && at_function(f) ? STEP_DEAD : done;
}

bool read_forward(struct reading *r, const struct piece *p, uint32_t at, struct stack_state *state)
{
	struct forward f = {.r = r, .piece = p, .now = {.base = ARCH_REG_SP, .at = at}};

	for (int i = 0; i < FORWARD_MAX && r->tries; i++, r->tries--) {
		enum step done = step(&f, state);

		if (done == STEP_DONE)
			return true;
		if (done == STEP_ON)
			continue;
		if (!f.fork_count)
			return false;
		f.now = f.forks[--f.fork_count];
		f.piece = piece_at(r, f.now.at);
	}
	return false;
}
