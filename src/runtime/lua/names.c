// SPDX-License-Identifier: Apache-2.0
/*
 * What a function of Lua is called. It has no name of its own: debug.traceback() calls it what its
 * caller calls it, which the caller's instructions say (ldebug.c, funcnamefromcode()): the
 * instruction that has loaded the called register took it from a global, a field, a method, an
 * upvalue or another variable. Functions that C code has called have no name, but a place.
 *
 * Structures are those of lobject.h, instructions those of lopcodes.h of each version.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/lua/internal.h"

#define CODE_MAX      (1u << 18) /* instructions that are looked at */
#define LOCALS_MAX    1024
#define NAME_MAX_SIZE 256
#define DEPTH_MAX     8

/*
 * What an instruction does, as far as names need it. Each version has a string of them, by opcode.
 */
enum what {
	SETS = 'a',	 /* register A */
	NOTHING = '-',	 /* to registers */
	MOVE = 'm',	 /* B to A */
	NIL_COUNT = 'n', /* A up to A + B */
	NIL_LAST = 'N',	 /* A up to B (5.1) */
	UPVALUE = 'u',	 /* upvalue B to A */
	UP_FIELD = 'U',	 /* field C of upvalue B */
	GLOBAL = 'G',	 /* constant Bx is the name (5.1) */
	FIELD_RK = 't',	 /* field C (a register or a constant) of register B */
	FIELD_REG = 'r', /* since 5.4: field that register C holds */
	FIELD_INT = 'i', /* since 5.4: field number C */
	FIELD_K = 'f',	 /* since 5.4: field that constant C names */
	METHOD = 's',	 /* field C of B, to call as a method */
	CONSTANT = 'k',	 /* constant Bx */
	JUMP = 'j',
	CALL = 'c',
	ITERATE = 'F', /* calls the iterator at A */
};

static const char *const whats[] = {
	[1] = "mkaNuGt---asaaaaaaaaaaj---aacc-aaF--aa",
	[2] = "mkaanuUt---asaaaaaaaaaaj----acc-aaFa-aa-",
	[3] = "mkaanuUt---asaaaaaaaaaaaaaaaaaj----acc-aaFa-aa-",
	[4] = "maakaaaanu-Urif----asaaaaaaaaaaaaaaaaaaaaaaaaa---aaaaa--j----------acc---aa-Fa-aaa-",
	/* the others do nothing to registers */
	[5] = "maakaaaanu-Urif----asaaaaaaaaaaaaaaaaaaaaaaaaa---aaaaa--j----------acc---aa-Fa-aar",
};

/* By opcode: which metamethod is called if it calls one; a letter of metamethod(). */
static const char *const metas[] = {
	[1] = "......iw.w.i+-*/%^~.#&.=<l",
	[2] = "......iiw.w.i+-*/%^~.#&.=<l",
	[3] = "......iiw.w.i+-*%^/DABXLR~b.#&.=<l",
	[4] = "...........iiiiwwww.i.........................MMM~b.#&c..=<l..<l<l....c",
	[5] = "...........iiiiwwww.i.........................MMM~b.#&c..=<l..<l<l....c",
};

static const char *metamethod(char letter)
{
	static const struct {
		char letter;
		const char *name;
	} names[] = {{'i', "index"},  {'w', "newindex"}, {'+', "add"},	{'-', "sub"}, {'*', "mul"},
		     {'/', "div"},    {'%', "mod"},	 {'^', "pow"},	{'~', "unm"}, {'#', "len"},
		     {'&', "concat"}, {'=', "eq"},	 {'<', "lt"},	{'l', "le"},  {'D', "idiv"},
		     {'A', "band"},   {'B', "bor"},	 {'X', "bxor"}, {'L', "shl"}, {'R', "shr"},
		     {'b', "bnot"},   {'c', "close"}};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].letter == letter)
			return names[i].name;
	return NULL;
}

