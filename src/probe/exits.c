// SPDX-License-Identifier: Apache-2.0
/*
 * Where a function ends: each "ret", and each jump to another function as its last deed. The code
 * is read from the first byte to the last. If that, or what a jump means, is in any doubt, the
 * answer is that it is not known: an end too many would be a lie, one too few makes calls last too
 * long.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/shapes.h"
#include "probe/internal.h"

/*
 * A function with its parts (".cold"); larger ones were made by generators of code, and have no end
 * worth it.
 */
#define CODE_MAX  ((size_t)1 << 20)
#define PARTS_MAX 4

/* Of a byte of code. */
#define BEGINS 1 /* an instruction */
#define TARGET 2 /* of a jump */
#define CALLED 4 /* from within the function */

/*
 * Words that the stack pointer and the frame pointer are below the entry's stack pointer, + 1; 0:
 * not known.
 */
struct depth {
	uint16_t sp, fp;
};

/* The function or one of its parts. */
struct piece {
	struct body body;
	size_t base; /* of its bytes in the scratch */
};

struct search {
	struct exits *exits;
	struct spans *spans;
	struct piece pieces[1 + PARTS_MAX];
	size_t count;
	bool jumps_out; /* there are jumps that need a second look */
};

static uint16_t to_words(int32_t bytes)
{
	return bytes < 0 || bytes % 8 || bytes / 8 >= UINT16_MAX ? 0 : (uint16_t)(bytes / 8 + 1);
}

static int32_t to_bytes(uint16_t words)
{
	return words ? (words - 1) * 8 : ISA_STACK_UNKNOWN;
}

static struct piece *piece_of(struct search *s, uint64_t address)
{
	for (size_t i = 0; i < s->count; i++)
		if (address >= s->pieces[i].body.address &&
		    address - s->pieces[i].body.address < s->pieces[i].body.size)
			return &s->pieces[i];
	return NULL;
}

/* Makes room in the scratch for a piece. 1, 0: it is too large, -ENOMEM. */
static int add_piece(struct search *s, const struct body *body)
{
	struct exits *e = s->exits;
	size_t base = 0, size;

	if (s->count)
		base = s->pieces[s->count - 1].base + s->pieces[s->count - 1].body.size;
	size = base + body->size;
	if (size > CODE_MAX)
		return 0;
	if (size > e->marks_room &&
	    (!vec_grow_raw((void **)&e->marks, &e->marks_room, size, sizeof(*e->marks))))
		return -ENOMEM;
	if (size > e->depths_room &&
	    (!vec_grow_raw((void **)&e->depths, &e->depths_room, size, sizeof(*e->depths))))
		return -ENOMEM;
	memset(e->marks + base, 0, body->size * sizeof(*e->marks));
	memset(e->depths + base, 0, body->size * sizeof(*e->depths));
	s->pieces[s->count++] = (struct piece){*body, base};
	return 1;
}

/* A part that is jumped to belongs to the function. */
static int add_part(struct search *s, const struct span *part)
{
	struct body body;
	uint8_t *copy;
	int got;

	if (s->count == 1 + PARTS_MAX || part->size > CODE_MAX)
		return 0;
	got = window_read(&s->exits->window, part->address, part->size, &body);
	if (got <= 0)
		return got;
	got = add_piece(s, &body);
	if (got <= 0)
		return got;
	/* the next part may push it out of the window */
	copy = malloc(body.size);
	if (!copy) {
		s->count--;
		return -ENOMEM;
	}
	memcpy(copy, body.code, body.size);
	s->pieces[s->count - 1].body.code = copy;
	return 1;
}

static int add_exit(struct search *s, uint64_t address, bool leaves)
{
	return vec_push(&s->exits->list, (struct exit_at){address, 0, leaves}) ? 1 : -ENOMEM;
}

/*
 * Does nothing happen there but a return? With -mfunction-return=thunk each one is a jump to the
 * same place, which drops the return address of a call within itself and returns, so that no
 * processor guesses where to.
 */
static int only_returns(struct search *s, const struct span *span)
{
	struct isa_insn insn;
	struct body b;
	uint64_t at = 0;
	size_t drop;
	int got = window_read(&s->exits->window, span->address, span->size, &b);

	if (got <= 0)
		return got;
	if (isa_read(&insn, b.code, b.size) && isa_flow(&insn) == ISA_FLOW_CALL) {
		at = isa_target(&insn, 0);
		if (at >= b.size)
			return 0;
		drop = shape_drops_word(b.code + at, b.size - at);
		if (!drop || drop == b.size - at)
			return 0;
		at += drop;
	}
	return isa_read(&insn, b.code + at, b.size - at) && isa_flow(&insn) == ISA_FLOW_RETURN;
}

