// SPDX-License-Identifier: Apache-2.0
/*
 * Code that V8 made, by an address in it, and the functions that were inlined there.
 *
 * Instructions begin at a multiple of 64 bytes, in an object whose head says which Code describes
 * them (in V8 10 it is the Code). So they are found by looking back from the address, and a head is
 * believed if its Code says that the instructions are here and reach beyond the address. Optimized
 * code has data for the way back to the interpreter: which function it was made for, and which ones
 * were inlined, each with the place of its call. A table of places says for calls (for more, if
 * V8's own profiler is on) in which of them they are.
 */
#include <errno.h>
#include <string.h>

#include "runtime/v8/internal.h"

#define ALIGNMENT 64

/* How far back a function may begin. */
#define CODE_MAX (512u << 10)

/* What a copy of the builtins is rounded up by. */
#define BUILTINS_SLACK (64u << 10)

struct code {
	uint64_t pointer; /* to the Code */
	uint64_t start;
	uint32_t size, kind;
};

enum found {
	NOT_THIS, /* no code begins there */
	NONE,	  /* code does, but it ends before the address */
	FOUND,
};

/*
 * Whether the instructions that begin at start are those of the Code, and the address is one of
 * them.
 */
static enum found check_code(const struct v8_reader *r, uint64_t pointer, uint64_t start,
			     uint64_t address, struct code *code)
{
	const struct v8_facts *f = r->facts;
	uint64_t begins = start;
	uint32_t flags;

	if (v8_expect(r, pointer, f->type_code) ||
	    (f->code_is_apart && v8_read_word(r, &begins, pointer, f->code_start)) ||
	    v8_read_u32(r, &code->size, pointer, f->code_size) ||
	    v8_read_u32(r, &flags, pointer, f->code_flags) || begins != start)
		return NOT_THIS;
	code->pointer = pointer;
	code->start = start;
	code->kind = flags & 15;
	return address - start < code->size ? FOUND : NONE;
}

/* A head as it is read: the words that matter are the first two. */
static enum found check_head(const struct v8_reader *r, const uint64_t *head, uint64_t start,
			     uint64_t address, struct code *code)
{
	struct v8_state *state = r->state;
	bool apart = r->facts->code_is_apart;
	enum found found;

	found = check_code(r, apart ? head[1] : (start - r->facts->code_head) | 1, start, address,
			   code);
	if (found != NOT_THIS)
		state->code_map = head[0];
	return found;
}

/* A part of the process's memory that is read backwards. */
struct window {
	uint64_t start;
	uint8_t bytes[4096];
};

static bool read_head(const struct v8_reader *r, struct window *w, uint64_t at, uint64_t head[2])
{
	const uint64_t size = sizeof(w->bytes), needed = 2 * sizeof(*head);

	if (at < size)
		return false;
	if (!w->start || at < w->start) {
		w->start = at + needed - size;
		/* where nothing is before, a mapping begins in between */
		if (runtime_read(r->at, w->bytes, size, w->start)) {
			w->start = at & ~(size - 1);
			if (at + needed - w->start > size ||
			    runtime_read(r->at, w->bytes, at + needed - w->start, w->start))
				return false;
		}
	}
	memcpy(head, w->bytes + (at - w->start), needed);
	return true;
}

/*
 * Heads that look like one, until the first one is known for sure; it must not cost much to lead us
 * astray.
 */
#define TRIES_MAX 256

static bool find_code(const struct v8_reader *r, uint64_t address, struct code *code)
{
	uint64_t start = address & ~(uint64_t)(ALIGNMENT - 1), head[2];
	struct window window;
	enum found found;
	uint32_t tries = 0;

	window.start = 0;
	for (; address - start < CODE_MAX && tries < TRIES_MAX; start -= ALIGNMENT) {
		uint64_t map = r->state->code_map;

		if (!read_head(r, &window, start - r->facts->code_head, head))
			return false;
		if (!v8_is_pointer(head[0]) || (map && head[0] != map) ||
		    (r->facts->code_is_apart && !v8_is_pointer(head[1])))
			continue;
		tries++;
		found = check_head(r, head, start, address, code);
		if (found != NOT_THIS)
			return found == FOUND;
	}
	return false;
}

