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
	bool has_rbp, has_rbx;
	int64_t rbp_from, rbx_from; /* where the caller's was loaded from, if so */
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
	if (!is_pure(s, reg) || (s->base != STACK_RSP && s->base != reg))
		return false;
	/* what was loaded by another base cannot be told any more */
	if (s->base != reg && (s->has_rbp || s->has_rbx))
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
	s->has_rbp &= reg != STACK_RBP;
	s->has_rbx &= reg != STACK_RBX;
}

static void load_register(struct since *s, int reg, int64_t from)
{
	write_register(s, reg);
	if (reg == STACK_RBP) {
		s->has_rbp = true;
		s->rbp_from = from;
	} else if (reg == STACK_RBX) {
		s->has_rbx = true;
		s->rbx_from = from;
	}
}

/* Where memory lies, from the base on. */
static bool is_on_stack(const struct since *s, const cs_x86_op *op, int64_t *from)
{
	int reg;

	if (op->type != X86_OP_MEM || op->mem.index != X86_REG_INVALID ||
	    op->mem.segment != X86_REG_INVALID || op->mem.base == X86_REG_INVALID)
		return false;
	reg = stack_register(op->mem.base);
	*from = op->mem.disp + (reg == STACK_RSP ? s->sp : 0);
	return reg == STACK_RSP || (reg == s->base && is_pure(s, reg));
}

static enum step step_move(struct since *s, const cs_x86_op *op, bool is_address)
{
	int to = op[0].type == X86_OP_REG ? stack_register(op[0].reg) : -1, base;
	int64_t from;

	if (to < 0)
		return STEP_ON;
	if (to != STACK_RSP) {
		if (!is_address && op[0].size == 8 && is_on_stack(s, &op[1], &from))
			load_register(s, to, from);
		else
			write_register(s, to);
		return STEP_ON;
	}
	if (op[1].type == X86_OP_REG && !is_address)
		return rebase(s, stack_register(op[1].reg), 0) ? STEP_ON : STEP_DEAD;
	if (!is_address || op[1].type != X86_OP_MEM || op[1].mem.index != X86_REG_INVALID ||
	    op[1].mem.base == X86_REG_INVALID)
		return STEP_DEAD;
	base = stack_register(op[1].mem.base);
	if (base == STACK_RSP) {
		s->sp += op[1].mem.disp;
		return STEP_ON;
	}
	return rebase(s, base, op[1].mem.disp) ? STEP_ON : STEP_DEAD;
}

static enum step step_written(struct since *s, const cs_insn *insn)
{
	const cs_detail *detail = insn->detail;
	const cs_x86 *x = &detail->x86;
	int i;

	for (i = 0; i < detail->regs_write_count; i++)
		write_register(s, stack_register(detail->regs_write[i]));
	for (i = 0; i < x->op_count; i++) {
		if (x->operands[i].type == X86_OP_REG && x->operands[i].access & CS_AC_WRITE)
			write_register(s, stack_register(x->operands[i].reg));
	}
	return s->written >> STACK_RSP & 1 ? STEP_DEAD : STEP_ON;
}

/* What an instruction does that neither jumps nor returns. */
static enum step step_plain(struct since *s, const cs_insn *insn)
{
	const cs_x86 *x = &insn->detail->x86;
	const cs_x86_op *op = x->operands;

	switch (insn->id) {
	case X86_INS_PUSH:
	case X86_INS_PUSHFQ:
		s->sp -= 8;
		return x->prefix[2] == 0x66 ? STEP_DEAD : STEP_ON;
	case X86_INS_POP:
	case X86_INS_POPFQ:
		if (x->prefix[2] == 0x66)
			return STEP_DEAD;
		if (insn->id == X86_INS_POP && op[0].type == X86_OP_REG)
			load_register(s, stack_register(op[0].reg), s->sp);
		s->sp += 8;
		return s->written >> STACK_RSP & 1 ? STEP_DEAD : STEP_ON;
	case X86_INS_LEAVE:
		if (!rebase(s, STACK_RBP, 0))
			return STEP_DEAD;
		load_register(s, STACK_RBP, 0);
		s->sp = 8;
		return STEP_ON;
	case X86_INS_MOV:
		return step_move(s, op, false);
	case X86_INS_LEA:
		return step_move(s, op, true);
	case X86_INS_ADD:
	case X86_INS_SUB:
		if (op[0].type != X86_OP_REG || op[0].reg != X86_REG_RSP ||
		    op[1].type != X86_OP_IMM)
			return step_written(s, insn);
		s->sp += insn->id == X86_INS_ADD ? op[1].imm : -op[1].imm;
		return STEP_ON;
	case X86_INS_CALL:
		if (op[0].type == X86_OP_IMM && (uint64_t)op[0].imm == insn->address + insn->size)
			s->sp -= 8;
		s->written |=
			(uint32_t) ~(1 << STACK_RBX | 1 << STACK_RBP | 1 << STACK_RSP | 0xf000) &
			0xffff;
		return STEP_ON;
	default:
		return step_written(s, insn);
	}
}

