// SPDX-License-Identifier: Apache-2.0
/*
 * V8, the engine of Node.js. Frames are found by bpf/runtime/v8/v8.h; here are the facts of an
 * image and a process for it, and the names of functions. Which structures of V8 are read where,
 * and in which file of its sources they are described:
 *
 *	v8/facts.c	offsets by version, the place of the builtins
 *	v8/text.c       strings                         src/objects/string.tq
 *	v8/shared.c     functions and scripts           src/objects/shared-function-info.tq,
 *	script.tq, scope-info.tq
 *	v8/places.c     places within functions         src/codegen/source-position-table.cc
 *	v8/code.c       code, and what is inlined       src/objects/code.h, deoptimization-data.h
 *	v8/wasm.c	code of WebAssembly		src/wasm/wasm-code-manager.h
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/runtime/v8/abi.h"
#include "runtime/v8/internal.h"

/* More than any build of V8 has of builtins. */
#define BUILTINS_MAX (64u << 20)

static void *open_image(const struct image *image, struct budget *budget, struct fail *why)
{
	return v8_facts_open(image, budget, why);
}

/*
 * What was added to the image's addresses. A part of the file is mapped a second time, near the
 * code that V8 makes, which may be below the image itself: the right one is where a variable has
 * the value that it has in the file.
 */
static int find_bias(const struct runtime_at *at, const struct v8_facts *facts, uint64_t *bias)
{
	uint32_t witness;
	size_t i;
	int err = -EAGAIN;

	if (!runtime_read_u32(at, &witness, at->mapping->bias + facts->witness_at) &&
	    witness == facts->witness) {
		*bias = at->mapping->bias;
		return 0;
	}
	for (i = 0; i < at->process->mapping_count && err; i++) {
		const struct mapping *mapping = &at->process->mappings[i];

		if (mapping->image != at->mapping->image ||
		    runtime_read_u32(at, &witness, mapping->bias + facts->witness_at) ||
		    witness != facts->witness)
			continue;
		*bias = mapping->bias;
		err = 0;
	}
	return err;
}

/* Whether the process has the image's file at an address. */
static bool is_mapped(const struct runtime_at *at, uint64_t address)
{
	const struct mapping *mapping = process_mapping(at->process, address);

	return mapping && mapping->image == at->mapping->image;
}

static int attach(const struct runtime_at *at, void *to, void **result, struct fail *why)
{
	const struct v8_facts *facts = at->facts;
	struct v8_data *data = to;
	struct v8_state *state;
	uint64_t builtins, bias;
	uint32_t size;
	int err;

	err = find_bias(at, facts, &bias);
	if (err)
		return err;
	/* set when the first isolate is made */
	if (runtime_read_u64(at, &builtins, bias + facts->builtins_at) ||
	    runtime_read_u32(at, &size, bias + facts->builtins_size_at) || !builtins || !size)
		return -EAGAIN;
	if (size > BUILTINS_MAX || !is_mapped(at, builtins) || !is_mapped(at, builtins + size - 1))
		return fail(why, -ENOTSUP, NULL, "V8's builtins are not where they should be");
	state = calloc(1, sizeof(*state));
	if (!state)
		return -ENOMEM;
	state->bias = bias;
	state->builtins_size = size;
	*data = (struct v8_data){
		.builtins_start = builtins - bias,
		.builtins_size = size,
		.type_shared = (uint16_t)facts->type_shared,
		.type_bytecode = (uint16_t)facts->type_bytecode,
		.map_type = (uint8_t)facts->map_type,
		.function_shared = (uint8_t)facts->function_shared,
		.shared_data = (uint8_t)(facts->shared_data / 8),
		.shared_name = (uint8_t)(facts->shared_name / 8),
		.shared_script = (uint8_t)(facts->shared_script / 8),
		.shared_numbers = (uint8_t)(facts->shared_numbers / 8),
		.frame_types = (uint8_t)facts->frame_types,
		.frame_entry = (uint8_t)facts->frame_entry,
		.frame_construct_entry = (uint8_t)facts->frame_construct_entry,
		.scope = v8_facts_scope(facts),
		.frame_wasm = (uint8_t)facts->frame_wasm,
	};
	*result = state;
	return 0;
}

