// SPDX-License-Identifier: Apache-2.0
/*
 * What a function of LuaJIT is called, by its caller's byte code, as debug.traceback() does it
 * (lj_debug.c: lj_debug_funcname(), lj_debug_slotname(), lj_debug_line()). Structures are those of
 * lj_obj.h with 64-bit references, instructions those of lj_bc.h.
 *
 * The program may have freed what a name is made of, or used the memory again. What the kernel side
 * has kept is right. What it has not is read from the process, and taken only if the checksum over
 * all is the same before and after.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/lua/internal.h"
#include "runtime/luajit/here.h"

#define CODE_MAX      (1u << 18) /* instructions that are looked at */
#define INFO_MAX      16384	 /* bytes of names of variables */
#define NAME_MAX_SIZE 256

/* What a frame's words mean, and what it calls. */
struct proto {
	const struct runtime_at *at;
	const uint64_t *words;
	struct luajit_place place; /* as the process has it */
	struct luajit_found found;
	const struct luajit_kept *kept; /* or this, if it is not null */
	char *info; /* names of local variables: INFO_MAX bytes and a zero; or null */
};

/* 0; -ESTALE: something else is there by now; -EFAULT. */
static int read_place(struct proto *p)
{
	switch (luajit_read_place(p->at, &p->place, UNWIND_WORD_VALUE(p->words[0]),
				  p->words[1] & LUA_NO_PC, &p->found)) {
	case 0:
		return p->found.check == p->words[1] >> LUA_PC_BITS ? 0 : -ESTALE;
	case -1:
		return -EFAULT;
	}
	return -ESTALE;
}

static int open_proto(struct proto *p, const struct runtime_at *at, const uint64_t *words,
		      const void *kept)
{
	const struct luajit_kept *of = kept;

	*p = (struct proto){.at = at, .words = words};
	if (!of || of->key != words[1])
		return read_place(p);
	p->kept = of;
	p->found = (struct luajit_found){
		.first = of->first, .line = of->line, .op = of->op, .how = of->how};
	return 0;
}

static bool read_text(const struct runtime_at *at, uint64_t string, char *to, size_t size)
{
	uint64_t head;

	return string && !runtime_read_u64(at, &head, string + 8) &&
	       (head >> 8 & 0xff) == LUAJIT_STRING &&
	       !runtime_read_string(at, to, size, string + LUAJIT_STRING_HEAD);
}

/* Collectable constants stand in front of k, in reverse. */
static bool read_constant(const struct proto *p, uint32_t index, char *to, size_t size)
{
	uint64_t string;

	return !runtime_read_u64(p->at, &string,
				 p->place.proto[LUAJIT_PROTO_K] - 8 * (index + 1ull)) &&
	       read_text(p->at, string, to, size);
}

/* Names of upvalues follow one another. */
static bool read_upvalue(const struct proto *p, uint32_t index, char *to, size_t size)
{
	uint64_t at = p->place.proto[LUAJIT_PROTO_UVINFO];

	if (!at || index >= (p->place.proto[LUAJIT_PROTO_TOTAL] >> 32 & 0xff))
		return false;
	for (;; index--) {
		if (runtime_read_string(p->at, to, size, at))
			return false;
		if (!index)
			return true;
		at += strlen(to) + 1;
	}
}

static bool read_number(const char **at, const char *end, uint32_t *value)
{
	uint32_t shift;

	*value = 0;
	for (shift = 0; *at < end && shift < 35; shift += 7) {
		uint8_t byte = (uint8_t) * (*at)++;

		*value |= (uint32_t)(byte & 0x7f) << (shift & 31);
		if (byte < 0x80)
			return true;
	}
	return false;
}

/*
 * The variable that lives in a slot at a place: names, each with where it begins and for how long.
 */
static bool read_local(const struct proto *p, uint32_t slot, uint32_t place, char *to, size_t size)
{
	const char *at = p->info, *end = p->info ? p->info + INFO_MAX : NULL, *name;
	uint32_t start = 0, length, begin;

	while (at < end && *at) {
		name = at;
		/* 1 to 6 stand for the variables of loops, which are never called */
		if ((uint8_t)*at >= 7)
			at += strnlen(at, (size_t)(end - at));
		at++;
		if (at >= end || !read_number(&at, end, &begin) || !read_number(&at, end, &length))
			return false;
		start += begin;
		if (start > place)
			return false;
		if (place - start >= length || slot--)
			continue;
		snprintf(to, size, "%s", (uint8_t)*name >= 7 ? name : "for iterator");
		return true;
	}
	return false;
}