/* The stack pointer is at the return address. */
static bool at_return(const struct since *s, struct stack_state *state)
{
	const int64_t cfa = s->sp + 8;
	int64_t rbp = s->has_rbp ? cfa - s->rbp_from : 0, rbx = s->has_rbx ? cfa - s->rbx_from : 0;

	if (cfa < 8 || cfa > INT16_MAX * 64 || rbp < 0 || rbx < 0 || rbp > INT16_MAX ||
	    rbx > INT16_MAX)
		return false;
	/*
	 * it was changed, and nothing was loaded: then the caller does not count on this register
	 */
	if ((s->written >> STACK_RBP & 1 && !s->has_rbp) ||
	    (s->written >> STACK_RBX & 1 && !s->has_rbx))
		return false;
	*state = (struct stack_state){.rbp_at = (int32_t)rbp, .rbx_at = (int32_t)rbx};
	state->rbp_changed = rbp != 0;
	state->rbx_changed = rbx != 0;
	if (s->base == STACK_RSP) {
		state->sp = (int32_t)cfa;
	} else if (s->base == STACK_RBP) {
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

	if (known->kind != STACK_PLAIN || !known->sp || s->base != STACK_RSP || sp <= 0 ||
	    sp > INT32_MAX || s->has_rbp || s->has_rbx)
		return false;
	*state = (struct stack_state){
		.sp = (int32_t)sp,
		.rbp_at = known->rbp_at,
		.rbx_at = known->rbx_at,
		.rbp_changed = known->rbp_changed,
		.rbx_changed = known->rbx_changed,
	};
	if (known->fp && is_pure(s, STACK_RBP))
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

static enum step step(struct forward *f, struct stack_state *state)
{
	struct reading *r = f->r;
	const uint32_t at = f->now.at;
	const int64_t *target;
	if (at < f->piece->at || at >= f->piece->at + f->piece->size)
		return STEP_DEAD;
	if (r->states[at] > 1)
		return at_known(&f->now, &r->seen.at[r->states[at] - 1], state) ? STEP_DONE
										: STEP_DEAD;
	if (!decode(r, f->piece, at))
		return STEP_DEAD;
	if (r->dis.insn->id == X86_INS_RET)
		return at_return(&f->now, state) ? STEP_DONE : STEP_DEAD;
	target = jumps_to(r->dis.insn);
	f->now.at = at + r->dis.insn->size;
	if (is_end(r->dis.insn))
		return target ? jump(f, (uint64_t)*target, state) : STEP_DEAD;
	/* behind a call that does not return, something else may stand */
	if (is_start(f, f->now.at))
		return STEP_DEAD;
	if (target) {
		struct since fork = f->now;

		if (f->fork_count < FORKS_MAX && find_place(r, (uint64_t)*target, &fork.at))
			f->forks[f->fork_count++] = fork;
		return STEP_ON;
	}
	if (r->dis.insn->id == X86_INS_CALL) {
		enum step done = step_plain(&f->now, r->dis.insn);

		return f->now.at < f->piece->at + f->piece->size && padding(r, f->piece, f->now.at)
			       ? STEP_DEAD
			       : done;
	}
	return step_plain(&f->now, r->dis.insn);
}

bool read_forward(struct reading *r, const struct piece *p, uint32_t at, struct stack_state *state)
{
	struct forward f = {.r = r, .piece = p, .now = {.base = STACK_RSP, .at = at}};

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
