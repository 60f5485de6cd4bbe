// SPDX-License-Identifier: Apache-2.0
/*
 * Where a probe on a function's entry is cheapest. The kernel emulates a few instructions and
 * executes all others out of line, with a trap behind them, which takes several times as long. So
 * the probe moves from the first instruction to the first one that is emulated, if all that is
 * between only computes, and no way leads there but from the function's beginning.
 */
#include "probe/internal.h"

#include <string.h>

#define SLIDE_INSNS 12
#define SLIDE_BYTES 64
#define REL8_REACH  130

/* Whether any bytes could be a jump or call to (0, probe], however they are read. */
static bool might_land(const struct body *b, uint32_t probe)
{
	size_t near = b->size < probe + REL8_REACH ? b->size : probe + REL8_REACH;

	for (size_t i = 0; i + 2 <= near; i++) {
		uint8_t o = b->code[i];
		int64_t to = (int64_t)i + 2 + (int8_t)b->code[i + 1];

		if (to > 0 && to <= probe &&
		    ((o >= 0x70 && o <= 0x7f) || o == 0xeb || (o >= 0xe0 && o <= 0xe3)))
			return true;
	}
	for (size_t i = 1; i + 4 <= b->size; i++) {
		int32_t distance;
		int64_t to;

		memcpy(&distance, b->code + i, sizeof(distance));
		to = (int64_t)i + 4 + distance;
		if (to > 0 && to <= probe)
			return true;
	}
	return false;
}

/* Whether bytes could be a jump to where a register or a table says. */
static bool might_jump_anywhere(const struct body *b)
{
	const uint8_t *at = b->code, *end = b->code + b->size;

	while (at + 1 < end && (at = memchr(at, 0xff, (size_t)(end - at - 1)))) {
		if ((at[1] >> 3 & 7) == 4 && at[1] != 0x25) /* 25: through the GOT */
			return true;
		at++;
	}
	return false;
}

/* The same for certain, but for code that cannot be read to its end: then true. */
static bool does_land(const struct body *b, uint32_t probe, bool anywhere)
{
	struct isa_insn insn;

	for (size_t at = 0; at < b->size; at += insn.length) {
		enum isa_flow flow;

		if (!isa_read(&insn, b->code + at, b->size - at))
			return true;
		flow = isa_flow(&insn);
		if (flow == ISA_FLOW_JUMP || flow == ISA_FLOW_BRANCH || flow == ISA_FLOW_CALL) {
			uint64_t to = isa_target(&insn, at);

			if (to > 0 && to <= probe)
				return true;
		} else if (flow == ISA_FLOW_JUMP_INDIRECT && anywhere) {
			return true;
		}
	}
	return false;
}

static bool is_landed_on(const struct body *b, uint32_t probe, const struct isa_insn *insn)
{
	bool anywhere = !isa_is_push(insn) && might_jump_anywhere(b);

	return (anywhere || might_land(b, probe)) && does_land(b, probe, anywhere);
}

/* Fills *found if the instruction at that place is better than the first one. */
static bool choose_insn(const struct entry_wish *wish, uint32_t at, const struct isa_insn *insn,
			int32_t sp, struct entry *found)
{
	if (isa_cost(insn) != ISA_COST_EMULATED || sp < 0 || sp % 8 || sp / 8 > UINT16_MAX ||
	    at >= wish->limit)
		return false;
	*found = (struct entry){
		.at = at,
		.words = (uint16_t)(sp / 8),
		.cost = PROBE_COST_FAST,
	};
	return true;
}

static bool slide(const struct body *b, const struct entry_wish *wish, size_t at,
		  struct entry *found)
{
	struct isa_stack stack = {.sp = 0, .fp = ISA_STACK_UNKNOWN};
	struct isa_insn insn;

