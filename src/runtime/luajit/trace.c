// SPDX-License-Identifier: Apache-2.0
/*
 * Functions that LuaJIT has inlined into compiled code, by the trace's own snapshots (lj_jit.h,
 * lj_snap.c; structures of LuaJIT 2.1 with 64-bit references).
 *
 * A snapshot says how the interpreter goes on if the trace is left: at which byte code, and what
 * lies in the slots of Lua's stack, with the functions and links of frames that the trace has not
 * written there. It holds from its place in the machine code up to the next one's. So the snapshot
 * before a place tells which function runs there and who has called it, up to the function whose
 * frame is on the stack.
 *
 * Traces are found by an array of them in jit_State. It lies behind global_State, at a distance
 * that builds differ in, and is known by what it leads to. The code at the place is compared with
 * what the kernel side has seen there, before and after: code of a trace is not changed but for its
 * exits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/luajit/here.h"

#define STATE_BYTES   16384 /* behind global_State's begin, with jit_State */
#define TRACES_MAX    65536 /* numbers have 16 bits */
#define KNOWN_MAX     16384 /* traces of a process that are remembered */
#define SNAPSHOTS_MAX 4096
#define DEPTH_MAX     (RUNTIME_NAMES_MAX - 2)

#define TRACE_TYPE    9 /* gct, as those of luajit/place.h */

/* Slots 0 and 1 are of the function whose frame is on the stack. */
#define BASE_SLOT	   2

#define REF_BIAS	   0x8000 /* references below are constants */
#define SLOTS		   256
#define CONTINUATION_SLOTS 2

/* GCtrace */
struct trace {
	uint64_t next;
	uint8_t marked, type;
	uint16_t snapshots;
	uint32_t instructions, unused[2];
	uint64_t gclist, code, constants_and_entries;
	uint64_t snapshot, entry;
	uint64_t start_function, start_pc;
	uint32_t start_instruction, machine_size;
	uint64_t machine;
	uint32_t loop;
	uint16_t children, adjust;
	uint16_t number, others[3];
};

/* SnapShot */
struct snapshot {
	uint32_t entry;
	uint16_t reference, machine;
	uint8_t slots, top, entries, count;
};

static bool is_trace(const struct trace *t)
{
	return t->type == TRACE_TYPE && t->number && t->machine && t->machine_size &&
	       t->snapshots && t->snapshots <= SNAPSHOTS_MAX && t->snapshot && t->entry && t->code;
}

static bool is_in(const struct trace *t, uint64_t pc)
{
	return pc - t->machine < t->machine_size;
}

static int read_trace(const struct runtime_at *at, uint64_t address, struct trace *t)
{
	_Static_assert(sizeof(*t) == 112, "as GCtrace begins");
	return runtime_read(at, t, sizeof(*t), address);
}

/* The array of a jit_State: its address, then the lowest free number, and how long it is. */
struct array {
	uint64_t address;
	uint32_t free, size;
};

static bool is_array(const struct runtime_at *at, const struct array *array)
{
	uint64_t traces[64];
	uint32_t i, count = array->size < 64 ? array->size : 64;
	struct trace t;

	if (!array->address || array->address & 7 || array->size < 2 || array->size > TRACES_MAX ||
	    array->free > array->size || runtime_read(at, traces, 8ull * count, array->address))
		return false;
	for (i = 1; i < count; i++)
		if (traces[i])
			return !(traces[i] & 7) && !read_trace(at, traces[i], &t) && is_trace(&t) &&
			       t.number == i;
	return false;
}

/* Where jit_State's pointer to the array is. False: not found, there may be no trace yet. */
static bool find_array(const struct runtime_at *at, struct luajit_traces *traces, uint64_t g)
{
	uint64_t *words = malloc(STATE_BYTES);
	struct array array;
	size_t i;

	for (i = 0; words && i < STATE_BYTES && !runtime_read(at, words + i / 8, 512, g + i);
	     i += 512)
		;
	for (size_t n = 0; n + 1 < i / 8 && !traces->array; n++) {
		memcpy(&array, words + n, sizeof(array));
		if (is_array(at, &array))
			traces->array = (uint32_t)(8 * n);
	}
	free(words);
	return traces->array;
}

