// SPDX-License-Identifier: Apache-2.0
/*
 * luaV_execute(), in an image without symbols for it. It is the function that the exported
 * lua_callk() reaches by a few calls, which takes instructions apart, jumps through a table by
 * their opcode (lvm.c), and saves the program counter. The walk needs one of its variables (see
 * src/bpf/runtime/lua/lua.h), in a register that the walk follows:
 *
 *	5.3 to 5.5: `ci`, the CallInfo whose savedpc it stores
 *	5.1, 5.2: `L`, the first argument, which is never changed; in 5.1 also `nexeccalls`, the
 *	second
 *
 * Newer compilers keep `ci` in a register that is not followed. Then `L` will do, if it is in one,
 * or on the stack.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "runtime/lua/code.h"
#include "runtime/lua/internal.h"

#define LEVELS	      4
#define FUNCTIONS_MAX 256
#define TARGETS_MAX   1024
#define PROLOGUE      48 /* instructions */
#define EXECUTE_BYTES 2000
#define HOLE_MAX      200 /* instructions */

#define NO_REGISTER   -1

/* By minor version: where savedpc is, in lua_State (5.1) or CallInfo; how wide an opcode is. */
static const struct {
	int64_t savedpc;
	int64_t opcode_mask;
} forms[] = {[1] = {0x30, 0x3f},
	     [2] = {0x38, 0x3f},
	     [3] = {0x28, 0x3f},
	     [4] = {0x20, 0x7f},
	     [5] = {0x20, 0x7f}};

static bool is_mask(const struct lua_insn *insn, int64_t mask)
{
	return insn->insn.kind == INSN_AND && insn->insn.to.where == INSN_REGISTER &&
	       insn->insn.from.where == INSN_NUMBER && insn->insn.from.number == mask;
}

static bool is_indirect_jump(const struct lua_insn *insn)
{
	return insn->insn.kind == INSN_JUMP && !insn->insn.has_target;
}

static bool was_seen(const uint64_t *seen, size_t count, uint64_t start)
{
	while (count--)
		if (seen[count] == start)
			return true;
	return false;
}

struct search {
	struct lua_reader reader;
	const struct image *image;
	unsigned int minor;
	uint64_t targets[TARGETS_MAX], seen[TARGETS_MAX];
	size_t target_count, seen_count;
	struct lua_function functions[FUNCTIONS_MAX], execute;
	size_t found;
};

/* What was seen of one function. */
struct looking {
	struct search *search;
	const struct lua_function *f;
	bool masks, jumps, saves;
	size_t calls;
};

/* Notes what luaV_execute() has, and all calls and jumps out of the function. */
static bool look(void *context, const struct lua_insn *insn)
{
	struct looking *l = context;
	struct search *s = l->search;
	uint64_t target = lua_branch_target(insn);
	int base, from;
	int64_t disp;

	l->masks |= is_mask(insn, forms[s->minor].opcode_mask);
	l->jumps |= is_indirect_jump(insn);
	l->saves |= lua_is_store(insn, &base, &disp, &from) && base != ARCH_REG_SP &&
		    disp == forms[s->minor].savedpc;
	l->calls += lua_is_call(insn);
	if (target && target - l->f->start >= l->f->size && s->target_count < TARGETS_MAX)
		s->targets[s->target_count++] = target;
	return true;
}

/* Looks at all functions that the last level calls. */
static void search_level(struct search *s)
{
	size_t count, targets, i;

	count = lua_functions_at(&s->reader, s->targets, s->target_count, s->functions,
				 FUNCTIONS_MAX);
	s->target_count = 0;
	for (i = 0; i < count && !s->reader.budget->spent; i++) {
		const struct lua_function *f = &s->functions[i];
		struct looking l = {.search = s, .f = f};

		if (was_seen(s->seen, s->seen_count, f->start) || s->seen_count == TARGETS_MAX)
			continue;
		s->seen[s->seen_count++] = f->start;
		targets = s->target_count;
		lua_function_each(&s->reader, f, look, &l);
		if (f->size < EXECUTE_BYTES || !l.masks || !l.jumps || !l.saves || l.calls <= 20)
			continue;
		if (!s->found++) {
			s->execute = *f;
			s->target_count = targets;
		}
	}
}