static void detach(void *context)
{
	struct v8_state *state = context;

	v8_scripts_forget(state);
	v8_wasm_forget(state);
	map_free(&state->by_script);
	vec_free(&state->scripts);
	free(state);
}

/* All code without a file: nothing else in such a process is known to make any. */
static bool owns(const struct runtime_at *at, const void *state, const struct mapping *mapping)
{
	(void)at;
	(void)state;
	return mapping->image->kind == IMAGE_ANON;
}

/*
 * Code without a function of JavaScript. What is not known any more as one of WebAssembly may have
 * been named while it was.
 */
static int name_stub(const struct v8_reader *r, uint64_t address, uint64_t detail,
		     struct runtime_names *names)
{
	const struct v8_facts *facts = r->facts;
	uint64_t type = V8_STUB_TYPE(detail);
	const char *words = "(stub)";

	if (!type || type == facts->frame_wasm) {
		if (!v8_wasm_add(r, address, V8_STUB_INSTANCE(detail), names))
			return 0;
		names->is_kept = true;
	}
	if (type && type == facts->frame_wasm)
		words = "(WebAssembly)";
	else if (type && type == facts->frame_regexp)
		words = "(regular expression)";
	/* what stands between two languages, and is not there where V8 has compiled it away */
	else if (type && type == facts->frame_from_wasm)
		names->is_part = true;
	runtime_names_add(names, words, NULL, 0);
	return 0;
}

/* A function of WebAssembly, as JavaScript calls it: the code that converts arguments. */
static bool is_way_into_wasm(const struct v8_reader *r, const struct v8_shared *shared)
{
	return r->facts->type_wasm_exported &&
	       !v8_expect(r, shared->data, r->facts->type_wasm_exported);
}

/* Reads a frame's function. 0; -ESTALE: another one is there by now, or none; or another error. */
static int check_function(const struct v8_reader *r, const uint64_t words[2],
			  struct v8_shared *shared)
{
	bool is_code = UNWIND_WORD_VARIANT(words[0]) != V8_FRAME_FUNCTION;
	int err = v8_shared_read(r, UNWIND_WORD_VALUE(words[is_code]) | 1, shared);

	if (err)
		return err;
	return (is_code ? shared->checksum >> 16 == words[1] >> 48
			: shared->checksum == (uint32_t)(words[1] >> 32))
		       ? 0
		       : -ESTALE;
}

static int name_of(const struct runtime_at *at, void *state, const uint64_t words[2],
		   struct runtime_names *names)
{
	struct v8_reader r = {at, at->facts, state};
	uint32_t variant = UNWIND_WORD_VARIANT(words[0]), place, exact;
	uint64_t value = UNWIND_WORD_VALUE(words[0]);
	bool is_code = variant != V8_FRAME_FUNCTION;
	struct v8_shared shared;
	int err;

	if (variant == V8_FRAME_STUB)
		return name_stub(&r, value, words[1], names);
	err = check_function(&r, words, &shared);
	if (!err && is_way_into_wasm(&r, &shared)) {
		names->is_part = true;
		runtime_names_add(names, "(js-to-wasm)", NULL, 0);
		return 0;
	}
	if (!err)
		err = v8_shared_name(&r, &shared);
	if (err)
		return err;
	if (is_code)
		err = v8_code_add(&r, value, &shared, variant == V8_FRAME_LEAF, names);
	if (is_code && err != -ENOENT)
		return err ? err : check_function(&r, words, &shared);
	place = shared.start;
	if (!is_code && (uint32_t)words[1]) {
		exact = v8_bytecode_place(&r, v8_shared_bytecode(&r, &shared), (uint32_t)words[1]);
		place = exact != UINT32_MAX ? exact : place;
	}
	v8_shared_add(&r, &shared, v8_shared_line(&r, &shared, place), names);
	return check_function(&r, words, &shared);
}

static const char *const exports[] = {"v8dbg_off_fp_function", NULL};

const struct runtime_type runtime_v8 = {
	.name = "v8",
	.id = UNWIND_RUNTIME_V8,
	.frame_kind = FILM_FRAME_JAVASCRIPT,
	.restarts = true,
	.steps_in_image = true,
	.folds_leaf = true,
	.exports = exports,
	.open = open_image,
	.close = free,
	.attach = attach,
	.detach = detach,
	.owns = owns,
	.name_of = name_of,
	.roles = v8_roles,
};
