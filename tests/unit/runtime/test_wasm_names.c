// SPDX-License-Identifier: Apache-2.0
/* Names of functions from modules of WebAssembly, byte by byte. */
#include "../prelude.h"

#include <errno.h>
#include <string.h>

#include "runtime/v8/wasm_names.h"

struct module {
	uint8_t bytes[256];
	size_t size;
};

static int read_module(void *context, void *to, size_t size, uint64_t offset)
{
	const struct module *module = context;

	/* a reader outside of the module would read what is not its own */
	assert_true(offset <= module->size && size <= module->size - offset);
	memcpy(to, module->bytes + offset, size);
	return 0;
}

static void begin(struct module *module)
{
	memcpy(module->bytes, "\0asm\1\0\0\0", 8);
	module->size = 8;
}

static void add(struct module *module, const void *bytes, size_t size)
{
	assert_true(module->size + size <= sizeof(module->bytes));
	memcpy(module->bytes + module->size, bytes, size);
	module->size += size;
}

/* A section; its size has two bytes, as compilers write it who fill it in later. */
static void add_section(struct module *module, uint8_t id, const void *bytes, size_t size)
{
	uint8_t head[3] = {id, (uint8_t)(size | 0x80), (uint8_t)(size >> 7)};

	add(module, head, sizeof(head));
	add(module, bytes, size);
}

#define SECTION(module, id, text) add_section(module, id, text, sizeof(text) - 1)

/* Two functions, between them one thing of each other kind. */
#define IMPORTS                    \
	"\6"                       \
	"\3env\1f\0\0"             \
	"\3env\1t\1\x63\x70\1\2\4" \
	"\3env\1m\2\0\1"           \
	"\3env\1g\3\x7f\1"         \
	"\3env\1e\4\0\0"           \
	"\2js\1g\0\1"
#define EXPORTS "\4\3one\0\2\3two\0\3\5other\0\2\6memory\2\0"
#define NAMES                       \
	"\4name"                    \
	"\0\7\6module"              \
	"\1\x0e\2\3\5inner\4\4last" \
	"\2\3\1\0\0"

static void assert_name(const struct wasm_names *names, uint32_t function, const char *expected)
{
	const char *name = wasm_names_of(names, function);

	if (!expected) {
		assert_null(name);
		return;
	}
	assert_non_null(name);
	assert_string_equal(name, expected);
}

static void test_names(void **state)
{
	struct wasm_names names = {0};
	struct module module;

	(void)state;
	begin(&module);
	SECTION(&module, 1, "\1\x60\0\0");
	SECTION(&module, 2, IMPORTS);
	SECTION(&module, 7, EXPORTS);
	SECTION(&module, 0, "\5names\xff\xff");
	SECTION(&module, 0, NAMES);
	assert_int_equal(wasm_names_read(&names, module.size, read_module, &module), 0);
	assert_name(&names, 0, "env.f");
	assert_name(&names, 1, "js.g");
	assert_name(&names, 2, "one");
	assert_name(&names, 3, "inner");
	assert_name(&names, 4, "last");
	assert_name(&names, 5, NULL);
	wasm_names_free(&names);
}

/* A module that ends anywhere has the names up to there, and nothing is read behind its end. */
static void test_every_end(void **state)
{
	struct module module;
	size_t size, named;

	(void)state;
	begin(&module);
	SECTION(&module, 2, IMPORTS);
	SECTION(&module, 7, EXPORTS);
	SECTION(&module, 0, NAMES);
	named = module.size;
	for (size = 0; size <= named; size++) {
		struct wasm_names names = {0};
		int err;

		module.size = size;
		err = wasm_names_read(&names, size, read_module, &module);
		assert_int_equal(err, size < 8 ? -EINVAL : 0);
		assert_name(&names, 4, size < named ? NULL : "last");
		wasm_names_free(&names);
	}
}

static void test_what_is_none(void **state)
{
	static const char *const contents[] = {
		/* more than there is; a name longer than the section; a number without an end */
		"\4name\1\x05\xff\xff\xff\xff\x0f",
		"\4name\1\x08\1\1\x7fname!!",
		"\4name\1\x0b\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80",
		/* a function that there cannot be; an empty name */
		"\4name\1\x08\1\xff\xff\xff\xff\x0f\1x",
		"\4name\1\x03\1\1\x00",
	};
	const size_t sizes[] = {12, 15, 18, 15, 10};
	struct module module;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct wasm_names names = {0};

		begin(&module);
		add_section(&module, 0, contents[i], sizes[i]);
		assert_int_equal(wasm_names_read(&names, module.size, read_module, &module), 0);
		assert_int_equal(names.by_function.count, 0);
		wasm_names_free(&names);
	}
	memset(module.bytes, 'x', sizeof(module.bytes));
	assert_int_equal(wasm_names_read(&(struct wasm_names){0}, 64, read_module, &module),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_every_end),
		cmocka_unit_test(test_what_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
