// SPDX-License-Identifier: Apache-2.0
/*
 * LuaJIT 2.1: interpreter and compiled code. How frames are found stands in
 * src/bpf/runtime/luajit/luajit.h, what is read from the code of LuaJIT in luajit/find.c, how
 * functions are named in luajit/names.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "runtime/luajit/internal.h"

static void *open_luajit(const struct image *image, struct budget *budget, struct fail *why)
{
	struct luajit_facts *facts = calloc(1, sizeof(*facts));

	if (facts && luajit_find(image, facts, budget, why)) {
		free(facts);
		return NULL;
	}
	return facts;
}

static int attach(const struct runtime_at *at, void *data, void **state, struct fail *why)
{
	const struct luajit_facts *facts = at->facts;
	struct luajit_data *of = data;
	uint64_t image, size;

	(void)why;
	*state = calloc(1, sizeof(struct luajit_traces));
	if (!*state)
		return -ENOMEM;
	runtime_code_of_image(at, &image, &size);
	of->image = image;
	of->image_size = size;
	of->vm = runtime_address(at, facts->vm);
	of->vm_size = facts->vm_size;
	of->cur_l = facts->cur_l;
	return 0;
}

static void detach(void *state)
{
	struct luajit_traces *traces = state;

	vec_free(&traces->known);
	free(traces);
}

/* It puts compiled code where a jump of 32 bits reaches it from the interpreter (lj_mcode.c). */
static bool owns(const struct runtime_at *at, const void *state, const struct mapping *mapping)
{
	const struct luajit_facts *facts = at->facts;
	uint64_t vm = runtime_address(at, facts->vm);

	(void)state;
	return mapping->image->kind == IMAGE_ANON &&
	       mapping->start - vm + (1ull << 31) < 1ull << 32;
}

static int name_of(const struct runtime_at *at, void *state, const uint64_t words[2],
		   struct runtime_names *names)
{
	return UNWIND_WORD_VARIANT(words[0]) == LUAJIT_IN_TRACE
		       ? luajit_name_trace(at, state, words, names)
		       : luajit_name(at, words, names);
}

static const char *const exports[] = {"luaJIT_setmode", NULL};

const struct runtime_type runtime_luajit = {
	.name = "luajit",
	.id = UNWIND_RUNTIME_LUAJIT,
	.frame_kind = FILM_FRAME_LUA,
	.steps_in_image = true,
	.folds_leaf = true,
	.restarts = true,
	.named_by_caller = 1u << LUA_CALLED_BY_LUA | 1u << LUAJIT_IN_TRACE,
	.keeps = true,
	.exports = exports,
	.open = open_luajit,
	.close = free,
	.attach = attach,
	.detach = detach,
	.owns = owns,
	.name_of = name_of,
};
