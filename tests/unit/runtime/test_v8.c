// SPDX-License-Identifier: Apache-2.0
/*
 * Names of V8's functions, from a heap that is made here: as it should be, and as no engine would
 * make it.
 */
#include "../prelude.h"

#include <errno.h>
#include <string.h>

#include "v8_made.h"

static uint64_t make_pair(struct heap *heap, unsigned int type, uint32_t length, uint64_t first,
			  uint64_t second)
{
	uint64_t words[2] = {first, second};

	return make_string(heap, type, length, words, sizeof(words));
}

static void assert_text(struct heap *heap, uint64_t string, const char *expected)
{
	char text[256];

	assert_int_equal(v8_string_text(&heap->r, string, text, sizeof(text)), 0);
	assert_string_equal(text, expected);
}

static void test_strings(void **state)
{
	static const uint16_t wide[] = {'a', 0xe9, 0x20ac, 0xd83d, 0xde00, 0xdc00};
	struct heap *heap = *state;
	uint64_t hello = make_text(heap, "hello"), world = make_text(heap, " world"), empty;

	empty = make_text(heap, "");
	assert_text(heap, hello, "hello");
	assert_text(heap, make_string(heap, TEXT, 3, "a\xe9z", 3), "a\xc3\xa9z");
	assert_text(heap, make_string(heap, TEXT_WIDE, 6, wide, sizeof(wide)),
		    "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbd");
	assert_text(heap, make_pair(heap, CONS, 11, hello, world), "hello world");
	assert_text(heap, make_pair(heap, CONS, 5, hello, empty), "hello");
	assert_text(heap, make_pair(heap, CONS, 16, make_pair(heap, CONS, 11, hello, world), hello),
		    "hello worldhello");
	assert_text(heap, make_pair(heap, SLICED, 3, world, small(2)), "orl");
	assert_text(heap, make_pair(heap, THIN, 5, hello, 0), "hello");
	assert_text(heap, make_pair(heap, EXTERNAL, 4, 0, hello - 1 + 16), "hell");
}

static void test_strings_that_are_none(void **state)
{
	struct heap *heap = *state;
	uint64_t loop = make_pair(heap, THIN, 5, 0, 0), tree = make_pair(heap, CONS, 5, 0, 0);
	uint64_t far = make_pair(heap, SLICED, 5, make_text(heap, "x"), small(0x7fffffff));
	char text[256];

	put_word(heap, loop, 16, loop);
	put_word(heap, tree, 16, tree);
	put_word(heap, tree, 24, tree);
	assert_int_equal(v8_string_text(&heap->r, loop, text, sizeof(text)), -ESTALE);
	assert_int_not_equal(v8_string_text(&heap->r, tree, text, sizeof(text)), 0);
	assert_int_equal(v8_string_text(&heap->r, far, text, sizeof(text)), -ESTALE);
	assert_int_not_equal(
		v8_string_text(&heap->r, make_pair(heap, UNCACHED, 5, 0, 0), text, sizeof(text)),
		0);
	assert_int_equal(v8_string_text(&heap->r, make(heap, 130, 32), text, sizeof(text)),
			 -ESTALE);
	assert_int_equal(v8_string_text(&heap->r, small(7), text, sizeof(text)), -ESTALE);
	assert_int_equal(v8_string_text(&heap->r, 3, text, sizeof(text)), -EFAULT);
	/* longer than what is asked for */
	assert_int_equal(v8_string_text(&heap->r, make_string(heap, TEXT, 1 << 20, "x", 1), text,
					sizeof(text)),
			 0);
	assert_int_equal(v8_string_text(&heap->r, make_string(heap, TEXT, UINT32_MAX, "x", 1), text,
					sizeof(text)),
			 -ESTALE);
}

static uint64_t detail_of(struct heap *heap, uint64_t shared, uint32_t offset)
{
	struct v8_shared s;

	assert_int_equal(v8_shared_read(&heap->r, shared, &s), 0);
	return (uint64_t)s.checksum << 32 | offset;
}

static void assert_named(struct heap *heap, uint64_t shared, const char *function, const char *file,
			 uint32_t line)
{
	const struct runtime_names *names =
		name(heap, shared - 1, V8_FRAME_FUNCTION, detail_of(heap, shared, 0), 0);

	assert_int_equal(names->count, 1);
	assert_string_equal(names->at[0].function, function);
	if (file)
		assert_string_equal(names->at[0].file, file);
	else
		assert_null(names->at[0].file);
	assert_int_equal(names->at[0].line, line);
}

