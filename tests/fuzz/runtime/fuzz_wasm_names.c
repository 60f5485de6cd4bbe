// SPDX-License-Identifier: Apache-2.0
/* Names of functions from a module of WebAssembly that may be anything. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../check.h"
#include "runtime/v8/wasm_names.h"

struct module {
	const uint8_t *bytes;
	size_t size;
};

static int read_module(void *context, void *to, size_t size, uint64_t offset)
{
	const struct module *module = context;

	check(offset <= module->size && size <= module->size - offset);
	memcpy(to, module->bytes + offset, size);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct module module = {data, size};
	struct wasm_names names = {0};
	uint32_t function;
	const char *name;

	wasm_names_read(&names, size, read_module, &module);
	for (function = 0; function < 64; function++) {
		name = wasm_names_of(&names, function);
		check(!name || name + strlen(name) < names.text.at + names.text.count);
	}
	wasm_names_free(&names);
	return 0;
}