/*
 * An element of an array of objects; references that do not keep what they refer to alive have the
 * second bit set.
 */
static uint64_t element(const struct v8_reader *r, uint64_t array, uint64_t index)
{
	uint64_t length, word;

	if (v8_read_word(r, &length, array, r->facts->array_length) || !v8_is_small(length) ||
	    index >= length >> 32 ||
	    v8_read_word(r, &word, array, (uint32_t)(r->facts->array_data + 8 * index)) ||
	    !v8_is_pointer(word))
		return 0;
	return word & ~2ull;
}

/* A small integer of such an array. False: there is none. */
static bool number(const struct v8_reader *r, uint64_t array, uint32_t index, uint32_t *value)
{
	uint64_t length, word;

	if (v8_read_word(r, &length, array, r->facts->array_length) || !v8_is_small(length) ||
	    index >= length >> 32 ||
	    v8_read_word(r, &word, array, r->facts->array_data + 8 * index) || !v8_is_small(word))
		return false;
	*value = (uint32_t)(word >> 32);
	return true;
}

/* What of a code's data tells about inlining. */
struct inlining {
	uint64_t data, literals, places;
	uint64_t shared; /* the function that the code was made for */
};

static int read_inlining(const struct v8_reader *r, const struct code *code, struct inlining *in)
{
	const struct v8_facts *f = r->facts;

	if (v8_read_word(r, &in->data, code->pointer, f->code_deoptimization))
		return -ESTALE;
	in->shared = element(r, in->data, f->deopt_shared);
	if (f->shared_is_wrapped && v8_read_word(r, &in->shared, in->shared, 8))
		return -ESTALE;
	in->literals = element(r, in->data, f->deopt_literals);
	in->places = element(r, in->data, f->deopt_inlining);
	return in->shared ? v8_expect(r, in->shared, f->type_shared) : -ESTALE;
}

/* What stands behind the places of inlining (src/objects/deoptimization-data.h). */
enum {
	EXITS_START = 1, /* the first exit: an offset into the code */
	EXITS_NOW,	 /* how many there are for code that finds out itself, */
	EXITS_LATER,	 /* and how many, behind those, for code that V8 notifies */
	EXITS,		 /* three words for each */
	EXIT_WORDS = 3,
	EXIT_PLACE =
		/*
		 * the offset that the exit belongs to: for one of the second kind, where its call
		 * returns
		 */
		2,
};

/* An exit is one instruction, call *displacement(%r13), with eight bits for that. */
#define EXIT_SIZE 4

/*
 * Optimized code ends with exits: calls of what turns its frame back into the interpreter's. When
 * V8 finds that some code cannot go on, it gives frames in it the address of an exit to return to,
 * instead of the one behind their call, which the exit's data still has. Takes the offset back to
 * there. 0; -ESTALE: it is not a place in such code.
 */
static int leave_exit(const struct v8_reader *r, const struct inlining *in, bool is_leaf,
		      uint32_t *offset)
{
	uint32_t first = r->facts->deopt_inlining, at = *offset + !is_leaf, start, now, later,
		 place;

	if (!number(r, in->data, first + EXITS_START, &start))
		return -ESTALE;
	if (at < start)
		return 0;
	at -= start;
	if (at % EXIT_SIZE || !number(r, in->data, first + EXITS_NOW, &now) ||
	    !number(r, in->data, first + EXITS_LATER, &later) ||
	    at / EXIT_SIZE >= (uint64_t)now + later ||
	    !number(r, in->data, first + EXITS + at / EXIT_SIZE * EXIT_WORDS + EXIT_PLACE,
		    &place) ||
	    place >= start || !place)
		return -ESTALE;
	*offset = place - !is_leaf;
	return 0;
}