/*
 * A "ret" that takes what was put on the stack just before is a jump. Thunks of retpolines put it
 * in place of the return address, to go where a register says: in that of the function, or of a
 * call within it, which is one word below. People push it.
 */
static int add_return(struct search *s, uint64_t address, const struct isa_insn *before,
		      bool is_called)
{
	bool pushes = isa_is_push(before);
	bool stores = isa_stores_innermost(before);

	if (!pushes && !stores)
		return add_exit(s, address, false);
	return vec_push(&s->exits->list, (struct exit_at){address, pushes || is_called, true})
		       ? 1
		       : -ENOMEM;
}

/* First look at a jump: 1, 0: it is not understood, -ENOMEM. */
static int look_at_jump(struct search *s, uint64_t target, bool branch)
{
	struct piece *to = piece_of(s, target);
	struct span *span;

	if (!to) {
		span = spans_find(s->spans, target, true);
		if (!span)
			return 0;
		if (span->is_part) {
			int added = add_part(s, span);

			if (added <= 0)
				return added;
			to = &s->pieces[s->count - 1];
		} else if (span->kind != SYMBOL_FUNCTION_LABEL &&
			   (branch || span->address != target)) {
			/* a probe on a branch would not know whether it is taken */
			return 0;
		} else {
			s->jumps_out = true;
			return 1;
		}
	}
	s->exits->marks[to->base + (target - to->body.address)] |= TARGET;
	return 1;
}

/* A call of what lies in the same piece. */
static void note_call(struct search *s, uint64_t target)
{
	struct piece *to = piece_of(s, target);

	if (to)
		s->exits->marks[to->base + (target - to->body.address)] |= CALLED;
}

/* Finds all instructions and the returns. 1, 0: not all can be understood, -ENOMEM. */
static int read_piece(struct search *s, size_t number)
{
	const struct body b = s->pieces[number].body;
	bool falls_out = true, is_called = false; /* the instruction before */
	struct isa_insn insn, before = {0};
	int going = 1;

	for (size_t at = 0; at < b.size && going > 0; at += insn.length, before = insn) {
		const size_t mark = s->pieces[number].base + at;
		uint64_t address = b.address + at;
		enum isa_flow flow;

		if (!isa_read(&insn, b.code + at, b.size - at))
			return 0;
		s->exits->marks[mark] |= BEGINS;
		flow = isa_flow(&insn);
		if (flow == ISA_FLOW_RETURN)
			going = isa_is_plain_return(&insn)
					? add_return(s, address, &before, is_called)
					: 0;
		else if (flow == ISA_FLOW_CALL)
			note_call(s, isa_target(&insn, address));
		else if (flow == ISA_FLOW_JUMP || flow == ISA_FLOW_BRANCH)
			going = look_at_jump(s, isa_target(&insn, address),
					     flow == ISA_FLOW_BRANCH);
		else if (flow == ISA_FLOW_JUMP_INDIRECT)
			s->jumps_out = true;
		/* behind a call that does not return there is nothing, or padding */
		if (!isa_is_nop(&insn))
			falls_out = flow == ISA_FLOW_NEXT || flow == ISA_FLOW_BRANCH;
		is_called = s->exits->marks[mark] & CALLED;
	}
	return going > 0 && falls_out ? 0 : going;
}

/* Whether all jumps lead to where instructions were seen. */
static bool is_sound(const struct search *s)
{
	const struct piece *last = &s->pieces[s->count - 1];

	for (size_t i = 0; i < last->base + last->body.size; i++)
		if ((s->exits->marks[i] & (BEGINS | TARGET)) == TARGET)
			return false;
	return true;
}

/* Remembers what holds where a jump leads to. */
static void set_target(struct search *s, uint64_t target, const struct isa_stack *stack)
{
	struct piece *to = piece_of(s, target);
	struct depth *depth;

	if (!to)
		return;
	depth = &s->exits->depths[to->base + (target - to->body.address)];
	if (!depth->sp)
		*depth = (struct depth){to_words(stack->sp), to_words(stack->fp)};
}

