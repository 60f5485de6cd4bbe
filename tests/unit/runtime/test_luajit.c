// SPDX-License-Identifier: Apache-2.0
/*
 * Names of LuaJIT's frames: by their callers, from memory that is used again, freed, or holds
 * anything.
 */
#include "../prelude.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/luajit/here.h"

/* A process of two pages; what is read beyond is not there. */
#define BASE   0x7f0000001000ull
#define CALLEE (BASE + 0x200)
#define CALLER (BASE + 0x400)
#define CHUNK  (BASE + 0x800)
#define NAME   (BASE + 0x900)

struct page {
	uint8_t bytes[8192];
	bool is_gone;
	bool is_apart; /* what lies together cannot be read at once */
};

static int read_page(void *context, void *to, size_t size, uint64_t address)
{
	struct page *page = context;

	if (page->is_gone || (page->is_apart && size >= LUAJIT_WINDOW_BYTES) ||
	    address - BASE >= sizeof(page->bytes) || size > sizeof(page->bytes) - (address - BASE))
		return -EFAULT;
	memcpy(to, page->bytes + (address - BASE), size);
	return 0;
}

static void put(struct page *page, uint64_t address, uint64_t value, size_t size)
{
	memcpy(page->bytes + (address - BASE), &value, size);
}

/* A GCstr: its number, a hash, its length, its characters. */
static void put_text(struct page *page, uint64_t at, uint32_t number, const char *text)
{
	put(page, at + 8, LUAJIT_STRING << 8, 2);
	put(page, at + 12, number, 4);
	put(page, at + 16, 77 * number, 4);
	put(page, at + 20, strlen(text), 4);
	strcpy((char *)page->bytes + (at - BASE) + LUAJIT_STRING_HEAD, text);
}

#define INS(op, a, d) ((uint32_t)(op) | (uint32_t)(a) << 8 | (uint32_t)(d) << 16)

/*
 * A GCproto with eight instructions, one constant, names of one upvalue and of one variable; at
 * line 10.
 */
static void put_proto(struct page *page, uint64_t at)
{
	const uint64_t k = at + LUAJIT_PROTO_SIZE + 40, infos = k + 8;
	static const char names[] = "upper\0local\0\0\7"; /* the variable lives from the begin on */

	put(page, at + 9, LUAJIT_PROTO, 1);
	put(page, at + 12, 8, 4);
	put(page, at + 32, k, 8);
	put(page, at + 48, 1, 4);
	put(page, at + 56, 0x180, 4);
	put(page, at + 60, 1, 1);
	put(page, at + 64, CHUNK, 8);
	put(page, at + 72, 10, 4);
	put(page, at + 76, 9, 4);
	put(page, at + 80, infos, 8);
	put(page, at + 88, infos + 8, 8);
	put(page, at + 96, infos + 14, 8);
	put(page, k - 8, NAME, 8);
	put(page, infos, 0x0706050403020100, 8);
	memcpy(page->bytes + (infos + 8 - BASE), names, sizeof(names));
}

static void put_call(struct page *page, uint32_t setter)
{
	put(page, CALLER + LUAJIT_PROTO_SIZE + 4 * 3, setter, 4);
	put(page, CALLER + LUAJIT_PROTO_SIZE + 4 * 4, INS(BC_MOV, 3, 1), 4); /* an argument */
	put(page, CALLER + LUAJIT_PROTO_SIZE + 4 * 5, INS(BC_CALLM + 1, 2, 0), 4);
}

static void make(struct page *page)
{
	memset(page, 0, sizeof(*page));
	put_proto(page, CALLEE);
	put_proto(page, CALLER);
	put_text(page, CHUNK, 5, "@/srv/app.lua");
	put_text(page, NAME, 6, "render");
	put_call(page, INS(BC_GGET, 2, 0));
}

static struct runtime_at at_of(struct page *page)
{
	return (struct runtime_at){.memory = {read_page, page}};
}

/* As the kernel side makes them, and what it keeps. */
static void sample(struct page *page, uint64_t proto, uint32_t place, uint64_t words[2],
		   struct luajit_kept *kept)
{
	struct runtime_at at = at_of(page);
	struct luajit_place p;
	struct luajit_found found = {0};

	assert_int_equal(luajit_read_place(&at, &p, proto, place, &found), 0);
	words[0] = UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_LUAJIT, LUA_CALLED_BY_LUA, proto);
	words[1] = found.check << LUA_PC_BITS | place;
	*kept = (struct luajit_kept){.key = words[1],
				     .first = found.first,
				     .lines = 9,
				     .line = found.line,
				     .op = found.op,
				     .how = found.how};
	strcpy(kept->chunk, "@/srv/app.lua");
	if (found.how == LUAJIT_CALLS_CONSTANT)
		memcpy(kept->callee, p.text + 2, sizeof(kept->callee));
}

struct sampled {
	struct page page;
	uint64_t words[2], caller[2];
	struct luajit_kept kept, caller_kept;
	struct runtime_names names;
};

static void begin(struct sampled *s)
{
	sample(&s->page, CALLEE, 2, s->words, &s->kept);
	sample(&s->page, CALLER, 5, s->caller, &s->caller_kept);
}

static int name(struct sampled *s, bool is_kept)
{
	struct runtime_at at = at_of(&s->page);

	at.caller = s->caller;
	at.kept = is_kept ? &s->kept : NULL;
	at.caller_kept = is_kept ? &s->caller_kept : NULL;
	s->names.count = s->names.used = 0;
	s->names.image = NULL;
	return luajit_name(&at, s->words, &s->names);
}