static int find_function(struct search *s)
{
	struct runtime_symbol symbols[] = {{.name = "lua_callk"},
					   {.name = "lua_call"},
					   {.name = "lua_pcallk"},
					   {.name = "lua_pcall"}};
	size_t i, level;

	runtime_find_symbols(s->image, s->reader.budget, symbols, 4);
	for (i = 0; i < 4; i++)
		if (symbols[i].address)
			s->targets[s->target_count++] = symbols[i].address;
	for (level = 0; level < LEVELS && s->target_count && !s->found; level++)
		search_level(s);
	return s->found == 1 && lua_function_decode(&s->reader, &s->execute) ? 0 : -ENOENT;
}

/* The register that the first argument is copied to, and the instruction that does it. */
static int register_of_state(const struct lua_function *f, size_t *at)
{
	int to, from;

	for (*at = 0; *at < f->count && *at < PROLOGUE; (*at)++)
		if (lua_is_copy(&f->insn[*at], &to, &from) && from == ARCH_REG_ARG1)
			return to;
	return NO_REGISTER;
}

/* Where a copy of the register is: another register, or on the stack. */
struct copy {
	int reg;
	int64_t slot;
};

static bool is_copied(const struct lua_insn *insn, int reg, struct copy *copy)
{
	int to, from;

	*copy = (struct copy){NO_REGISTER, 0};
	if (lua_is_copy(insn, &copy->reg, &from))
		return from == reg;
	return lua_is_store(insn, &to, &copy->slot, &from) && to == ARCH_REG_SP && from == reg;
}

static bool is_restored(const struct lua_insn *insn, int reg, const struct copy *copy)
{
	int to, from;
	int64_t slot;

	if (copy->reg != NO_REGISTER)
		return lua_is_copy(insn, &to, &from) && to == reg && from == copy->reg;
	return lua_is_load(insn, &to, &from, &slot) && to == reg && from == ARCH_REG_SP &&
	       slot == copy->slot;
}

static size_t index_of(const struct lua_function *f, uint64_t address)
{
	size_t low = 0, high = f->count, half;

	while (low < high) {
		half = (low + high) / 2;
		if (f->insn[half].address < address)
			low = half + 1;
		else
			high = half;
	}
	return low < f->count && f->insn[low].address == address ? low : f->count;
}

/* Marks all that is reached from instruction i on, up to where the register is restored. */
static bool mark_hole(const struct lua_function *f, size_t first, int reg, const struct copy *copy,
		      uint8_t *marks, uint8_t mark)
{
	size_t queue[2 * HOLE_MAX], count = 0, marked = 0, i;
	uint64_t target;

	queue[count++] = first;
	while (count) {
		i = queue[--count];
		if (i >= f->count || marks[i])
			continue;
		if (++marked > HOLE_MAX)
			return false;
		marks[i] = mark;
		if (is_restored(&f->insn[i], reg, copy))
			continue;
		target = lua_branch_target(&f->insn[i]);
		if (target && !lua_is_call(&f->insn[i]))
			queue[count++] = index_of(f, target);
		if (f->insn[i].insn.kind != INSN_JUMP && f->insn[i].insn.kind != INSN_RETURN)
			queue[count++] = i + 1;
	}
	return true;
}

static bool add_holes(const struct lua_function *f, const uint8_t *marks, uint8_t mark,
		      const struct copy *copy, struct lua_data *data)
{
	const int reg = copy->reg == NO_REGISTER ? LUA_NO_REGISTER : copy->reg;
	size_t i, end;

	for (i = 0; i < f->count; i = end + 1) {
		for (end = i; end < f->count && marks[end] == mark; end++)
			;
		if (end == i)
			continue;
		if (data->holes >= LUA_HOLES_MAX)
			return false;
		data->hole[data->holes++] = (struct lua_hole){
			.range = {(uint32_t)(f->insn[i].address - f->start),
				  (uint32_t)(f->insn[end - 1].address + f->insn[end - 1].insn.size -
					     f->start)},
			.slot = (int32_t)copy->slot,
			.reg = (uint8_t)reg};
	}
	return true;
}