/* A jump to what is not a part of the function as far as symbols tell. */
static int judge_jump(struct search *s, uint64_t address, const struct isa_insn *insn,
		      const struct isa_stack *stack)
{
	uint64_t target = isa_target(insn, address);
	bool branch = isa_flow(insn) == ISA_FLOW_BRANCH;
	const struct span *span;
	int added, returns;

	if (piece_of(s, target))
		return 1;
	span = spans_find(s->spans, target, true);
	if (!span || stack->sp == ISA_STACK_UNKNOWN)
		return 0;
	if (!stack->sp) {
		if (branch || span->address != target || isa_cost(insn) == ISA_COST_REFUSED)
			return 0;
		returns = only_returns(s, span);
		return returns < 0 ? returns : add_exit(s, address, !returns);
	}
	/*
	 * code never leaves for a function with a frame of its own: where there is no name, it is a
	 * part
	 */
	if (span->kind != SYMBOL_FUNCTION_LABEL)
		return 0;
	added = add_part(s, span);
	return added > 0 ? read_piece(s, s->count - 1) : added;
}

static int judge_indirect(struct search *s, uint64_t address, const struct isa_insn *insn,
			  const struct recent *recent, const struct isa_stack *stack)
{
	/* above the entry: it has popped its return address, and may jump there */
	bool has_frame = stack->sp > 0 && stack->sp != ISA_STACK_UNKNOWN;
	enum indirect kind = classify_indirect(recent, insn);

	if (kind == INDIRECT_TABLE || has_frame)
		return 1;
	if (kind == INDIRECT_UNCLEAR || stack->sp || isa_cost(insn) == ISA_COST_REFUSED)
		return 0;
	return add_exit(s, address, true);
}

/* Goes through a piece once more and follows the stack pointer. */
static int judge_piece(struct search *s, size_t number)
{
	const struct piece *p = &s->pieces[number];
	struct isa_stack stack = {ISA_STACK_UNKNOWN, ISA_STACK_UNKNOWN}, table = stack;
	struct recent recent = {.count = 0};
	struct isa_insn insn;
	int going = 1;

	if (!number)
		stack.sp = 0;
	for (size_t at = 0; at < p->body.size && going > 0; at += insn.length) {
		uint64_t address = p->body.address + at;
		const struct depth told = s->exits->depths[p->base + at];
		enum isa_flow flow;

		if (!isa_read(&insn, p->body.code + at, p->body.size - at))
			return 0;
		/* the jump is right; before it may have been a call that does not return */
		if (told.sp)
			stack = (struct isa_stack){to_bytes(told.sp), to_bytes(told.fp)};
		flow = isa_flow(&insn);
		if (flow == ISA_FLOW_JUMP || flow == ISA_FLOW_BRANCH) {
			going = judge_jump(s, address, &insn, &stack);
			set_target(s, isa_target(&insn, address), &stack);
		} else if (flow == ISA_FLOW_JUMP_INDIRECT) {
			going = judge_indirect(s, address, &insn, &recent, &stack);
			table = stack;
		}
		isa_stack_step(&stack, &insn);
		recent_add(&recent, &insn);
		if (flow == ISA_FLOW_JUMP || flow == ISA_FLOW_JUMP_INDIRECT ||
		    flow == ISA_FLOW_RETURN || flow == ISA_FLOW_STOP) {
			/* what follows is reached from before, or it is a case of the switch */
			stack = table;
			recent.count = 0;
		}
	}
	return going;
}

int find_exits(struct exits *exits, struct spans *spans, const struct body *body)
{
	struct search s = {.exits = exits, .spans = spans};
	int going = add_piece(&s, body);

	exits->list.count = 0;
	exits->window.image = spans->window.image;
	for (size_t i = 0; i < s.count && going > 0; i++)
		going = read_piece(&s, i);
	for (size_t i = 0; i < s.count && going > 0 && s.jumps_out; i++)
		going = judge_piece(&s, i);
	if (going > 0)
		going = is_sound(&s);
	for (size_t i = 1; i < s.count; i++)
		free((uint8_t *)s.pieces[i].body.code);
	if (going <= 0)
		exits->list.count = 0;
	return going;
}

void exits_free(struct exits *exits)
{
	vec_free(&exits->list);
	free(exits->marks);
	free(exits->depths);
	window_free(&exits->window);
	*exits = (struct exits){0};
}