/*
 * One function that was inlined (src/codegen/source-position.h): the place of the call, and which
 * function it is.
 */
struct inlined {
	uint64_t call;
	int32_t function, unused;
};

#define DEPTH_MAX 32

/* Functions from a place outwards, without the code's own. */
struct chain {
	int32_t inlining[DEPTH_MAX];
	uint32_t place[DEPTH_MAX];    /* in each of them */
	uint64_t function[DEPTH_MAX]; /* their SharedFunctionInfo */
	uint32_t count;
	uint32_t outermost; /* the place in the code's own function */
};

static bool has_places(const struct v8_reader *r, const struct inlining *in)
{
	return !v8_expect(r, in->places, r->facts->type_places) ||
	       !v8_expect(r, in->places, r->facts->type_bytes);
}

static bool follow_chain(const struct v8_reader *r, const struct inlining *in,
			 struct v8_place place, struct chain *chain)
{
	uint64_t length;

	chain->count = 0;
	if (!place.found || (place.inlining >= 0 && !has_places(r, in)))
		return false;
	while (place.inlining >= 0 && chain->count < DEPTH_MAX) {
		struct inlined inlined;
		uint32_t n = chain->count;

		if (v8_read_word(r, &length, in->places, r->facts->array_length) ||
		    !v8_is_small(length) ||
		    (uint64_t)(place.inlining + 1) * sizeof(inlined) > length >> 32 ||
		    runtime_read(r->at, &inlined, sizeof(inlined),
				 in->places - 1 + r->facts->array_data +
					 (uint64_t)place.inlining * sizeof(inlined)))
			return false;
		chain->inlining[n] = place.inlining;
		chain->place[n] = place.at;
		chain->function[n] =
			inlined.function < 0
				? in->shared
				: element(r, in->literals, (uint64_t)(uint32_t)inlined.function);
		if (v8_expect(r, chain->function[n], r->facts->type_shared))
			return false;
		chain->count++;
		v8_place_unpack(inlined.call, &place);
		if (!place.found)
			return false;
	}
	chain->outermost = place.at;
	return place.inlining < 0;
}

/*
 * A table has the places of calls only, or, if V8 has an interest in them, all places. Then it has
 * an entry every few bytes of code; or two that are nearer to each other than calls can be,
 * with the address that is called.
 */
#define DENSE	 32
#define CALL_MIN 5

static bool knows_all(const struct v8_places *places, const struct code *code)
{
	return (uint64_t)places->count * DENSE > code->size || places->nearest < CALL_MIN;
}

/*
 * Between two calls nothing says in which function code is: what counts is how far the functions
 * around both agree, from the outside. Where in the innermost of those it is, is not known then.
 */
static void keep_common(struct chain *chain, const struct chain *other)
{
	uint32_t common = 0, drop;

	while (common < chain->count && common < other->count &&
	       chain->inlining[chain->count - 1 - common] ==
		       other->inlining[other->count - 1 - common])
		common++;
	drop = chain->count - common;
	if (!drop && chain->count == other->count)
		return;
	memmove(chain->inlining, chain->inlining + drop, common * sizeof(*chain->inlining));
	memmove(chain->place, chain->place + drop, common * sizeof(*chain->place));
	memmove(chain->function, chain->function + drop, common * sizeof(*chain->function));
	chain->count = common;
}

/* The functions at an address of optimized code. */
static bool chain_of(const struct v8_reader *r, const struct code *code, const struct inlining *in,
		     uint32_t offset, bool is_leaf, struct chain *chain)
{
	struct v8_places places;
	struct chain other;
	uint64_t table;

	if (v8_read_word(r, &table, code->pointer, r->facts->code_positions) ||
	    !v8_places_of(r, table, offset, &places) || !follow_chain(r, in, places.before, chain))
		return false;
	if (!is_leaf || knows_all(&places, code))
		return true;
	if (follow_chain(r, in, places.behind, &other))
		keep_common(chain, &other);
	return true;
}