/* Whether some instruction brings the copy back. */
static bool comes_back(const struct lua_function *f, int reg, const struct copy *copy)
{
	size_t i;

	for (i = 0; i < f->count; i++)
		if (is_restored(&f->insn[i], reg, copy))
			return true;
	return false;
}

static bool is_of_stack_pointer(const struct insn *insn)
{
	return insn->to.where == INSN_REGISTER && insn->to.reg == ARCH_REG_SP;
}

/* Of the end of a function: registers, or room on the stack. */
static bool restores(const struct lua_insn *insn)
{
	const uint8_t kind = insn->insn.kind;

	if (kind == INSN_POP || kind == INSN_LEAVE)
		return true;
	return (kind == INSN_ADD || kind == INSN_LEA) && is_of_stack_pointer(&insn->insn);
}

/*
 * Compilers use the register for something else in a small loop (that of OP_CLOSURE), and put a
 * copy of the variable somewhere meanwhile. Finds these holes. The variable itself may change
 * (since 5.3): then what comes without such a copy is a change. False: the register is not what it
 * seems.
 */
static bool find_holes(const struct lua_function *f, int reg, size_t set, bool is_constant,
		       struct lua_data *data)
{
	size_t far = is_constant ? 16 : 5;
	uint8_t *marks = calloc(f->count, 1), mark = 0;
	struct copy copy;
	size_t i, back;
	bool fine = marks != NULL;

	for (i = set + 1; fine && i < f->count; i++) {
		if (marks[i] || restores(&f->insn[i]) || !lua_writes(&f->insn[i], reg))
			continue;
		for (back = 1; back < far && back < i; back++)
			if (is_copied(&f->insn[i - back], reg, &copy) && comes_back(f, reg, &copy))
				break;
		if (!is_constant && (back == far || back == i))
			continue;
		/* in the instruction itself the register is still right */
		fine = back < far && back < i && mark < 255 &&
		       mark_hole(f, i + 1, reg, &copy, marks, ++mark) &&
		       add_holes(f, marks, mark, &copy, data);
	}
	free(marks);
	return fine;
}

/* How often each register, by DWARF number, is the base of, or what is stored in, savedpc. */
struct uses {
	size_t base[16], from[16];
};

static void count_uses(const struct lua_function *f, int64_t savedpc, struct uses *uses)
{
	int base, from;
	int64_t disp;
	size_t i;

	for (i = 0; i < f->count; i++) {
		if (!lua_is_store(&f->insn[i], &base, &disp, &from) || disp != savedpc ||
		    base == ARCH_REG_SP)
			continue;
		uses->base[base]++;
		uses->from[from]++;
	}
}

static int most(const size_t *uses)
{
	int i, best = 0;

	for (i = 1; i < 16; i++)
		if (uses[i] > uses[best])
			best = i;
	for (i = 0; i < 16; i++)
		if (i != best && uses[i] * 3 > uses[best])
			return -1;
	return uses[best] ? best : -1;
}

/* The first instruction that sets the register; the body begins behind it. */
static bool find_body(const struct lua_function *f, int dwarf, size_t *set, uint32_t *body)
{
	for (*set = 0; *set < f->count && *set < PROLOGUE; ++*set) {
		const struct insn *insn = &f->insn[*set].insn;

		if (insn->kind != INSN_MOVE || insn->to.where != INSN_REGISTER ||
		    insn->to.size != 8 || insn->to.reg != dwarf)
			continue;
		*body = (uint32_t)(f->insn[*set].address + insn->size - f->start);
		return true;
	}
	return false;
}

/* Whether nothing but the next instruction can follow. */
static bool goes_on(const struct lua_insn *insn)
{
	return insn->is_known && insn->insn.kind != INSN_RETURN && !lua_is_call(insn) &&
	       !lua_branch_target(insn) && !is_indirect_jump(insn);
}

/*
 * 5.4 sets `ci` from another register, at a place to which calls from Lua to Lua jump, too: on the
 * way to instruction `set`, the next value is in that register already, on every way there.
 */
