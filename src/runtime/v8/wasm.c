// SPDX-License-Identifier: Apache-2.0
/*
 * Functions of WebAssembly, by an address in their code. Their frames have the instance; from there
 * the way leads through objects of the heap to V8's own structures, which malloc() has made and
 * nothing moves (src/wasm/wasm-objects.h, src/objects/managed.h, src/wasm/wasm-code-manager.h):
 *
 *	instance -> WasmModuleObject	its script has a name that V8 makes of the module's
 *		 -> Managed              an object outside of the heap, held by a shared_ptr
 *		 -> NativeModule the binary; a std::map of WasmCode by address
 *		 -> WasmCode             which function it is of
 *
 * Each thing proves itself: a binary begins with its magic number, and a WasmCode has its module
 * and the address that it was found by. Codes that V8 has added last are not in the map, but in a
 * vector behind it. A function has one name, no matter which compiler has made the code.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/v8/internal.h"

/* Modules that are remembered of a process, and the bytes of all of their names. */
#define MODULES_MAX 64
#define TEXTS_MAX   (32u << 20)

/* Larger ones than engines take. */
#define BINARY_MAX (1u << 30)

/* Fields that no version has elsewhere. */
enum {
	MODULE_MANAGED = 24,
	FOREIGN_ADDRESS = 8,
	HOLDER_SHARED_PTR = 24,
	CODE_MODULE = 0,
	CODE_START = 8,
	CODE_BYTES = 64,
};

/* A std::map of libstdc++, with the vector behind it. */
enum {
	MAP_ROOT = 8,
	MAP_BYTES = 40,
	VECTOR_BYTES = 16,
	NODE_LEFT = 2, /* words of a node */
	NODE_RIGHT,
	NODE_KEY,
	NODE_VALUE,
	NODE_WORDS,
};

/* A balanced tree of more levels has more nodes than there is memory for. */
#define LEVELS_MAX 64

/* Codes that V8 has not sorted yet: not more than it adds at once. */
#define UNSORTED_MAX 4096

struct wasm_code {
	uint64_t start;
	uint32_t size;
	int32_t function;
};

/* Whether what is at `at` is the code of that module that begins there and reaches the address. */
static bool read_code(const struct v8_reader *r, uint64_t native, uint64_t at, uint64_t address,
		      struct wasm_code *code)
{
	const struct v8_wasm_facts *f = &r->facts->wasm;
	uint8_t bytes[CODE_BYTES];
	uint64_t module;

	if (!at || runtime_read(r->at, bytes, sizeof(bytes), at))
		return false;
	memcpy(&module, bytes + CODE_MODULE, sizeof(module));
	memcpy(&code->start, bytes + CODE_START, sizeof(code->start));
	memcpy(&code->size, bytes + f->size, sizeof(code->size));
	memcpy(&code->function, bytes + f->function, sizeof(code->function));
	return module == native && address - code->start < code->size;
}

static bool find_sorted(const struct v8_reader *r, uint64_t native, uint64_t address,
			struct wasm_code *code)
{
	uint64_t node, words[NODE_WORDS], value = 0, key = 0;
	int level;

	if (runtime_read_u64(r->at, &node, native + r->facts->wasm.codes + MAP_ROOT))
		return false;
	for (level = 0; node && level < LEVELS_MAX; level++) {
		if (runtime_read(r->at, words, sizeof(words), node))
			return false;
		if (words[NODE_KEY] <= address) {
			key = words[NODE_KEY];
			value = words[NODE_VALUE];
			node = words[NODE_RIGHT];
		} else {
			node = words[NODE_LEFT];
		}
	}
	return value && read_code(r, native, value, address, code) && code->start == key;
}

static bool find_unsorted(const struct v8_reader *r, uint64_t native, uint64_t address,
			  struct wasm_code *code)
{
	uint64_t ends[VECTOR_BYTES / 8], at, i;

	if (runtime_read(r->at, ends, sizeof(ends), native + r->facts->wasm.codes + MAP_BYTES) ||
	    ends[1] < ends[0] || (ends[1] - ends[0]) / 8 > UNSORTED_MAX)
		return false;
	for (i = ends[0]; i + 8 <= ends[1]; i += 8)
		if (!runtime_read_u64(r->at, &at, i) && read_code(r, native, at, address, code))
			return true;
	return false;
}

static bool find_code(const struct v8_reader *r, uint64_t native, uint64_t address,
		      struct wasm_code *code)
{
	return find_sorted(r, native, address, code) || find_unsorted(r, native, address, code);
}

/* From a frame's instance to the WasmModuleObject. */
static int find_module(const struct v8_reader *r, uint64_t instance, uint64_t *module)
{
	const struct v8_wasm_facts *f = &r->facts->wasm;
	int err = v8_read_word(r, module, instance, f->module[0]);

	if (!err && f->module[1])
		err = v8_read_word(r, module, *module, f->module[1]);
	return err ? err : v8_expect(r, *module, r->facts->type_wasm_module);
}