static void assert_name(struct sampled *s, bool is_kept, const char *function)
{
	assert_int_equal(name(s, is_kept), 0);
	assert_int_equal(s->names.count, 1);
	assert_string_equal(s->names.at[0].function, function);
	assert_string_equal(s->names.at[0].file, "/srv/app.lua");
	/* the table of lines has the place's number less one */
	assert_int_equal(s->names.at[0].line, 11);
}

#define NAMELESS "function </srv/app.lua:10>"

static void named_by_what_loads_it(void **state)
{
	static struct sampled s;
	static const struct {
		uint32_t setter;
		const char *name;
	} calls[] = {
		{INS(BC_GGET, 2, 0), "render"}, {INS(BC_TGETS, 2, 1 << 8 | 0), "render"},
		{INS(BC_UGET, 2, 0), "upper"},	{INS(BC_FNEW, 2, 0), NAMELESS},
		{INS(BC_GGET, 1, 0), NAMELESS}, {INS(BC_GGET, 2, 1), NAMELESS},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		make(&s.page);
		put_call(&s.page, calls[i].setter);
		begin(&s);
		assert_name(&s, false, calls[i].name);
		assert_name(&s, true, calls[i].name);
	}
}

/* All addresses and sizes are as before: only what strings say has changed. */
static void memory_that_is_used_again(void **state)
{
	static struct sampled s;

	(void)state;
	/* the name's string: another one, or one that was freed and written over in part */
	make(&s.page);
	begin(&s);
	put_text(&s.page, NAME, 9, "redraw");
	assert_name(&s, false, NAMELESS);
	put_text(&s.page, NAME, 6, "render");
	assert_name(&s, false, "render");
	put(&s.page, NAME + LUAJIT_STRING_HEAD + 4, 0xd8, 1);
	assert_name(&s, false, NAMELESS);
	assert_name(&s, true, "render");
	/* the instruction that loads it */
	make(&s.page);
	put_call(&s.page, INS(BC_UGET, 2, 0));
	assert_name(&s, false, NAMELESS);
	/* the chunk's name: then nothing is known */
	make(&s.page);
	put_text(&s.page, CHUNK, 9, "@/srv/apq.lua");
	assert_int_equal(name(&s, false), -ESTALE);
	assert_name(&s, true, "render");
	/* names of variables */
	make(&s.page);
	put_call(&s.page, INS(BC_UGET, 2, 0));
	begin(&s);
	put(&s.page, CALLER + LUAJIT_PROTO_SIZE + 40 + 16, 'U', 1);
	assert_name(&s, false, NAMELESS);
	assert_name(&s, true, NAMELESS);
	/* another function in its place; no memory at all */
	make(&s.page);
	begin(&s);
	put(&s.page, CALLEE + 72, 11, 4);
	assert_int_equal(name(&s, false), -ESTALE);
	s.page.is_gone = true;
	assert_int_equal(name(&s, false), -EFAULT);
	assert_name(&s, true, "render");
	/* what is kept under that key is another frame's */
	s.kept.key++;
	assert_int_equal(name(&s, true), -EFAULT);
}

/* How much is read at once says nothing about the function. */
static void read_at_once_or_not(void **state)
{
	static struct sampled s;
	const uint32_t setters[] = {INS(BC_GGET, 2, 0), INS(BC_UGET, 2, 0), INS(BC_FNEW, 2, 0)};
	uint64_t words[2];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(setters) / sizeof(setters[0]); i++) {
		make(&s.page);
		put_call(&s.page, setters[i]);
		s.page.is_apart = false;
		begin(&s);
		s.page.is_apart = true;
		sample(&s.page, CALLEE, 2, words, &s.kept);
		assert_int_equal(words[1], s.words[1]);
		sample(&s.page, CALLER, 5, words, &s.caller_kept);
		assert_int_equal(words[1], s.caller[1]);
		assert_int_equal(s.caller_kept.line, 14);
	}
}

/* What LuaJIT itself changes in a function is not a part of the checksum. */
static void functions_that_run(void **state)
{
	static struct sampled s;

	(void)state;
	make(&s.page);
	begin(&s);
	put(&s.page, CALLER, 0x7f0000001234, 8);      /* the next object */
	put(&s.page, CALLER + 8, 3, 1);		      /* the garbage collector's mark */
	put(&s.page, CALLER + 24, 0x7f0000001238, 8); /* its list */
	put(&s.page, CALLER + 61, 0x7f, 3);	      /* flags, the trace */
	put(&s.page, NAME + 8, 2, 1);
	assert_name(&s, false, "render");
}

static void memory_that_holds_anything(void **state)
{
	static struct sampled s;
	uint64_t random = 20261121;
	int round, i;

	(void)state;
	for (round = 0; round < 20000; round++) {
		struct runtime_at at = at_of(&s.page);
		struct luajit_place p;
		struct luajit_found found = {0};

		make(&s.page);
		begin(&s);
		for (i = 0; i < 12; i++) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			put(&s.page, BASE + 0x200 + (random >> 33) % 0x780, random >> 24,
			    1 + (random >> 60) % 8);
		}
		/* with a check that is right, so that more than those is tried */
		if (!luajit_read_place(&at, &p, CALLER, 5, &found))
			s.caller[1] = found.check << LUA_PC_BITS | 5;
		if (!luajit_read_place(&at, &p, CALLEE, 2, &found))
			s.words[1] = found.check << LUA_PC_BITS | 2;
		if (!name(&s, false))
			assert_int_equal(s.names.count, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(named_by_what_loads_it),
		cmocka_unit_test(memory_that_is_used_again),
		cmocka_unit_test(read_at_once_or_not),
		cmocka_unit_test(functions_that_run),
		cmocka_unit_test(memory_that_holds_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
