// SPDX-License-Identifier: Apache-2.0
/*
 * Functions that nothing can unwind or leave on another stack, but a signal handler on top of them:
 * they call nothing that could, and move the stack pointer as compilers do. The return probe is
 * safe there while no handler can run, which the kernel side asks at each call
 * (src/bpf/calls_calm.h).
 */
#include <errno.h>

#include "probe/internal.h"
#include "probe/refusals.h"

/* Different functions that one calls, and how deep those are looked at. */
#define CALLEES_MAX 24
#define DEPTH_MAX   24

struct callees {
	struct span *at[CALLEES_MAX];
	size_t count;
};

/* false: what is called there may throw, as far as is known. */
static bool add_callee(struct spans *spans, const struct span *span, uint64_t address,
		       struct callees *callees)
{
	struct span *callee;

	if (address >= span->address && address - span->address < span->size)
		return true;
	callee = spans_find(spans, address, false);
	if (!callee)
		return false;
	if (callee->kind == SYMBOL_FUNCTION_STUB) {
		const struct symbol_function *f = &spans->names->at[callee->symbol];

		return call_is_pure(symbol_functions_text(spans->names, f->library),
				    symbol_functions_text(spans->names, f->name));
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

/* How much is on the stack behind a jump is not known: what stands for it. */
#define SOMEWHERE (1 << 20)

static bool ends_piece(enum isa_flow flow)
{
	return flow == ISA_FLOW_JUMP || flow == ISA_FLOW_JUMP_INDIRECT || flow == ISA_FLOW_RETURN ||
	       flow == ISA_FLOW_STOP;
}

/* Follows the stack pointer over an instruction; false: it may be on another stack behind it. */
static bool keeps_stack(struct isa_stack *stack, const struct isa_insn *insn)
{
	bool known = stack->sp != ISA_STACK_UNKNOWN;
	struct isa_stack next = {known ? stack->sp : SOMEWHERE, stack->fp};

	isa_stack_step(&next, insn);
	if (next.sp == ISA_STACK_UNKNOWN)
		return false;
	if (!known && next.fp != stack->fp)
		next.fp = ISA_STACK_UNKNOWN;
	if (!known || ends_piece(isa_flow(insn)))
		next.sp = ISA_STACK_UNKNOWN;
	*stack = next;
	return true;
}

/* All that the function calls or jumps to; false: it may call anything. */
static bool find_callees(struct spans *spans, const struct span *span, const struct body *b,
			 struct callees *callees)
{
	struct recent recent = {.count = 0};
	struct isa_stack stack = {.sp = 0, .fp = ISA_STACK_UNKNOWN};
	struct isa_insn insn;

	for (size_t at = 0; at < b->size; at += insn.length) {
		if (!isa_read(&insn, b->code + at, b->size - at) || isa_is_system_call(&insn) ||
		    isa_names_return(&stack, &insn) || !keeps_stack(&stack, &insn))
			return false;
		switch (isa_flow(&insn)) {
		case ISA_FLOW_CALL:
		case ISA_FLOW_JUMP:
		case ISA_FLOW_BRANCH:
			if (!add_callee(spans, span, isa_target(&insn, b->address + at), callees))
				return false;
			break;
		case ISA_FLOW_CALL_INDIRECT:
			return false;
		case ISA_FLOW_JUMP_INDIRECT:
			if (classify_indirect(&recent, &insn) != INDIRECT_TABLE)
				return false;
			break;
		default:
			break;
		}
		recent_add(&recent, &insn);
	}
	return true;
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
	struct callees callees = {.count = 0};
	struct body body;
	int leaf;

	if (span->leaf == LEAF_YES || span->leaf == LEAF_NO)
		return span->leaf == LEAF_YES;
	/* functions that call each other in a circle are not followed */
	if (span->leaf == LEAF_BEING_ASKED || depth == DEPTH_MAX || !span->size ||
	    span->size > spans->budget)
		return 0;
	span->leaf = LEAF_BEING_ASKED;
	spans->budget -= span->size;
	leaf = window_read(&spans->window, span->address, span->size, &body);
	if (leaf > 0)
		leaf = find_callees(spans, span, &body, &callees);
	if (leaf > 0)
		leaf = ask_callees(spans, &callees, depth);
	span->leaf = leaf > 0 ? LEAF_YES : LEAF_NO;
	return leaf;
}

int is_leaf(struct spans *spans, struct span *span)
{
	return ask(spans, span, 0);
}