static int find_native(const struct v8_reader *r, uint64_t module, uint64_t *native)
{
	uint64_t managed = 0, holder, shared;
	int err = v8_read_word(r, &managed, module, MODULE_MANAGED);

	if (!err)
		err = v8_read_word(r, &holder, managed, FOREIGN_ADDRESS);
	if (!err)
		err = runtime_read_u64(r->at, &shared, holder + HOLDER_SHARED_PTR);
	return err ? err : runtime_read_u64(r->at, native, shared);
}

static void free_module(struct v8_wasm_module *module)
{
	free(module->script);
	wasm_names_free(&module->names);
}

void v8_wasm_forget(struct v8_state *state)
{
	vec_foreach (&state->modules, module)
		free_module(module);
	vec_free(&state->modules);
}

struct binary {
	const struct v8_reader *r;
	uint64_t at;
};

static int read_binary(void *context, void *to, size_t size, uint64_t offset)
{
	const struct binary *binary = context;

	return runtime_read(binary->r->at, to, size, binary->at + offset);
}

/* What V8 calls the module's script, as its own tools show it; null: it cannot be read. */
static char *script_of(const struct v8_reader *r, uint64_t module)
{
	char name[RUNTIME_TEXT_MAX];
	uint64_t script, string;

	if (v8_read_word(r, &script, module, r->facts->wasm.script) ||
	    v8_expect(r, script, r->facts->type_script) ||
	    v8_read_word(r, &string, script, r->facts->script_name) ||
	    v8_string_text(r, string, name, sizeof(name)) || !name[0])
		return NULL;
	return strdup(name);
}

/* Where a module has its binary: bytes and their number. */
static int read_bytes(const struct v8_reader *r, uint64_t native, uint64_t bytes[2])
{
	uint64_t vector;
	int err = runtime_read_u64(r->at, &vector, native + r->facts->wasm.bytes);

	return err ? err : runtime_read(r->at, bytes, 2 * sizeof(*bytes), vector);
}

static size_t texts_of(const struct v8_state *state)
{
	size_t bytes = 0;

	vec_foreach (&state->modules, module)
		bytes += module->names.text.count;
	return bytes;
}

/* The module that an instance is of; null: it cannot be read. */
static const struct v8_wasm_module *learn(const struct v8_reader *r, uint64_t instance)
{
	struct v8_state *state = r->state;
	struct v8_wasm_module new = {0};
	struct binary binary = {.r = r};
	uint64_t object = 0, bytes[2];

	if (!instance || find_module(r, instance, &object) || find_native(r, object, &new.native) ||
	    read_bytes(r, new.native, bytes) || bytes[1] > BINARY_MAX)
		return NULL;
	binary.at = new.bytes = bytes[0];
	if (wasm_names_read(&new.names, bytes[1], read_binary, &binary))
		goto failed;
	new.script = script_of(r, object);
	if (state->modules.count >= MODULES_MAX || texts_of(state) > TEXTS_MAX)
		v8_wasm_forget(state);
	if (vec_push(&state->modules, new))
		return vec_last(&state->modules);
failed:
	free_module(&new);
	return NULL;
}

/* The known module with code at an address. */
static const struct v8_wasm_module *known(const struct v8_reader *r, uint64_t address,
					  struct wasm_code *code)
{
	struct v8_state *state = r->state;
	uint64_t bytes[2];
	size_t i;

	for (i = 0; i < state->modules.count; i++) {
		struct v8_wasm_module *module = &state->modules.at[i];

		if (!find_code(r, module->native, address, code))
			continue;
		/* another one may be there by now */
		if (!read_bytes(r, module->native, bytes) && bytes[0] == module->bytes)
			return module;
		free_module(module);
		*module = *vec_last(&state->modules);
		state->modules.count--;
		return NULL;
	}
	return NULL;
}

int v8_wasm_add(const struct v8_reader *r, uint64_t address, uint64_t instance,
		struct runtime_names *names)
{
	const struct v8_wasm_module *module;
	struct wasm_code code = {0};
	const char *name;
	char number[32];

	if (!r->facts->wasm.codes)
		return -ENOENT;
	module = known(r, address, &code);
	if (!module) {
		module = learn(r, instance);
		if (!module || !find_code(r, module->native, address, &code))
			return -ENOENT;
	}
	/* not of a function: jump tables */
	if (code.function < 0)
		return -ENOENT;
	runtime_names_image(names, module->script ? module->script : "[wasm]");
	name = wasm_names_of(&module->names, (uint32_t)code.function);
	if (!name) {
		snprintf(number, sizeof(number), "wasm-function[%d]", code.function);
		name = number;
	}
	runtime_names_add(names, name, NULL, 0);
	return 0;
}