static const char *metamethod(uint32_t op)
{
	static const char *const arithmetic[] = {"add", "sub", "mul", "div", "mod"};

	if (op < BC_ISTC)
		return op < 2 ? "lt" : op < BC_ISEQV ? "le" : "eq";
	if (op >= BC_ADDVN && op < BC_POW)
		return arithmetic[(op - BC_ADDVN) % 5];
	if ((op >= BC_TGETV && op <= BC_TGETR) || op == BC_GGET)
		return "index";
	if ((op >= BC_TSETV && op <= BC_TSETR) || op == BC_GSET)
		return "newindex";
	if (op >= BC_FNEW && op < BC_GGET)
		return "gc";
	return op == BC_UNM   ? "unm"
	       : op == BC_LEN ? "len"
	       : op == BC_POW ? "pow"
	       : op == BC_CAT ? "concat"
			      : NULL;
}

/* Reads names of variables as far as memory goes; a zero ends them. */
static char *read_info(const struct proto *p)
{
	uint64_t varinfo = p->place.proto[LUAJIT_PROTO_VARINFO];
	char *info = varinfo ? calloc(1, INFO_MAX + 1) : NULL;
	size_t held = 0;

	while (info && held < INFO_MAX) {
		size_t piece = 4096 - ((varinfo + held) & 4095);

		if (piece > INFO_MAX - held)
			piece = INFO_MAX - held;
		if (runtime_read(p->at, info + held, piece, varinfo + held))
			break;
		held += piece;
	}
	return info;
}

/* The variable that is called at the place. */
static bool name_of_variable(struct proto *p, char *to, size_t size)
{
	uint32_t place = p->words[1] & LUA_NO_PC, slot = p->found.setter >> 16;
	bool named;

	if ((p->found.setter & 0xff) == BC_UGET)
		return read_upvalue(p, slot, to, size);
	p->info = read_info(p);
	if (p->found.op == BC_ITERC || p->found.op == BC_ITERN)
		slot = p->found.slot - 3;
	named = read_local(p, slot, place - p->found.ago, to, size);
	free(p->info);
	return named;
}

/* False: its caller does not say, or has changed since. */
static bool name_by_caller(const struct runtime_at *at, char *to, size_t size)
{
	struct proto p;
	const char *meta;

	if (open_proto(&p, at, at->caller, at->caller_kept))
		return false;
	switch (p.found.how) {
	case LUAJIT_CALLS_METAMETHOD:
		meta = metamethod(p.found.op);
		snprintf(to, size, "%s%s", meta ? "__" : "", meta ? meta : "");
		return meta;
	case LUAJIT_CALLS_CONSTANT:
		if (p.kept && memchr(p.kept->callee, 0, LUAJIT_NAME_KEPT)) {
			snprintf(to, size, "%s", p.kept->callee);
			return to[0];
		}
		if ((p.kept && read_place(&p)) ||
		    !read_constant(&p, luajit_constant(p.found.setter), to, size))
			return false;
		break;
	case LUAJIT_CALLS_VARIABLE:
		if ((p.kept && read_place(&p)) || !name_of_variable(&p, to, size))
			return false;
		break;
	default:
		return false;
	}
	return to[0] && !read_place(&p);
}

/* The chunk's name as it was given, of a function that is what it was. */
static int read_chunk(struct proto *p, char *to, size_t size)
{
	const char *kept = p->kept ? p->kept->chunk : NULL;

	/* of text that was loaded, more than its begin is never shown */
	if (kept && (memchr(kept, 0, LUAJIT_CHUNK_KEPT) || (*kept != '@' && *kept != '='))) {
		snprintf(to, size, "%.*s", LUAJIT_CHUNK_KEPT, kept);
		return 0;
	}
	if (kept && read_place(p))
		return -ESTALE;
	if (!read_text(p->at, p->place.proto[LUAJIT_PROTO_CHUNKNAME], to, size))
		strcpy(to, "=?");
	return read_place(p);
}

int luajit_name(const struct runtime_at *at, const uint64_t words[2], struct runtime_names *names)
{
	char source[RUNTIME_TEXT_MAX], file[RUNTIME_TEXT_MAX], name[NAME_MAX_SIZE] = "";
	char function[RUNTIME_TEXT_MAX + 32];
	bool is_file, named = false;
	struct proto p;
	uint32_t lines;
	int err;

	err = open_proto(&p, at, words, at->kept);
	if (!err)
		err = read_chunk(&p, source, sizeof(source));
	if (err)
		return err;
	is_file = lua_chunk_name(source, file, sizeof(file));
	lines = p.kept ? p.kept->lines : (uint32_t)(p.place.proto[LUAJIT_PROTO_LINES] >> 32);
	if (!p.found.first && lines) {
		named = true;
		strcpy(name, "main chunk");
	} else if (at->caller) {
		named = name_by_caller(at, name, sizeof(name));
	}
	snprintf(function, sizeof(function), "function <%s:%u>", file, p.found.first);
	if (is_file)
		runtime_names_image(names, file);
	runtime_names_add(names, named ? name : function, file, p.found.line);
	return 0;
}
