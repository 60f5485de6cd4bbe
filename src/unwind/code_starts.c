// SPDX-License-Identifier: Apache-2.0
#include "unwind/code_starts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/insn.h"
#include "arch/isa.h"
#include "arch/shapes.h"

/*
 * A jump forward that is longer leads to another function: the last thing that its own does is to
 * call that.
 */
#define LEAP_MAX 4096

/* What is known of a byte of the code. */
enum {
	FORCED = 1, /* a function begins here, regardless of the code before */
	START = 2,
};

struct sweep {
	const struct code_starts_of *of;
	uint8_t *marks;	     /* one more than there is code */
	struct insn insn;    /* the one that was decoded last */
	size_t start, reach; /* of the function at hand; how far it is known to go */
	bool leaps;	     /* it jumps to where a register or memory says */
};

typedef vec(size_t) places;

static bool is_in(const struct sweep *s, uint64_t address)
{
	return address >= s->of->address && address - s->of->address < s->of->size;
}

static bool decode(struct sweep *s, size_t at)
{
	return insn_read(&s->insn, s->of->code + at, s->of->size - at, s->of->address + at);
}

/* A landing mark, or the instructions that make a frame pointer: nothing else has them. */
static bool is_prologue(const struct sweep *s, size_t at)
{
	const uint8_t *code = s->of->code + at;
	const size_t left = s->of->size - at;

	return isa_landing(code, left) || shape_makes_frame(code, left);
}

/* No-ops, traps and zeros from a place on. */
static size_t padding(struct sweep *s, size_t from)
{
	size_t at = from;

	while (at < s->of->size) {
		uint8_t byte = s->of->code[at];

		if (shape_fills(byte))
			at++;
		else if (!is_prologue(s, at) && decode(s, at) && s->insn.kind == INSN_NOP)
			at += s->insn.size;
		else
			break;
	}
	return at - from;
}

/* What is called is a function; a call of what follows only asks where it is. */
static void find_called(struct sweep *s)
{
	for (size_t at = 0; at < s->of->size;) {
		const struct insn *insn = &s->insn;

		if (!decode(s, at)) {
			at++;
			continue;
		}
		if (insn->kind == INSN_CALL && insn->has_target && !insn->calls_next &&
		    is_in(s, insn->target))
			s->marks[insn->target - s->of->address] = FORCED;
		at += s->insn.size;
	}
}

static void begin(struct sweep *s, size_t at)
{
	s->marks[at] |= START;
	s->start = s->reach = at;
	s->leaps = false;
}

/*
 * A jump back behind the start of the function at hand: what it leads to is a part of that
 * function.
 */
static void join(struct sweep *s, size_t to)
{
	size_t at = s->start;

	for (; at > to && !(s->marks[at] & FORCED); at--)
		s->marks[at] &= (uint8_t)~START;
	while (at && !(s->marks[at] & START))
		at--;
	s->start = at;
}

static void follow_jump(struct sweep *s, size_t at)
{
	const bool always = s->insn.kind == INSN_JUMP;
	size_t to;

	if (!s->insn.has_target) {
		s->leaps |= always;
		return;
	}
	if (!is_in(s, s->insn.target))
		return;
	to = s->insn.target - s->of->address;
	if (to >= at) {
		if (!(s->marks[to] & FORCED) && !(always && to - at > LEAP_MAX) && to > s->reach)
			s->reach = to;
	} else if (to < s->start && !(s->marks[to] & START) && s->start - to <= LEAP_MAX) {
		join(s, to);
	}
}

/*
 * Behind code that does not lead on: does a function begin at next, with so much padding before it?
 */
static bool begins(const struct sweep *s, size_t next, size_t padded)
{
	uint64_t address = s->of->address + next;

	if (s->reach >= next)
		return false;
	if (s->of->is_aligned && address % 16)
		return false;
	/* cases of a switch stand behind each other like functions */
	return !s->leaps || (padded && address % 16 == 0);
}

static void find_all(struct sweep *s)
{
	bool any = s->of->is_start;
	size_t at = 0;

	if (any)
		begin(s, 0);
	while (at < s->of->size) {
		size_t padded, last;

		if ((s->marks[at] & FORCED || is_prologue(s, at)) && (at || !any)) {
			begin(s, at);
			any = true;
		}
		last = insn_sigreturn(s->of->code + at, s->of->size - at);
		if (!last && !decode(s, at)) {
			at++;
			continue;
		}
		if (!last && (s->insn.kind == INSN_JUMP || s->insn.kind == INSN_BRANCH))
			follow_jump(s, at);
		at += last ? last : s->insn.size;
		if (!last && !insn_ends(&s->insn))
			continue;
		padded = padding(s, at);
		if (at + padded < s->of->size && begins(s, at + padded, padded)) {
			at += padded;
			begin(s, at);
		}
	}
}

static int emit_functions(const struct sweep *s, code_functions *functions)
{
	size_t start = 0, at;
	bool any = false;

	for (at = 0; at <= s->of->size; at++) {
		if (at < s->of->size ? !(s->marks[at] & START) : !s->of->is_end)
			continue;
		if (any && !vec_push(functions,
				     (struct code_function){s->of->address + start, at - start}))
			return -ENOMEM;
		start = at;
		any = true;
	}
	return 0;
}

int code_starts_add(const struct code_starts_of *of, code_functions *functions)
{
	struct sweep s = {.of = of, .marks = calloc(of->size + 1, 1)};
	int err = -ENOMEM;

	if (!s.marks)
		return err;
	for (size_t i = 0; i < of->known_count; i++)
		if (is_in(&s, of->known[i]))
			s.marks[of->known[i] - of->address] = FORCED;
	find_called(&s);
	find_all(&s);
	err = emit_functions(&s, functions);
	free(s.marks);
	return err;
}

/* Goes on from a place until the code ends, or meets what was seen. */
static bool follow(struct sweep *s, size_t at, size_t to, places *open, bool *leads)
{
	*leads = false;
	while (at < s->of->size && !s->marks[at] && decode(s, at)) {
		const struct insn insn = s->insn;
		uint64_t target = insn.target;

		s->marks[at] = START;
		*leads |= to >= at && to - at < insn.size;
		if (insn.has_target && target < s->of->size &&
		    (insn.kind == INSN_BRANCH || (insn.kind == INSN_JUMP && target < at)) &&
		    !vec_push(open, (size_t)target))
			return false;
		at += insn.size;
		/* a function that does not return was called */
		if (*leads || insn_ends(&insn) || (insn.kind == INSN_CALL && padding(s, at)))
			break;
	}
	return true;
}

bool code_leads_to(const uint8_t *code, size_t size, size_t to)
{
	const struct code_starts_of of = {.code = code, .size = size};
	struct sweep s = {.of = &of, .marks = calloc(size + 1, 1)};
	places open = {0};
	bool leads = false, good = s.marks && vec_push(&open, 0);

	while (good && !leads && open.count)
		good = follow(&s, open.at[--open.count], to, &open, &leads);
	vec_free(&open);
	free(s.marks);
	return good && leads;
}

size_t code_starts_of_lisp(const uint8_t *code, size_t size, uint64_t address)
{
	static const uint8_t entry[] = {0x8f, 0x45, 0x08}; /* pop 8(%rbp) */

	for (size_t back = address % 16; back < size; back += 16)
		if (back >= sizeof(entry) && !memcmp(code + size - back, entry, sizeof(entry)))
			return back;
	return 0;
}
