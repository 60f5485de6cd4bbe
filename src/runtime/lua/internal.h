/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_LUA_INTERNAL_H
#define RUNTIME_LUA_INTERNAL_H

#include "bpf/runtime/lua/abi.h"
#include "runtime/runtime.h"

/* What the files of Lua say to each other. */

/* Of an image. Addresses are the image's. */
struct lua_facts {
	unsigned int version; /* 501 to 505 */
	unsigned int patch;   /* 4 in "5.4.4" */
	uint64_t execute, cold;
	uint64_t start, end;  /* where its code is: a program may have more */
	struct lua_data data; /* all but addresses */
};

/*
 * Finds luaV_execute() of an image, and where it keeps what the walk needs; version and patch are
 * set before. 0, or a negative errno with *why: it cannot be told from its code.
 */
int lua_find_execute(const struct image *image, struct lua_facts *facts, struct budget *budget,
		     struct fail *why);

/* Where the characters of a TString begin; of long ones in 5.5, the pointer to them. */
static inline uint8_t lua_string_text(const struct lua_facts *facts)
{
	return facts->version == 503 && facts->patch < 1 ? 32 : 24;
}

/* Names a frame: runtime_type's name_of(). */
int lua_name(const struct runtime_at *at, const struct lua_facts *facts, const uint64_t words[2],
	     struct runtime_names *names);

/*
 * How people see the name of a chunk (luaO_chunkid() in lobject.c): "@file" and "=name" without the
 * first character, the text of a program as [string "its first line…"]. Returns whether it is a
 * file.
 */
bool lua_chunk_name(const char *source, char *to, size_t size);

#endif