/* OP_MMBIN, since 5.4, and its kin say which in C, in the order of ltm.h. */
static const char *metamethod_by_number(uint32_t number)
{
	static const char *const names[] = {"index", "newindex", "gc",	"mode", "len",	 "eq",
					    "add",   "sub",	 "mul", "mod",	"pow",	 "div",
					    "idiv",  "band",	 "bor", "bxor", "shl",	 "shr",
					    "unm",   "bnot",	 "lt",	"le",	"concat"};

	return number < sizeof(names) / sizeof(names[0]) ? names[number] : NULL;
}

struct proto {
	const struct runtime_at *at;
	unsigned int minor;
	uint64_t k, code, lineinfo, abslineinfo, locvars, upvalues, source;
	uint32_t size_k, size_code, size_lines, size_absolute, size_locals, size_upvalues, line;
	uint32_t string_text; /* where the characters of a string begin */
	/* When names are looked for: instructions up to the one of interest. */
	uint32_t *instructions;
	uint32_t count;
};

static uint64_t word_at(const uint8_t *bytes, size_t at)
{
	uint64_t value;

	memcpy(&value, bytes + at, sizeof(value));
	return value;
}

static uint32_t half_at(const uint8_t *bytes, size_t at)
{
	uint32_t value;

	memcpy(&value, bytes + at, sizeof(value));
	return value;
}

/* Offsets of a Proto's fields, by minor version. */
static const struct {
	uint8_t tag, k, code, lineinfo, abslineinfo, locvars, upvalues, source;
	uint8_t size_upvalues, size_k, size_code, size_lines, size_locals, size_absolute, line;
} layouts[] = {
	[1] = {9, 0x10, 0x18, 0x28, 0, 0x30, 0x38, 0x40, 0x48, 0x4c, 0x50, 0x54, 0x5c, 0, 0x60},
	[2] = {9, 0x10, 0x18, 0x28, 0, 0x30, 0x38, 0x48, 0x50, 0x54, 0x58, 0x5c, 0x64, 0, 0x68},
	[3] = {9, 0x30, 0x38, 0x48, 0, 0x50, 0x58, 0x68, 0x10, 0x14, 0x18, 0x1c, 0x24, 0, 0x28},
	[4] = {10, 0x38, 0x40, 0x58, 0x60, 0x68, 0x50, 0x70, 0x10, 0x14, 0x18, 0x1c, 0x24, 0x28,
	       0x2c},
	[5] = {10, 0x38, 0x40, 0x58, 0x60, 0x68, 0x50, 0x70, 0x10, 0x14, 0x18, 0x1c, 0x24, 0x28,
	       0x2c},
};

/* Where the characters of a string are: src/bpf/runtime/lua/lua.h does the same. */
static uint64_t characters(const struct proto *p, uint64_t string)
{
	uint64_t words[3];

	if (p->minor == 5 && !runtime_read(p->at, words, sizeof(words), string + 8) &&
	    words[0] & LUA_505_LONG)
		return words[2];
	return string + p->string_text;
}