static void test_functions(void **state)
{
	struct heap *heap = *state;
	uint64_t script = make_script(heap, "/srv/app.js", "one\ntwo\r\nthree\rfour");
	uint64_t module = make_script(heap, "file:///srv/app.mjs", "x\n\n\ny");
	uint64_t handle = make_text(heap, "handle"), guessed = make_text(heap, "Server.emit");
	const uint64_t named[] = {handle, small(0), small(4), small(8)};
	const uint64_t with_class[] = {small(1), handle, small(0), small(9), small(10)};
	const uint64_t unnamed[] = {make_text(heap, ""), small(0), guessed, small(15), small(17)};
	const uint64_t nothing[] = {small(0), small(3)};
	uint64_t other;

	assert_named(heap, make_shared(heap, make_scope(heap, 2 | 3 << 12, 2, named, 4), script),
		     "handle", "/srv/app.js", 2);
	assert_named(heap,
		     make_shared(heap, make_scope(heap, 2 | 1 << 10 | 3 << 12, 0, with_class, 5),
				 script),
		     "handle", "/srv/app.js", 3);
	assert_named(
		heap,
		make_shared(heap, make_scope(heap, 2 | 3 << 12 | 1 << 14, 0, unnamed, 5), script),
		"Server.emit", "/srv/app.js", 4);
	assert_named(heap, make_shared(heap, make_scope(heap, 2, 0, nothing, 2), module),
		     "(anonymous)", "/srv/app.mjs", 1);
	/* not compiled yet; a builtin */
	assert_named(heap, make_shared(heap, handle, script), "handle", "/srv/app.js", 0);
	other = make(heap, 131, 32);
	assert_named(heap, make_shared(heap, handle, other), "handle", NULL, 0);
	/* a script that says that it begins further down */
	put_word(heap, script, 24, small(100));
	assert_named(heap, make_shared(heap, make_scope(heap, 2 | 3 << 12, 2, named, 4), script),
		     "handle", "/srv/app.js", 102);
}

/*
 * What a module does outside of all functions. Versions differ in whether it counts its variables
 * before their names.
 */
static void test_module(void **state)
{
	struct heap *heap = *state;
	struct v8_facts counted = *heap->r.facts;
	uint64_t module = make_script(heap, "file:///srv/app.mjs", "x\n\n\ny");
	const uint64_t behind[] = {small(1), make_text(heap, ""), small(0xffffffff), small(4),
				   small(6)};
	uint64_t scope = make_scope(heap, 3 | 3 << 12, 0, behind + 1, 4);

	assert_named(heap, make_shared(heap, scope, module), "(anonymous)", "/srv/app.mjs", 4);
	counted.scope_counted = 3;
	heap->r.facts = &counted;
	heap->at.facts = &counted;
	scope = make_scope(heap, 3 | 3 << 12, 0, behind, 5);
	assert_named(heap, make_shared(heap, scope, module), "(anonymous)", "/srv/app.mjs", 4);
	scope = make_scope(heap, 2 | 3 << 12, 0, behind + 1, 4);
	assert_named(heap, make_shared(heap, scope, module), "(anonymous)", "/srv/app.mjs", 4);
}

static void test_function_that_changed(void **state)
{
	struct heap *heap = *state;
	uint64_t shared = make_shared(heap, make_text(heap, "one"), make_script(heap, "a.js", "x"));
	uint64_t detail = detail_of(heap, shared, 0);

	name(heap, shared - 1, V8_FRAME_FUNCTION, detail, 0);
	/* what may change while a function is in use */
	put_word(heap, shared, 8, small(7));
	put_word(heap, shared, 40, 0x7702000c00020001);
	name(heap, shared - 1, V8_FRAME_FUNCTION, detail, 0);
	put_word(heap, shared, 40, 0x1002000c00020002);
	name(heap, shared - 1, V8_FRAME_FUNCTION, detail, -ESTALE);
	put_word(heap, shared, 40, 0x1002000c00020001);
	put_word(heap, shared, 16, make_text(heap, "two"));
	name(heap, shared - 1, V8_FRAME_FUNCTION, detail, -ESTALE);
	put_word(heap, shared, 0, heap->maps[TEXT]);
	name(heap, shared - 1, V8_FRAME_FUNCTION, detail, -ESTALE);
	name(heap, 0x7fff00000000, V8_FRAME_FUNCTION, detail, -EFAULT);
	name(heap, 0x7fff00000000, V8_FRAME_CODE, 0x7fff00000000, -EFAULT);
}

static void assert_stale(struct heap *heap, uint64_t shared)
{
	name(heap, shared - 1, V8_FRAME_FUNCTION, detail_of(heap, shared, 0), -ESTALE);
}