static void find_way_in(const struct lua_function *f, size_t set, struct lua_data *data)
{
	size_t first = set;
	int to, from;
	uint32_t start;

	if (!lua_is_copy(&f->insn[set], &to, &from) || data->holes >= LUA_HOLES_MAX)
		return;
	while (first && goes_on(&f->insn[first - 1]) && !lua_writes(&f->insn[first - 1], from))
		first--;
	start = (uint32_t)(f->insn[first].address - f->start);
	data->hole[data->holes++] =
		(struct lua_hole){.range = {start, data->body}, .reg = (uint8_t)from};
	data->body = start;
}

/*
 * lstate.h of 5.3.2 and later: where a CallInfo has its callstatus, and the bit that says that
 * luaV_execute began with it
 */
#define CALLSTATUS_503 0x42
#define CIST_FRESH_503 (1 << 3)

/*
 * "or word ptr [ci + callstatus], CIST_FRESH" of the prologue: before that, it is not known which
 * functions are its own.
 */
static void find_fresh(const struct lua_function *f, struct lua_data *data)
{
	size_t i;

	for (i = 0; i < f->count && i < PROLOGUE; i++) {
		const struct insn *insn = &f->insn[i].insn;
		uint32_t behind = (uint32_t)(f->insn[i].address + insn->size - f->start);

		if (insn->kind != INSN_OR || insn->to.where != INSN_MEMORY ||
		    insn->to.number != CALLSTATUS_503 || insn->from.where != INSN_NUMBER ||
		    insn->from.number != CIST_FRESH_503)
			continue;
		if (data->body < behind)
			data->body = behind;
		return;
	}
}

/*
 * "mov [rsp + N], rdi" of the prologue: where the first argument stays, if nothing else is stored
 * there. The stack pointer must stay as it is from there on.
 */
static bool find_state_slot(const struct lua_function *f, struct lua_data *data)
{
	int base, from;
	int64_t disp, slot = 0;
	size_t i, at = f->count;

	for (i = 0; i < f->count; i++) {
		const struct lua_insn *insn = &f->insn[i];
		const struct insn_operand *stores = &insn->stores;

		if (at < f->count && insn->insn.kind == INSN_PUSH)
			return false;
		if (at < f->count && insn->insn.kind == INSN_SUB &&
		    is_of_stack_pointer(&insn->insn))
			return false;
		/* of any size, and with an index: that may be anywhere */
		if (at < f->count && stores->where == INSN_MEMORY && stores->base == ARCH_REG_SP &&
		    (stores->has_index ||
		     (stores->number < slot + 8 && stores->number + stores->size > slot)))
			return false;
		if (at == f->count && i < PROLOGUE && lua_is_store(insn, &base, &disp, &from) &&
		    base == ARCH_REG_SP && from == ARCH_REG_ARG1) {
			at = i;
			slot = disp;
			data->body = (uint32_t)(insn->address + insn->insn.size - f->start);
		}
	}
	data->state_at = (int32_t)slot;
	return at < f->count;
}

/* "mov [rsp + N], esi" of the prologue. The stack pointer must stay as it is from there on. */
static bool find_calls(const struct lua_function *f, int32_t *at)
{
	size_t i;

	for (i = 0; i < f->count && i < PROLOGUE; i++) {
		const struct insn *insn = &f->insn[i].insn;

		if (insn->kind != INSN_MOVE || insn->to.where != INSN_MEMORY ||
		    insn->to.reg != ARCH_REG_SP || insn->from.where != INSN_REGISTER ||
		    insn->from.reg != ARCH_REG_ARG2 || insn->from.size != 4)
			continue;
		*at = (int32_t)insn->to.number;
		return true;
	}
	return false;
}

/* From the first instruction that gives something back, up to each return. */
static bool find_epilogues(const struct lua_function *f, struct lua_data *data)
{
	size_t i, first;

	for (i = 0; i < f->count; i++) {
		uint64_t target = lua_branch_target(&f->insn[i]);
		bool leaves = f->insn[i].insn.kind == INSN_JUMP && target &&
			      target - f->start >= f->size && i && restores(&f->insn[i - 1]);

		if (f->insn[i].insn.kind != INSN_RETURN && !leaves)
			continue;
		for (first = i; first && restores(&f->insn[first - 1]); first--)
			;
		if (data->epilogues >= LUA_EPILOGUES_MAX)
			return false;
		data->epilogue[data->epilogues++] = (struct lua_range){
			(uint32_t)(f->insn[first].address - f->start),
			(uint32_t)(f->insn[i].address + f->insn[i].insn.size - f->start)};
	}
	return true;
}

