// SPDX-License-Identifier: Apache-2.0
/*
 * Functions that nothing can unwind, leave on another stack or look up the stack from, but a signal
 * handler on top of them: they call nothing that could, move the stack pointer as compilers do, and
 * have no way to their return address (arch/isa.h). The return probe is safe there while no
 * handler can run, which the kernel side asks at each call (src/bpf/calls/calm.h).
 *
 * Each way through the function is followed. What cannot be, such as a jump through a table, makes
 * it none of these.
 */
#include <errno.h>
#include <stdlib.h>

#include "probe/internal.h"
#include "probe/refusals.h"

/* Different functions that one calls, and how deep those are looked at. */
#define CALLEES_MAX 24
#define DEPTH_MAX   24

/* Larger functions take their time: what a probe adds to that matters little. */
#define LEAF_SIZE_MAX ((uint64_t)64 << 10)

struct callees {
	struct span *at[CALLEES_MAX];
	size_t count;
};

/* What is known where an instruction begins. */
struct leaf_place {
	struct isa_sealed stack;
	bool is_reached, is_waiting; /* waiting: what follows is not followed yet */
};

struct following {
	struct spans *spans;
	const struct span *span;
	const struct body *body;
	struct callees callees;
	struct leaf_place *places; /* of each byte */
	vec(uint32_t) waiting;
};

/* false: what is called there may throw, or look at the stack, as far as is known. */
static bool add_callee(struct following *f, uint64_t address)
{
	struct callees *callees = &f->callees;
	struct span *callee;

	/* into itself: a thunk within it, or what follows, is called */
	if (address - f->span->address < f->span->size)
		return address == f->span->address;
	callee = spans_find(f->spans, address, false);
	if (!callee)
		return false;
	if (callee->kind == SYMBOL_FUNCTION_STUB) {
		const struct symbol_function *s = &f->spans->names->at[callee->symbol];

		return call_is_pure(symbol_functions_text(f->spans->names, s->library),
				    symbol_functions_text(f->spans->names, s->name));
	}
	if (callee->kind == SYMBOL_FUNCTION_RESOLVER || callee->kind == SYMBOL_FUNCTION_OWN_STUB ||
	    callee->leaf == LEAF_NO)
		return false;
	for (size_t i = 0; i < callees->count; i++)
		if (callees->at[i] == callee)
			return true;
	if (callees->count == CALLEES_MAX)
		return false;
	callees->at[callees->count++] = callee;
	return true;
}

/* As its caller expects it: at a return, and where another function takes the call over. */
static bool is_as_at_entry(const struct isa_sealed *stack)
{
	return !stack->sp && stack->fp == ISA_SEALED_CALLERS;
}

/* The stack is like that where an instruction begins. 1, 0: not as on another way, -ENOMEM. */
static int reach(struct following *f, uint64_t at, const struct isa_sealed *stack)
{
	struct leaf_place *place;
	bool changes = true;

	if (at >= f->body->size)
		return 0;
	place = &f->places[at];
	if (place->is_reached && !isa_sealed_join(&place->stack, stack, &changes))
		return 0;
	if (!place->is_reached)
		place->stack = *stack;
	place->is_reached = true;
	if (!changes || place->is_waiting)
		return 1;
	place->is_waiting = true;
	return vec_push(&f->waiting, (uint32_t)at) ? 1 : -ENOMEM;
}

static int jump(struct following *f, uint64_t target, const struct isa_sealed *stack)
{
	uint64_t within = target - f->body->address;

	if (within < f->body->size)
		return reach(f, within, stack);
	return is_as_at_entry(stack) && add_callee(f, target);
}

/* Goes from one instruction to those that follow. 1, 0: it is none of these functions, -ENOMEM. */
static int follow(struct following *f, uint32_t at)
{
	const struct body *b = f->body;
	struct isa_sealed stack = f->places[at].stack;
	struct isa_insn insn;
	uint64_t target;
	int going = 1;

	if (!isa_read(&insn, b->code + at, b->size - at) ||
	    !isa_sealed_step(&stack, &insn, b->code + at))
		return 0;
	target = isa_target(&insn, b->address + at);
	switch (isa_flow(&insn)) {
	case ISA_FLOW_STOP:
		return 1;
	case ISA_FLOW_RETURN:
		return isa_is_plain_return(&insn) && is_as_at_entry(&stack);
	case ISA_FLOW_JUMP:
		return jump(f, target, &stack);
	case ISA_FLOW_CALL:
		going = add_callee(f, target);
		break;
	case ISA_FLOW_BRANCH:
		going = jump(f, target, &stack);
		break;
	case ISA_FLOW_CALL_INDIRECT:
	case ISA_FLOW_JUMP_INDIRECT:
		return 0;
	case ISA_FLOW_NEXT:
		break;
	}
	return going > 0 ? reach(f, at + insn.length, &stack) : going;
}

/* Follows all ways through the function. 1, 0, or -ENOMEM. */
static int follow_all(struct following *f)
{
	const struct isa_sealed entry = {.fp = ISA_SEALED_CALLERS};
	int going = 0;

	f->places = calloc(f->body->size, sizeof(*f->places));
	if (f->places)
		going = reach(f, 0, &entry);
	else
		going = -ENOMEM;
	while (going > 0 && f->waiting.count) {
		uint32_t at = f->waiting.at[--f->waiting.count];

		f->places[at].is_waiting = false;
		going = follow(f, at);
	}
	free(f->places);
	vec_free(&f->waiting);
	return going;
}

static int ask(struct spans *spans, struct span *span, unsigned int depth);

static int ask_callees(struct spans *spans, const struct callees *callees, unsigned int depth)
{
	int leaf = 1;

	for (size_t i = 0; i < callees->count && leaf > 0; i++)
		leaf = ask(spans, callees->at[i], depth + 1);
	return leaf;
}

static int ask(struct spans *spans, struct span *span, unsigned int depth)
{
	struct following following = {.spans = spans, .span = span};
	struct body body;
	int leaf;

	if (span->leaf == LEAF_YES || span->leaf == LEAF_NO)
		return span->leaf == LEAF_YES;
	/* functions that call each other in a circle are not followed */
	if (span->leaf == LEAF_BEING_ASKED || depth == DEPTH_MAX || !span->size ||
	    span->size > LEAF_SIZE_MAX || span->size > spans->budget)
		return 0;
	span->leaf = LEAF_BEING_ASKED;
	spans->budget -= span->size;
	following.body = &body;
	leaf = window_read(&spans->window, span->address, span->size, &body);
	if (leaf > 0)
		leaf = follow_all(&following);
	if (leaf > 0)
		leaf = ask_callees(spans, &following.callees, depth);
	span->leaf = leaf > 0 ? LEAF_YES : LEAF_NO;
	return leaf;
}

int is_leaf(struct spans *spans, struct span *span)
{
	return ask(spans, span, 0);
}
