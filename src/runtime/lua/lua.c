// SPDX-License-Identifier: Apache-2.0
/*
 * Lua 5.1 to 5.5, the interpreter of PUC-Rio: a shared library, or linked into a program that
 * exports its functions to modules in C. How frames are found stands in src/bpf/runtime/lua/lua.h,
 * how luaV_execute() is found in lua/execute.c, how functions are named in lua/names.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/lua/internal.h"

/* lua_ident (lapi.c) has "Lua 5.4.4" in it, LUA_RELEASE. */
static bool read_version(const struct image *image, struct lua_facts *facts, struct budget *budget)
{
	struct runtime_symbol ident = {.name = "lua_ident"};
	unsigned int major, minor;
	char text[40] = "";
	const char *at;

	runtime_find_symbols(image, budget, &ident, 1);
	if (!ident.address || runtime_read_image(image, text, sizeof(text) - 1, ident.address))
		return false;
	at = strstr(text, "Lua 5.");
	if (!at || sscanf(at, "Lua %1u.%1u.%2u", &major, &minor, &facts->patch) != 3)
		return false;
	facts->version = major * 100 + minor;
	return true;
}

/*
 * Its code stands together, as its object files were linked: from the first to the last of what it
 * exports. An image that has little else is Lua as a whole.
 */
static void find_code(const struct image *image, struct lua_facts *facts, struct budget *budget)
{
	struct runtime_symbol symbols[] = {
		{.name = "lua_atpanic"},    {.name = "lua_call"},     {.name = "lua_callk"},
		{.name = "lua_gethook"},    {.name = "lua_resume"},   {.name = "lua_close"},
		{.name = "lua_newstate"},   {.name = "luaL_ref"},     {.name = "luaL_newstate"},
		{.name = "luaL_openlibs"},  {.name = "luaopen_base"}, {.name = "luaopen_table"},
		{.name = "luaopen_string"}, {.name = "luaopen_math"}, {.name = "luaopen_debug"},
		{.name = "luaopen_io"},	    {.name = "luaopen_os"},   {.name = "luaopen_package"},
	};
	const size_t count = sizeof(symbols) / sizeof(symbols[0]);
	uint64_t size = 0;
	size_t i;

	runtime_find_symbols(image, budget, symbols, count);
	facts->start = facts->execute;
	facts->end = facts->execute + facts->data.execute_size;
	for (i = 0; i < count; i++) {
		const struct runtime_symbol *s = &symbols[i];

		if (s->address && s->address < facts->start)
			facts->start = s->address;
		if (s->address && s->address + s->size > facts->end)
			facts->end = s->address + s->size;
	}
	for (i = 0; i < image->segment_count; i++)
		size += image->segments[i].size;
	if (size < 2 * (facts->end - facts->start)) {
		facts->start = 0;
		facts->end = UINT64_MAX;
	}
}

static bool is_part(const void *facts, uint64_t image_address)
{
	const struct lua_facts *of = facts;

	return image_address >= of->start && image_address < of->end;
}

static void *open_lua(const struct image *image, struct budget *budget, struct fail *why)
{
	struct lua_facts *facts = calloc(1, sizeof(*facts));

	if (!facts)
		return NULL;
	if (!read_version(image, facts, budget)) {
		fail(why, -ENOTSUP, NULL, "the version of Lua in %s cannot be read", image->path);
		goto refused;
	}
	/* 5.4.0 and 5.4.1 have a luaV_execute() for each call, and other bits */
	if (facts->version < 501 || facts->version > 505 ||
	    (facts->version == 504 && facts->patch < 2)) {
		fail(why, -ENOTSUP, NULL, "Lua %u.%u.%u of %s is not a known version",
		     facts->version / 100, facts->version % 100, facts->patch, image->path);
		goto refused;
	}
	if (lua_find_execute(image, facts, budget, why))
		goto refused;
	find_code(image, facts, budget);
	facts->data.version = facts->version;
	facts->data.text = lua_string_text(facts);
	facts->data.reentry = facts->version == 502 || (facts->version == 503 && facts->patch < 2);
	return facts;
refused:
	free(facts);
	return NULL;
}

static int attach(const struct runtime_at *at, void *data, void **state, struct fail *why)
{
	const struct lua_facts *facts = at->facts;
	struct lua_data *of = data;
	uint64_t code, size;

	(void)state;
	(void)why;
	_Static_assert(sizeof(*of) <= UNWIND_DATA_BYTES, "the block of data is too small");
	*of = facts->data;
	of->execute = runtime_address(at, facts->execute);
	of->cold = facts->cold ? runtime_address(at, facts->cold) : 0;
	if (facts->start) {
		code = runtime_address(at, facts->start);
		size = facts->end - facts->start;
	} else {
		runtime_code_of_image(at, &code, &size);
	}
	of->code = code;
	of->code_size = size;
	return 0;
}

static int name_of(const struct runtime_at *at, void *state, const uint64_t words[2],
		   struct runtime_names *names)
{
	(void)state;
	return lua_name(at, at->facts, words, names);
}

static const char *const exports[] = {"lua_ident", NULL};

const struct runtime_type runtime_lua = {
	.name = "lua",
	.id = UNWIND_RUNTIME_LUA,
	.frame_kind = FILM_FRAME_LUA,
	.steps_in_image = true,
	.folds_leaf = true,
	.restarts = true,
	.is_part = is_part,
	.named_by_caller = 1u << LUA_CALLED_BY_LUA,
	.exports = exports,
	.open = open_lua,
	.close = free,
	.attach = attach,
	.name_of = name_of,
};