/* What conditional jumps lead to outside is a part of the function, too. */
static void find_cold(struct search *s, struct lua_facts *facts)
{
	const struct lua_function *f = &s->execute;
	uint64_t target;
	size_t i;

	for (i = 0; i < f->count; i++) {
		target = lua_branch_target(&f->insn[i]);
		if (!target || lua_is_call(&f->insn[i]) || f->insn[i].insn.kind == INSN_JUMP ||
		    target - f->start < f->size)
			continue;
		if (lua_functions_at(&s->reader, &target, 1, s->functions, 1)) {
			facts->cold = s->functions[0].start;
			facts->data.cold_size = (uint32_t)s->functions[0].size;
		}
		return;
	}
}

/* Those that the walk follows. */
static bool is_followed(int dwarf)
{
	return dwarf == ARCH_REG_SAVED || dwarf == ARCH_REG_FP;
}

static const char *read_function(struct search *s, struct lua_facts *facts)
{
	const struct lua_function *f = &s->execute;
	struct lua_data *data = &facts->data;
	struct uses uses = {0};
	int state;
	size_t set;
	int reg, pc;
	bool slot;

	facts->execute = f->start;
	data->execute_size = (uint32_t)f->size;
	count_uses(f, forms[s->minor].savedpc, &uses);
	state = register_of_state(f, &set);
	reg = s->minor < 3 ? -1 : most(uses.base);
	data->by_state = !is_followed(reg);
	if (data->by_state)
		reg = state;
	slot = !is_followed(reg) && s->minor >= 3 && find_state_slot(f, data);
	if (!is_followed(reg) && !slot)
		return "its interpreter keeps its state in a register that is not followed";
	data->state = slot ? LUA_NO_REGISTER : (uint8_t)reg;
	if (!data->by_state)
		state = reg;
	if (!slot && !find_holes(f, state, set, data->by_state, data))
		return "its interpreter changes the register that holds its state";
	pc = most(uses.from);
	/* 5.2 and 5.3 save the program counter before each instruction */
	data->pc = s->minor == 2 || s->minor == 3 || pc < 0 ? LUA_NO_REGISTER : (uint8_t)pc;
	if (!slot && !find_body(f, reg, &set, &data->body))
		return "its interpreter begins in an unknown way";
	if (!data->by_state)
		find_way_in(f, set, data);
	if (s->minor == 3)
		find_fresh(f, data);
	if (s->minor == 1 && !find_calls(f, &data->calls_at))
		return "its interpreter counts calls in an unknown place";
	if (!find_epilogues(f, data))
		return "its interpreter ends in too many places";
	find_cold(s, facts);
	return NULL;
}

int lua_find_execute(const struct image *image, struct lua_facts *facts, struct budget *budget,
		     struct fail *why)
{
	struct search *s = budget_malloc(budget, sizeof(*s));
	const char *words = "its interpreter was not found in its code";
	int err = -ENOTSUP;

	if (!s)
		return fail_errno(why, -ENOMEM, NULL, "Lua of %s", image->path);
	memset(s, 0, sizeof(*s));
	s->image = image;
	s->minor = facts->version % 100;
	if (lua_reader_open(&s->reader, image, budget) && !find_function(s))
		words = read_function(s, facts);
	if (!words)
		err = 0;
	else if (budget->spent)
		err = budget_refuse(budget, why, "the code of its interpreter");
	else
		fail(why, err, NULL, "Lua %u.%u.%u of %s: %s", facts->version / 100,
		     facts->version % 100, facts->patch, image->path, words);
	lua_function_free(&s->reader, &s->execute);
	lua_reader_close(&s->reader);
	budget_free(budget, s, sizeof(*s));
	return err;
}