static int read_proto(const struct runtime_at *at, const struct lua_facts *facts,
		      const uint64_t words[2], struct proto *p)
{
	unsigned int minor = facts->version % 100;
	__u64 source[LUA_TEXT / 8], text = 0;
	uint8_t bytes[128];
	int err;

	*p = (struct proto){.at = at, .minor = minor};
	if (minor < 1 || minor > 5)
		return -EINVAL;
	err = runtime_read(at, bytes, 0x78, UNWIND_WORD_VALUE(words[0]));
	if (err)
		return err;
	p->k = word_at(bytes, layouts[minor].k);
	p->code = word_at(bytes, layouts[minor].code);
	p->lineinfo = word_at(bytes, layouts[minor].lineinfo);
	p->abslineinfo = minor >= 4 ? word_at(bytes, layouts[minor].abslineinfo) : 0;
	p->locvars = word_at(bytes, layouts[minor].locvars);
	p->upvalues = word_at(bytes, layouts[minor].upvalues);
	p->source = word_at(bytes, layouts[minor].source);
	p->size_upvalues = half_at(bytes, layouts[minor].size_upvalues);
	p->size_k = half_at(bytes, layouts[minor].size_k);
	p->size_code = half_at(bytes, layouts[minor].size_code);
	p->size_lines = half_at(bytes, layouts[minor].size_lines);
	p->size_locals = half_at(bytes, layouts[minor].size_locals);
	p->size_absolute = minor >= 4 ? half_at(bytes, layouts[minor].size_absolute) : 0;
	p->line = half_at(bytes, layouts[minor].line);
	p->string_text = lua_string_text(facts);
	if (!runtime_read(at, source, sizeof(source), characters(p, p->source)))
		text = lua_mix_text(1, source, LUA_TEXT / 8);
	if (bytes[8] != layouts[minor].tag ||
	    lua_check(p->code, p->source, p->size_code, p->line, text) != words[1] >> LUA_PC_BITS)
		return -ESTALE;
	return 0;
}

/* Text of a TString: short or long, tt says so besides that it is one. */
static bool read_text(const struct proto *p, uint64_t string, char *to, size_t size)
{
	uint64_t head;

	return string && !runtime_read_u64(p->at, &head, string + 8) && (head & 0xf) == 4 &&
	       !runtime_read_string(p->at, to, size, characters(p, string));
}

static bool read_constant(const struct proto *p, uint32_t index, char *to, size_t size)
{
	uint64_t value[2];

	return index < p->size_k &&
	       !runtime_read(p->at, value, sizeof(value), p->k + 16ull * index) &&
	       (value[1] & 0xf) == 4 && read_text(p, value[0], to, size);
}

static bool read_upvalue(const struct proto *p, uint32_t index, char *to, size_t size)
{
	uint64_t name;

	/* 5.1 has names only, later ones structures of 16 bytes */
	return index < p->size_upvalues &&
	       !runtime_read_u64(p->at, &name,
				 p->upvalues + (p->minor == 1 ? 8ull : 16ull) * index) &&
	       read_text(p, name, to, size);
}

/* The variable that lives in a register at an instruction: luaF_getlocalname(). */
static bool read_local(const struct proto *p, uint32_t reg, uint32_t pc, char *to, size_t size)
{
	uint64_t variable[2];
	uint32_t i;

	for (i = 0; i < p->size_locals && i < LOCALS_MAX; i++) {
		if (runtime_read(p->at, variable, sizeof(variable), p->locvars + 16ull * i) ||
		    (uint32_t)variable[1] > pc)
			return false;
		if (pc < variable[1] >> 32 && !reg--)
			return read_text(p, variable[0], to, size);
	}
	return false;
}

struct fields {
	char what;
	uint32_t op, a, b, c, bx;
	int64_t jump;
	bool c_is_constant; /* of METHOD; in 5.5 it always is */
};

static struct fields decode_fields(const struct proto *p, uint32_t i)
{
	const char *what = whats[p->minor];
	struct fields f;

	if (p->minor >= 4) {
		f = (struct fields){.op = i & 0x7f,
				    .a = i >> 7 & 0xff,
				    .b = i >> 16 & 0xff,
				    .c = i >> 24,
				    .bx = i >> 15,
				    .jump = (int64_t)(i >> 7) - 0xffffff,
				    .c_is_constant = p->minor == 5 || (i >> 15 & 1)};
	} else {
		f = (struct fields){.op = i & 0x3f,
				    .a = i >> 6 & 0xff,
				    .b = i >> 23,
				    .c = i >> 14 & 0x1ff,
				    .bx = i >> 14,
				    .jump = (int64_t)(i >> 14) - 0x1ffff};
		f.c_is_constant = f.c >> 8;
	}
	f.what = f.op < strlen(what) ? what[f.op] : NOTHING;
	return f;
}