/* Whether a place can be one of the function. */
static bool is_within(const struct v8_shared *shared, uint32_t place)
{
	return place == UINT32_MAX || shared->start == UINT32_MAX ||
	       (place >= shared->start && place <= shared->end);
}

/* The sample has no checksum for this: that everything agrees must do. */
static bool add_inlined(const struct v8_reader *r, const struct chain *chain, uint32_t n,
			struct runtime_names *names)
{
	struct v8_shared shared;

	if (v8_shared_read(r, chain->function[n], &shared) || v8_shared_name(r, &shared) ||
	    !is_within(&shared, chain->place[n]))
		return false;
	v8_shared_add(r, &shared, v8_shared_line(r, &shared, chain->place[n]), names);
	return !v8_shared_check(r, &shared);
}

/* Whether nothing was inlined anywhere in the code. */
static bool has_no_inlining(const struct v8_reader *r, const struct inlining *in)
{
	uint64_t length;

	return has_places(r, in) && !v8_read_word(r, &length, in->places, r->facts->array_length) &&
	       !length;
}

/* Whether it is Sparkplug's code for the function, which has the bytecode that it was made of. */
static bool is_baseline_of(const struct v8_reader *r, const struct code *code,
			   const struct v8_shared *shared)
{
	uint32_t at = r->facts->code_deoptimization;
	uint64_t from, now = shared->data;

	if (v8_read_word(r, &from, code->pointer, at) ||
	    (!v8_expect(r, now, r->facts->type_code) && v8_read_word(r, &now, now, at)))
		return false;
	return from == now;
}

/*
 * Builtins are no code that V8 has made, also where it has mapped them a second time; or, if it
 * could not, copied them into memory that has just their size (src/heap/code-range.cc).
 */
static bool is_builtin(const struct v8_reader *r, uint64_t address)
{
	const struct mapping *mapping =
		r->at->process ? process_mapping(r->at->process, address) : NULL;

	if (!mapping)
		return false;
	return mapping->image == r->at->mapping->image ||
	       mapping->end - mapping->start - r->state->builtins_size < BUILTINS_SLACK;
}

int v8_code_add(const struct v8_reader *r, uint64_t address, const struct v8_shared *shared,
		bool is_leaf, struct runtime_names *names)
{
	uint32_t place = shared->start, offset, i;
	struct chain chain = {0};
	struct inlining in, now;
	struct code code;

	/*
	 * code that is gone does not say what was inlined: a frame without that would have the
	 * wrong callers
	 */
	if (!find_code(r, address, &code))
		return is_builtin(r, address) ? -ENOENT : -ESTALE;
	/*
	 * at the very leaf, a function that has no frame yet may run: then the frame is its
	 * caller's
	 */
	if (code.kind == r->facts->kind_baseline && !is_leaf && !is_baseline_of(r, &code, shared))
		return -ESTALE;
	if (code.kind <= r->facts->kind_baseline)
		return -ENOENT;
	if (read_inlining(r, &code, &in) || in.shared != shared->pointer)
		return -ESTALE;
	offset = (uint32_t)(address - code.start);
	if (!leave_exit(r, &in, is_leaf, &offset) &&
	    chain_of(r, &code, &in, offset, is_leaf, &chain))
		place = chain.outermost;
	else if (is_leaf || has_no_inlining(r, &in))
		chain.count = 0;
	else
		return -ESTALE;
	if (!is_within(shared, place))
		return -ESTALE;
	for (i = 0; i < chain.count; i++)
		if (!add_inlined(r, &chain, i, names))
			return -ESTALE;
	v8_shared_add(r, shared, v8_shared_line(r, shared, place), names);
	/* all that was read on the way belonged to that code only if it still has it */
	return read_inlining(r, &code, &now) || memcmp(&in, &now, sizeof(in)) ? -ESTALE : 0;
}
