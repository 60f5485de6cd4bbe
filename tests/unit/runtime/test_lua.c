// SPDX-License-Identifier: Apache-2.0
/*
 * Names of Lua's frames: what a caller's instructions say; functions that changed; memory that
 * holds anything.
 */
#include "../prelude.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/lua/internal.h"

/* A process of two pages; what is read beyond is not there. */
#define BASE   0x7f0000001000ull
#define CALLEE (BASE + 0x100)
#define CALLER (BASE + 0x200)
#define CODE   (BASE + 0x300)
#define LINES  (BASE + 0x400)
#define K      (BASE + 0x500)
#define SOURCE (BASE + 0x600)
#define NAME   (BASE + 0x700)
#define UP     (BASE + 0x800)

struct page {
	uint8_t bytes[8192];
};

static int read_page(void *context, void *to, size_t size, uint64_t address)
{
	struct page *page = context;

	if (address - BASE >= sizeof(page->bytes) || size > sizeof(page->bytes) - (address - BASE))
		return -EFAULT;
	memcpy(to, page->bytes + (address - BASE), size);
	return 0;
}

static void put(struct page *page, uint64_t address, uint64_t value, size_t size)
{
	memcpy(page->bytes + (address - BASE), &value, size);
}

static void put_text(struct page *page, uint64_t address, const char *text)
{
	put(page, address + 8, 4, 1);
	strcpy((char *)page->bytes + (address - BASE) + 24, text);
}

static const struct lua_facts facts = {.version = 504, .patch = 4};

/* A Proto of 5.4 (lobject.h) of four instructions, at line 10. */
static void put_proto(struct page *page, uint64_t at)
{
	put(page, at + 8, 10, 1);
	put(page, at + 0x10, 1, 4); /* upvalues */
	put(page, at + 0x14, 2, 4); /* constants */
	put(page, at + 0x18, 4, 4); /* instructions */
	put(page, at + 0x1c, 4, 4); /* lines */
	put(page, at + 0x28, 1, 4); /* absolute lines */
	put(page, at + 0x2c, 10, 4);
	put(page, at + 0x38, K, 8);
	put(page, at + 0x40, CODE, 8);
	put(page, at + 0x50, UP, 8);
	put(page, at + 0x58, LINES, 8);
	put(page, at + 0x60, LINES + 16, 8);
	put(page, at + 0x70, SOURCE, 8);
}

/* What the kernel side reads of a source's name. */
static uint64_t text_at(struct page *page, uint64_t source)
{
	__u64 text[LUA_TEXT / 8];

	return read_page(page, text, sizeof(text), source + 24)
		       ? 0
		       : lua_mix_text(1, text, LUA_TEXT / 8);
}

static void words_of(uint64_t proto, uint32_t pc, uint64_t words[2])
{
	struct page page = {0};

	put_text(&page, SOURCE, "@/srv/app.lua");
	words[0] = UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_LUA, LUA_CALLED_BY_LUA, proto);
	words[1] = lua_check(CODE, SOURCE, 4, 10, text_at(&page, SOURCE)) << LUA_PC_BITS | pc;
}

/* OP_GETTABUP to register 2 of constant 1 of upvalue 0; OP_CALL of register 2 */
#define GETTABUP(a, c) (11u | (uint32_t)(a) << 7 | (uint32_t)(c) << 24)
#define CALL(a)	       (68u | (uint32_t)(a) << 7)

static void make(struct page *page)
{
	memset(page, 0, sizeof(*page));
	put_proto(page, CALLEE);
	put_proto(page, CALLER);
	put_text(page, SOURCE, "@/srv/app.lua");
	put_text(page, NAME, "render");
	put(page, K + 16, NAME, 8);
	put(page, K + 24, 0x44, 1);
	put(page, CODE, GETTABUP(2, 1), 4);
	put(page, CODE + 4, CALL(2), 4);
	/* lines 11, 13, then 300 absolutely, then 299 */
	put(page, LINES, 0xff800201, 4);
	put(page, LINES + 16, 300ull << 32 | 2, 8);
}

static int name(struct page *page, const uint64_t words[2], const uint64_t *caller,
		struct runtime_names *names)
{
	struct runtime_at at = {.memory = {read_page, page}, .caller = caller};

	names->count = names->used = 0;
	names->image = NULL;
	return lua_name(&at, &facts, words, names);
}