static bool changes(const struct fields *f, uint32_t reg)
{
	switch (f->what) {
	case NIL_COUNT:
		return f->a <= reg && reg <= f->a + f->b;
	case NIL_LAST:
		return f->a <= reg && reg <= f->b;
	case ITERATE:
		return reg >= f->a + 2;
	case CALL:
		return reg >= f->a;
	case METHOD:
		return reg == f->a || reg == f->a + 1;
	case NOTHING:
	case JUMP:
		return false;
	}
	return reg == f->a;
}

/* The last instruction before pc that has set the register for sure, or -1. */
static int64_t find_setter(const struct proto *p, uint32_t pc, uint32_t reg)
{
	int64_t setter = -1, target = 0, destination;
	uint32_t i;

	for (i = 0; i < pc && i < p->count; i++) {
		struct fields f = decode_fields(p, p->instructions[i]);

		if (f.what == JUMP) {
			destination = (int64_t)i + 1 + f.jump;
			if (destination > i && destination <= pc && destination > target)
				target = destination;
		} else if (changes(&f, reg)) {
			/* code that was perhaps jumped over: not known */
			setter = i < target ? -1 : (int64_t)i;
		}
	}
	return setter;
}

/* The name that field C has. */
static bool name_of_key(const struct proto *p, uint32_t pc, const struct fields *f, char *to,
			size_t size)
{
	int64_t setter;
	struct fields load;

	if (f->what == FIELD_K || (p->minor >= 4 && f->what == UP_FIELD) ||
	    (p->minor >= 4 && f->what == METHOD && f->c_is_constant))
		return read_constant(p, f->c, to, size);
	if (p->minor < 4 && f->c_is_constant)
		return read_constant(p, f->c & 0xff, to, size);
	setter = find_setter(p, pc, f->c);
	if (setter < 0)
		return false;
	load = decode_fields(p, p->instructions[setter]);
	return load.what == CONSTANT && read_constant(p, load.bx, to, size);
}

static bool name_of_register(const struct proto *p, uint32_t pc, uint32_t reg, char *to,
			     size_t size, int depth)
{
	struct fields f;
	int64_t setter;

	if (read_local(p, reg, pc, to, size))
		return true;
	setter = find_setter(p, pc, reg);
	if (setter < 0 || depth >= DEPTH_MAX)
		return false;
	f = decode_fields(p, p->instructions[setter]);
	switch (f.what) {
	case MOVE:
		return f.b < f.a && name_of_register(p, (uint32_t)setter, f.b, to, size, depth + 1);
	case UPVALUE:
		return read_upvalue(p, f.b, to, size);
	case GLOBAL:
	case CONSTANT:
		return read_constant(p, f.bx, to, size);
	case FIELD_INT:
		snprintf(to, size, "integer index");
		return true;
	case UP_FIELD:
	case FIELD_RK:
	case FIELD_REG:
	case FIELD_K:
	case METHOD:
		return name_of_key(p, (uint32_t)setter, &f, to, size);
	}
	return false;
}

/* What the caller's instruction at pc calls. */
static bool name_of_call(const struct proto *p, uint32_t pc, char *to, size_t size)
{
	struct fields f = decode_fields(p, p->instructions[pc]);
	const char *meta = NULL;

	if (f.what == CALL)
		return name_of_register(p, pc, f.a, to, size, 0);
	if (f.what == ITERATE) {
		snprintf(to, size, "for iterator");
		return true;
	}
	if (f.op < strlen(metas[p->minor]))
		meta = metas[p->minor][f.op] == 'M' ? metamethod_by_number(f.c)
						    : metamethod(metas[p->minor][f.op]);
	if (meta)
		snprintf(to, size, "__%s", meta);
	return meta != NULL;
}