/* Reads which traces there are. */
static int read_traces(const struct runtime_at *at, struct luajit_traces *traces, uint64_t g)
{
	struct array array;
	struct trace t;
	uint64_t *all;
	uint32_t i;
	int err;

	traces->known.count = 0;
	if (!traces->array && !find_array(at, traces, g))
		return -ESTALE;
	err = runtime_read(at, &array, sizeof(array), g + traces->array);
	if (err || !array.size || array.size > TRACES_MAX)
		return err ? err : -ESTALE;
	all = malloc(8ull * array.size);
	if (!all)
		return -ENOMEM;
	err = runtime_read(at, all, 8ull * array.size, array.address);
	for (i = 1; !err && i < array.size && traces->known.count < KNOWN_MAX; i++) {
		struct luajit_known_trace known = {.address = all[i]};

		if (!all[i] || read_trace(at, all[i], &t) || !is_trace(&t))
			continue;
		known.machine = t.machine;
		known.size = t.machine_size;
		if (!vec_push(&traces->known, known))
			err = -ENOMEM;
	}
	free(all);
	return err;
}

/* The trace that has the code at pc. */
static int find_trace(const struct runtime_at *at, struct luajit_traces *traces, uint64_t g,
		      uint64_t pc, struct trace *t)
{
	int err = 0, turn;

	for (turn = 0; turn < 2; turn++) {
		if (turn)
			err = read_traces(at, traces, g);
		if (err)
			return err;
		vec_foreach (&traces->known, known)
			if (pc - known->machine < known->size &&
			    !read_trace(at, known->address, t) && is_trace(t) && is_in(t, pc))
				return 0;
	}
	return -ESTALE;
}

/*
 * What a snapshot says of the stack's slots: an entry of each that it has one of, else 0; and of
 * the byte code.
 */
struct slots {
	uint32_t of[SLOTS];
	uint64_t pc;
	uint32_t base; /* of the function that runs */
};

static int read_slots(const struct runtime_at *at, const struct trace *t, uint64_t pc,
		      struct slots *slots)
{
	size_t size = t->snapshots * sizeof(struct snapshot);
	struct snapshot *all = malloc(size), *s = all;
	uint32_t entries[SLOTS + 2], i;
	int err = all ? runtime_read(at, all, size, t->snapshot) : -ENOMEM;

	/* it holds from its place on */
	for (i = 1; !err && i < t->snapshots && all[i].machine <= pc - t->machine; i++)
		s = &all[i];
	if (!err)
		err = runtime_read(at, entries, 4ull * (s->entries + 2),
				   t->entry + 4ull * s->entry);
	memset(slots, 0, sizeof(*slots));
	for (i = 0; !err && i < s->entries; i++)
		slots->of[entries[i] >> 24] = entries[i];
	if (!err) {
		memcpy(&slots->pc, entries + s->entries, sizeof(slots->pc));
		slots->base = (uint32_t)(slots->pc & 0xff) + BASE_SLOT;
		slots->pc >>= 8;
		if (slots->base >= SLOTS)
			err = -ESTALE;
	}
	free(all);
	return err;
}

/* A constant that lies in a slot. False: it is none. */
static bool read_constant(const struct runtime_at *at, const struct trace *t,
			  const struct slots *slots, uint32_t slot, uint64_t *value)
{
	uint32_t reference = slot < SLOTS ? slots->of[slot] & 0xffff : 0;

	/* of two words: what it is, and the value */
	return reference && reference < REF_BIAS &&
	       !runtime_read_u64(at, value, t->code + 8ull * (reference + 1));
}

/*
 * The prototype of the function in that slot, and the index of the instruction at pc; 0: the slot
 * has none.
 */
static uint64_t proto_in(const struct runtime_at *at, const struct trace *t,
			 const struct slots *slots, uint32_t slot)
{
	uint64_t function, object[5];

	if (!read_constant(at, t, slots, slot, &function) ||
	    runtime_read(at, object, sizeof(object), function & LUAJIT_POINTER) ||
	    (object[1] >> 8 & 0xffff) != LUAJIT_FUNCTION)
		return 0;
	return object[4] - LUAJIT_PROTO_SIZE;
}