/* Only what says that there is no name makes a function anonymous; what cannot be read does not. */
static void test_names_that_are_none(void **state)
{
	struct heap *heap = *state;
	uint64_t script = make_script(heap, "a.js", "x"), undefined = make(heap, 131, 32);
	uint64_t other = make(heap, 175, 32), uncached = make_pair(heap, UNCACHED, 5, 0, 0);
	uint64_t behind[] = {small(0), small(0), undefined, small(0), small(1)};
	const uint32_t flags = 2 | 3 << 12 | 1 << 14;
	struct v8_shared s;
	uint64_t shared;

	shared = make_shared(heap, make_scope(heap, flags, 0, behind, 5), script);
	assert_named(heap, shared, "(anonymous)", "a.js", 1);
	assert_named(heap, make_shared(heap, small(0), script), "(anonymous)", "a.js", 0);
	assert_named(heap, make_shared(heap, small(0), undefined), "(builtin)", NULL, 0);
	/* what is neither a script nor none */
	assert_stale(heap, make_shared(heap, small(0), other));
	assert_stale(heap, make_shared(heap, small(7), script));
	assert_stale(heap, make_shared(heap, other, script));
	behind[2] = other;
	assert_stale(heap, make_shared(heap, make_scope(heap, flags, 0, behind, 5), script));
	behind[0] = other;
	assert_stale(heap, make_shared(heap, make_scope(heap, flags, 0, behind, 5), script));
	behind[0] = small(1);
	assert_stale(heap, make_shared(heap, make_scope(heap, flags, 0, behind, 5), script));
	behind[0] = uncached;
	shared = make_shared(heap, make_scope(heap, flags, 0, behind, 5), script);
	name(heap, shared - 1, V8_FRAME_FUNCTION, detail_of(heap, shared, 0), -EINVAL);
	behind[0] = 0x7fff00000001;
	shared = make_shared(heap, make_scope(heap, flags, 0, behind, 5), script);
	/* a name that is nowhere adds nothing to the checksum, as on the kernel side */
	assert_int_equal(v8_shared_read(&heap->r, shared, &s), 0);
	name(heap, shared - 1, V8_FRAME_FUNCTION, detail_of(heap, shared, 0), -EFAULT);
	/* more variables than there can be */
	behind[1] = make_scope(heap, flags, 0, behind, 5);
	put_word(heap, behind[1], 24, small(V8_LOCALS_MAX + 1));
	assert_stale(heap, make_shared(heap, behind[1], script));
}

/* A name of many parts, as V8 guesses it: each but the first one is put behind what was there. */
static void test_guessed_name_of_parts(void **state)
{
	struct heap *heap = *state;
	uint64_t text = make_text(heap, "part"), dot = make_text(heap, ".");
	char expected[256] = "part";
	uint32_t length = 4, i;

	for (i = 0; i < 12; i++) {
		text = make_pair(heap, CONS, length + 1, text, dot);
		text = make_pair(heap, CONS, length += 5, text, make_text(heap, "part"));
		strcat(expected, ".part");
	}
	assert_text(heap, text, expected);
}

/*
 * What a name is read from may be freed, and something else in its place, while the function is as
 * it was.
 */
static void test_checksum_of_the_name(void **state)
{
	struct heap *heap = *state;
	uint64_t script = make_script(heap, "a.js", "x"), text = make_text(heap, "one");
	const uint64_t behind[] = {text, small(0), small(0), small(1)};
	uint64_t scope, shared, detail;
	uint32_t locals;

	/* with many variables, the name is not among the first words */
	for (locals = 0; locals < 12; locals += 4) {
		scope = make_scope(heap, 2 | 3 << 12, locals, behind, 4);
		shared = make_shared(heap, scope, script);
		detail = detail_of(heap, shared, 0);
		name(heap, shared - 1, V8_FRAME_FUNCTION, detail, 0);
		put_word(heap, scope, 16, small(3));
		name(heap, shared - 1, V8_FRAME_FUNCTION, detail, -ESTALE);
		put_word(heap, scope, 16, 0);
		name(heap, shared - 1, V8_FRAME_FUNCTION, detail, 0);
		put_word(heap, scope, 32 + 16ull * locals, make_text(heap, "another"));
		name(heap, shared - 1, V8_FRAME_FUNCTION, detail, -ESTALE);
		put_word(heap, scope, 32 + 16ull * locals, text);
		/* another string in the same place has another hash */
		put_word(heap, text, 8, 0x300001234);
		name(heap, shared - 1, V8_FRAME_FUNCTION, detail, -ESTALE);
		put_word(heap, text, 8, 0x300000000);
		name(heap, shared - 1, V8_FRAME_FUNCTION, detail, 0);
	}
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, heap_begin, heap_end)
	const struct CMUnitTest tests[] = {
		T(test_strings),
		T(test_strings_that_are_none),
		T(test_functions),
		T(test_module),
		T(test_function_that_changed),
		T(test_names_that_are_none),
		T(test_guessed_name_of_parts),
		T(test_checksum_of_the_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