static bool name_by_caller(const struct runtime_at *at, const struct lua_facts *facts,
			   const uint64_t words[2], char *to, size_t size)
{
	uint32_t pc = words[1] & LUA_NO_PC;
	struct proto p;
	bool named = false;

	if (pc >= CODE_MAX || read_proto(at, facts, words, &p) || pc >= p.size_code)
		return false;
	p.count = pc + 1;
	p.instructions = malloc(4ull * p.count);
	if (p.instructions && !runtime_read(at, p.instructions, 4ull * p.count, p.code))
		named = name_of_call(&p, pc, to, size);
	free(p.instructions);
	/* what was read meanwhile is its own if it is there still */
	return named && to[0] && !read_proto(at, facts, words, &p);
}

bool lua_chunk_name(const char *source, char *to, size_t size)
{
	size_t length;

	if (*source == '@' || *source == '=') {
		snprintf(to, size, "%s", source + 1);
		return *source == '@';
	}
	length = strcspn(source, "\n");
	if (source[length] || length > 48)
		snprintf(to, size, "[string \"%.*s...\"]", (int)(length > 45 ? 45 : length),
			 source);
	else
		snprintf(to, size, "[string \"%s\"]", source);
	return false;
}

/*
 * 5.4 and 5.5 have differences of lines, a byte each, and some absolute ones for -128:
 * luaG_getfuncline().
 */
static uint32_t line_by_differences(const struct proto *p, uint32_t pc)
{
	uint32_t line = p->line, i, next = 0;
	int8_t *differences = malloc(pc + 1ull);
	uint64_t absolute;

	if (!differences || runtime_read(p->at, differences, pc + 1ull, p->lineinfo)) {
		free(differences);
		return p->line;
	}
	for (i = 0; i <= pc; i++) {
		if (differences[i] != -128) {
			line += (uint32_t)differences[i];
			continue;
		}
		for (; next < p->size_absolute; next++) {
			if (runtime_read_u64(p->at, &absolute, p->abslineinfo + 8ull * next))
				break;
			if ((uint32_t)absolute < i)
				continue;
			if ((uint32_t)absolute == i)
				line = absolute >> 32;
			break;
		}
	}
	free(differences);
	return line;
}

static uint32_t line_of(const struct proto *p, uint32_t pc)
{
	uint32_t line;

	if (pc >= p->size_lines || pc >= CODE_MAX || !p->lineinfo)
		return p->line;
	if (p->minor >= 4)
		return line_by_differences(p, pc);
	return runtime_read_u32(p->at, &line, p->lineinfo + 4ull * pc) ? p->line : line;
}

int lua_name(const struct runtime_at *at, const struct lua_facts *facts, const uint64_t words[2],
	     struct runtime_names *names)
{
	char source[RUNTIME_TEXT_MAX], file[RUNTIME_TEXT_MAX], name[NAME_MAX_SIZE] = "";
	enum lua_called called = (enum lua_called)UNWIND_WORD_VARIANT(words[0]);
	char place[RUNTIME_TEXT_MAX + 32];
	bool is_file, named = false;
	struct proto p;
	int err;

	err = read_proto(at, facts, words, &p);
	if (err)
		return err;
	if (!read_text(&p, p.source, source, sizeof(source)))
		strcpy(source, "=?");
	is_file = lua_chunk_name(source, file, sizeof(file));
	if (!p.line) {
		named = true;
		strcpy(name, "main chunk");
	} else if (called == LUA_CALLED_BY_LUA && at->caller) {
		named = name_by_caller(at, facts, at->caller, name, sizeof(name));
	} else if (called == LUA_CALLED_AS_FINALIZER) {
		named = true;
		strcpy(name, "__gc");
	}
	snprintf(place, sizeof(place), "function <%s:%u>", file, p.line);
	if (is_file)
		runtime_names_image(names, file);
	runtime_names_add(names, named ? name : place, file, line_of(&p, words[1] & LUA_NO_PC));
	return read_proto(at, facts, words, &p);
}