	for (int i = 0; i < SLIDE_INSNS && at < b->size && at <= SLIDE_BYTES; i++) {
		if (!isa_read(&insn, b->code + at, b->size - at) ||
		    isa_cost(&insn) == ISA_COST_REFUSED)
			return false;
		if (choose_insn(wish, (uint32_t)at, &insn, stack.sp, found))
			return !at || !is_landed_on(b, (uint32_t)at, &insn);
		if (!isa_is_light(&insn))
			return false;
		isa_stack_step(&stack, &insn);
		if (stack.sp == ISA_STACK_UNKNOWN || (stack.sp && !wish->moves))
			return false;
		at += insn.length;
	}
	return false;
}

/*
 * May it go before the probe that cannot be on it? With "lock" it only computes. Where arguments
 * are to be found, it leaves all registers as they were.
 */
static bool may_go_first(const struct entry_wish *wish, const struct isa_insn *insn)
{
	if (wish->stays)
		return isa_is_only_on_memory(insn);
	return isa_flow(insn) == ISA_FLOW_NEXT && !isa_is_system_call(insn);
}

/*
 * The first instruction from there on that a probe may replace, at any cost. False: there is
 * none, or another way leads to it.
 */
static bool choose_slow(const struct body *b, const struct entry_wish *wish, size_t at,
			struct entry *found)
{
	struct isa_stack stack = {.sp = 0, .fp = ISA_STACK_UNKNOWN};
	size_t first = at;
	struct isa_insn insn;

	for (; at < b->size && at <= SLIDE_BYTES; at += insn.length) {
		if ((at != first && at >= wish->limit) ||
		    !isa_read(&insn, b->code + at, b->size - at))
			return false;
		*found = (struct entry){.at = (uint32_t)at, .cost = PROBE_COST_SLOW};
		if (isa_cost(&insn) != ISA_COST_REPLACED && isa_cost(&insn) != ISA_COST_REFUSED)
			return !at || !is_landed_on(b, (uint32_t)at, &insn);
		if (isa_cost(&insn) == ISA_COST_REFUSED && !may_go_first(wish, &insn))
			return false;
		isa_stack_step(&stack, &insn);
		if (stack.sp)
			return false;
	}
	return false;
}

/*
 * The first instruction at any cost; where that is "endbr64" with a push behind it, which costs
 * less, the push: all is there as it was, and no jump leads to it.
 */
static bool stay(const struct body *b, const struct entry_wish *wish, size_t at,
		 struct entry *found)
{
	const size_t landing = at < b->size ? isa_landing(b->code + at, b->size - at) : 0;
	const size_t behind = at + landing;
	struct isa_insn insn;

	if (landing && behind < b->size && behind < wish->limit &&
	    isa_read(&insn, b->code + behind, b->size - behind) && isa_is_push(&insn) &&
	    choose_insn(wish, (uint32_t)behind, &insn, 0, found))
		return true;
	if (isa_read(&insn, b->code + at, b->size - at) &&
	    choose_insn(wish, (uint32_t)at, &insn, 0, found))
		return true;
	return choose_slow(b, wish, at, found);
}

/*
 * Behind the check for room a Go function really begins: without room it starts again from the top,
 * and a probe there would see it twice.
 */
static bool skip_stack_check(const struct body *b, const struct entry_wish *wish,
			     struct entry *found)
{
	size_t at = isa_go_stack_check(b->code, b->size);

	if (at && at < b->size && at < wish->limit && wish->stays)
		return stay(b, wish, at, found);
	return at && at < b->size && at < wish->limit &&
	       (slide(b, wish, at, found) || choose_slow(b, wish, at, found));
}

bool place_entry(const struct body *b, const struct entry_wish *wish, struct entry *entry)
{
	if (wish->stays)
		return (wish->is_go && skip_stack_check(b, wish, entry)) || stay(b, wish, 0, entry);
	return (wish->is_go && skip_stack_check(b, wish, entry)) || slide(b, wish, 0, entry) ||
	       choose_slow(b, wish, 0, entry);
}