/* The words of a frame, as the step would have pushed them. */
static int make_words(const struct runtime_at *at, uint64_t proto, uint64_t pc, uint32_t called,
		      uint64_t words[2])
{
	uint64_t code = proto + LUAJIT_PROTO_SIZE;
	struct luajit_place place;
	struct luajit_found found;
	uint64_t index = (pc - code) / 4;

	if (pc < code || index >= LUA_NO_PC || pc & 3 ||
	    luajit_read_place(at, &place, proto, (uint32_t)index, &found))
		return -ESTALE;
	words[0] = UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_LUAJIT, called, proto);
	words[1] = found.check << LUA_PC_BITS | index;
	return 0;
}

/*
 * The functions that are inlined at the snapshot: words of each, innermost first; behind them those
 * of the function whose frame is on the stack, at its call of the last one, if on_stack says which
 * it is.
 */
static int find_frames(const struct runtime_at *at, const struct trace *t,
		       const struct slots *slots, uint64_t on_stack, uint64_t words[][2],
		       uint32_t *count)
{
	uint32_t base = slots->base, called, down, instruction;
	uint64_t pc = slots->pc, link, proto;

	for (*count = 0; base > BASE_SLOT && *count < DEPTH_MAX;) {
		proto = proto_in(at, t, slots, base - 2);
		if (!read_constant(at, t, slots, base - 1, &link))
			return -ESTALE;
		called = link & 3 && (link & 7) != LUAJIT_LINK_CONT ? LUA_CALLED_BY_C
								    : LUA_CALLED_BY_LUA;
		/*
		 * functions that are built in have no byte code, and the same one is there again
		 * for its arguments
		 */
		if (proto && (link & 7) != LUAJIT_LINK_VARG) {
			if (make_words(at, proto, pc, called, words[*count]))
				return -ESTALE;
			++*count;
		}
		if (!(link & 3)) {
			pc = link - 4;
			if (runtime_read_u32(at, &instruction, pc))
				return -ESTALE;
			down = 2 + (instruction >> 8 & 0xff);
		} else {
			down = (uint32_t)(link >> 3);
			if ((link & 7) == LUAJIT_LINK_CONT) {
				if (!read_constant(at, t, slots, base - 1 - CONTINUATION_SLOTS,
						   &pc))
					return -ESTALE;
				pc -= 4;
			}
		}
		if (!down || down > base - BASE_SLOT)
			return -ESTALE;
		base -= down;
	}
	if (base == BASE_SLOT && on_stack &&
	    !make_words(at, on_stack, pc, LUA_CALLED_BY_LUA, words[*count]))
		++*count;
	return 0;
}

/* Whether the code is what the kernel side has seen. */
static int check_code(const struct runtime_at *at, uint64_t pc, uint32_t sum)
{
	uint64_t words[LUAJIT_CODE / 8];
	__u64 code[LUAJIT_CODE / 8];
	int err = runtime_read(at, words, sizeof(words), pc & ~(LUAJIT_CODE - 1ull));

	if (err)
		return err;
	memcpy(code, words, sizeof(code));
	return luajit_code_sum(code) == sum ? 0 : -ESTALE;
}

int luajit_name_trace(const struct runtime_at *at, struct luajit_traces *traces,
		      const uint64_t words[2], struct runtime_names *names)
{
	uint64_t pc = UNWIND_WORD_VALUE(words[0]), g = words[1] >> LUAJIT_CODE_BITS << 3;
	uint64_t frames[RUNTIME_NAMES_MAX][2];
	uint64_t on_stack = at->caller ? UNWIND_WORD_VALUE(*at->caller) : 0;
	uint32_t sum = words[1] & ((1u << LUAJIT_CODE_BITS) - 1), count, i;
	struct runtime_at here = *at;
	struct slots slots;
	struct trace t;
	int err = check_code(at, pc, sum);

	here.kept = here.caller_kept = NULL;
	if (!err)
		err = find_trace(at, traces, g, pc, &t);
	if (!err)
		err = read_slots(at, &t, pc, &slots);
	if (!err)
		err = find_frames(at, &t, &slots, on_stack, frames, &count);
	for (i = 0; !err && i + 1 < count; i++) {
		here.caller = frames[i + 1];
		err = luajit_name(&here, frames[i], names);
	}
	/* nothing is inlined here: it is the function's own code */
	if (!err && !names->count) {
		names->is_part = true;
		runtime_names_add(names, "[compiled code]", NULL, 0);
	}
	return err ? err : check_code(at, pc, sum);
}