static void named_by_its_caller(void **state)
{
	static struct runtime_names names;
	static const uint32_t lines[] = {11, 13, 300, 299};
	uint64_t words[2], caller[2];
	struct page page;
	uint32_t pc;

	(void)state;
	make(&page);
	words_of(CALLER, 1, caller);
	for (pc = 0; pc < 4; pc++) {
		words_of(CALLEE, pc, words);
		assert_int_equal(name(&page, words, caller, &names), 0);
		assert_int_equal(names.count, 1);
		assert_string_equal(names.at[0].function, "render");
		assert_string_equal(names.at[0].file, "/srv/app.lua");
		assert_string_equal(names.image, "/srv/app.lua");
		assert_int_equal(names.at[0].line, lines[pc]);
	}
	/* its caller is not known, or is something else by now */
	assert_int_equal(name(&page, words, NULL, &names), 0);
	assert_string_equal(names.at[0].function, "function </srv/app.lua:10>");
	caller[1] ^= 1ull << 40;
	assert_int_equal(name(&page, words, caller, &names), 0);
	assert_string_equal(names.at[0].function, "function </srv/app.lua:10>");
	/* an instruction that calls nothing */
	words_of(CALLER, 3, caller);
	assert_int_equal(name(&page, words, caller, &names), 0);
	assert_string_equal(names.at[0].function, "function </srv/app.lua:10>");
}

static void another_function_is_not_named(void **state)
{
	static struct runtime_names names;
	uint64_t words[2];
	struct page page;

	(void)state;
	make(&page);
	words_of(CALLEE, 0, words);
	put(&page, CALLEE + 0x2c, 11, 4);
	assert_int_equal(name(&page, words, NULL, &names), -ESTALE);
	/* its source has been freed, and another one is there: all addresses are the same */
	make(&page);
	put_text(&page, SOURCE, "@/srv/apq.lua");
	assert_int_equal(name(&page, words, NULL, &names), -ESTALE);
	make(&page);
	put(&page, CALLEE + 8, 5, 1);
	assert_int_equal(name(&page, words, NULL, &names), -ESTALE);
	words[0] = UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_LUA, 0, BASE + 8160);
	assert_int_equal(name(&page, words, NULL, &names), -EFAULT);
}

static void chunks_are_called_as_people_know_them(void **state)
{
	char to[80];

	(void)state;
	assert_true(lua_chunk_name("@/a/b.lua", to, sizeof(to)));
	assert_string_equal(to, "/a/b.lua");
	assert_false(lua_chunk_name("=stdin", to, sizeof(to)));
	assert_string_equal(to, "stdin");
	assert_false(lua_chunk_name("return 1", to, sizeof(to)));
	assert_string_equal(to, "[string \"return 1\"]");
	assert_false(lua_chunk_name("x = 1\ny = 2", to, sizeof(to)));
	assert_string_equal(to, "[string \"x = 1...\"]");
}

/*
 * Any instructions, sizes and pointers: there is an answer, and nothing else is read (the sanitizer
 * looks).
 */
static void memory_that_holds_anything(void **state)
{
	static struct runtime_names names;
	struct lua_facts any = facts;
	uint64_t words[2], caller[2];
	uint64_t random = 20261121;
	struct page page;
	int round, i;

	(void)state;
	for (round = 0; round < 20000; round++) {
		struct runtime_at at = {.memory = {read_page, &page}, .caller = caller};

		make(&page);
		any.version = 501 + (unsigned int)round % 4;
		for (i = 0; i < 24; i++) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			put(&page, BASE + 0x100 + (random >> 33) % 0x500, random >> 24,
			    1 + (random >> 60) % 4);
		}
		/* with checks that are right, so that more than those is tried */
		for (i = 0; i < 2; i++) {
			uint64_t *to = i ? caller : words, proto = i ? CALLER : CALLEE, f[15];
			static const uint8_t at_code[] = {3, 3, 7, 8}, at_source[] = {8, 9, 13, 14};
			static const uint8_t at_size[] = {0x50, 0x58, 0x18, 0x18},
					     at_line[] = {0x60, 0x68, 0x28, 0x2c};
			uint32_t size, line;

			memcpy(f, page.bytes + (proto - BASE), sizeof(f));
			memcpy(&size, page.bytes + (proto - BASE) + at_size[round % 4], 4);
			memcpy(&line, page.bytes + (proto - BASE) + at_line[round % 4], 4);
			page.bytes[proto - BASE + 8] = round % 4 == 3 ? 10 : 9;
			to[0] = UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_LUA, 0, proto);
			to[1] = lua_check(f[at_code[round % 4]], f[at_source[round % 4]], size,
					  line, text_at(&page, f[at_source[round % 4]]))
					<< LUA_PC_BITS |
				(random >> 40) % 6;
		}
		names.count = names.used = 0;
		assert_int_equal(lua_name(&at, &any, words, &names), 0);
		assert_int_equal(names.count, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(named_by_its_caller),
		cmocka_unit_test(another_function_is_not_named),
		cmocka_unit_test(chunks_are_called_as_people_know_them),
		cmocka_unit_test(memory_that_holds_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
