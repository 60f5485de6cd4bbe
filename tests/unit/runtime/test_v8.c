// SPDX-License-Identifier: Apache-2.0
/* Names of V8's functions, from a heap that is made here: as it should be, and as no engine would make it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include "bpf/v8_abi.h"
#include "v8_heap.h"

/* behind our own headers: it has a macro fail() */
#include <cmocka.h>

#define BASE 0x100000ull

/* Types of strings: how they are kept, and whether their characters have one byte. */
enum {
	TEXT_WIDE = 0x20,
	TEXT = 0x28,
	CONS = 0x29,
	EXTERNAL = 0x2a,
	UNCACHED = 0x3a,
	SLICED = 0x2b,
	THIN = 0x2d,
};

struct heap {
	_Alignas(64) uint8_t bytes[1 << 16];
	size_t used;
	uint64_t maps[512]; /* pointer to the Map of each type */
	struct v8_state state;
	struct runtime_at at;
	struct v8_reader r;
};

static int read_heap(void *context, void *to, size_t size, uint64_t address)
{
	struct heap *heap = context;

	if (address < BASE || address - BASE > sizeof(heap->bytes) ||
	    size > sizeof(heap->bytes) - (address - BASE))
		return -EFAULT;
	memcpy(to, heap->bytes + (address - BASE), size);
	return 0;
}

static int begin(void **state)
{
	struct heap *heap = calloc(1, sizeof(*heap));

	if (!heap)
		return -1;
	heap->at.facts = &v8_facts_11_3;
	heap->at.memory = (struct runtime_memory){read_heap, heap};
	heap->r = (struct v8_reader){&heap->at, &v8_facts_11_3, &heap->state};
	*state = heap;
	return 0;
}

static int end(void **state)
{
	struct heap *heap = *state;

	v8_scripts_forget(&heap->state);
	vec_free(&heap->state.scripts);
	free(heap);
	return 0;
}

static void put(struct heap *heap, uint64_t pointer, size_t offset, const void *from, size_t size)
{
	memcpy(heap->bytes + (pointer - 1 - BASE) + offset, from, size);
}

static void put_word(struct heap *heap, uint64_t pointer, size_t offset, uint64_t word)
{
	put(heap, pointer, offset, &word, sizeof(word));
}

static uint64_t small(uint32_t value)
{
	return (uint64_t)value << 32;
}

/* Room for an object of a type; returns the pointer to it. */
static uint64_t make(struct heap *heap, unsigned int type, size_t size)
{
	uint64_t pointer = BASE + heap->used + 1;
	uint16_t number = (uint16_t)type;

	heap->used += (size + 15) & ~(size_t)15;
	assert_true(heap->used <= sizeof(heap->bytes));
	if (type < 512 && !heap->maps[type]) {
		heap->maps[type] = pointer;
		heap->used += 64;
		put(heap, pointer, 12, &number, sizeof(number));
		pointer = BASE + heap->used + 1;
		heap->used += (size + 15) & ~(size_t)15;
	}
	put_word(heap, pointer, 0, heap->maps[type]);
	return pointer;
}

static uint64_t make_string(struct heap *heap, unsigned int type, uint32_t length,
			    const void *characters, size_t size)
{
	uint64_t pointer = make(heap, type, 32 + size);

	put(heap, pointer, 12, &length, sizeof(length));
	if (size)
		put(heap, pointer, 16, characters, size);
	return pointer;
}

static uint64_t make_text(struct heap *heap, const char *text)
{
	return make_string(heap, TEXT, (uint32_t)strlen(text), text, strlen(text));
}

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

static uint64_t make_script(struct heap *heap, const char *name, const char *source)
{
	uint64_t script = make(heap, 167, 128);

	put_word(heap, script, 8, make_text(heap, source));
	put_word(heap, script, 16, make_text(heap, name));
	return script;
}

static uint64_t make_shared(struct heap *heap, uint64_t name, uint64_t script)
{
	uint64_t shared = make(heap, 262, 64);

	/* a function that has run has code */
	if (!v8_expect(&heap->r, name, 261))
		put_word(heap, shared, 8, make(heap, 191, 64));
	put_word(heap, shared, 16, name);
	put_word(heap, shared, 32, script);
	put_word(heap, shared, 40, 0x1002000c00020001);
	return shared;
}

/* Flags: a function's scope (2), a class that is saved (1 << 10), its name is there (3 << 12), a guessed one (1 << 14). */
static uint64_t make_scope(struct heap *heap, uint32_t flags, uint32_t locals,
			   const uint64_t *behind, size_t count)
{
	uint64_t scope = make(heap, 261, 32 + 16 * locals + 8 * count + 64);

	put_word(heap, scope, 8, small(flags));
	put_word(heap, scope, 24, small(locals));
	put(heap, scope, 32 + 16ull * locals, behind, count * sizeof(*behind));
	return scope;
}

static const struct runtime_names *name(struct heap *heap, uint64_t value, unsigned int variant,
					uint64_t detail, int expected)
{
	static struct runtime_names names;
	uint64_t words[2] = {UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_V8, variant, value), detail};

	memset(&names, 0, sizeof(names));
	assert_int_equal(runtime_v8.name_of(&heap->at, &heap->state, words, &names), expected);
	return &names;
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

/* What a module does outside of all functions. Versions differ in whether it counts its variables before their names. */
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
	assert_int_equal(v8_shared_read(&heap->r, shared, &s), -EFAULT);
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

/* What a name is read from may be freed, and something else in its place, while the function is as it was. */
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

/* As V8 writes them: seven bits in each byte. */
static size_t put_bits(uint8_t *to, uint64_t bits)
{
	size_t count = 0;

	do {
		to[count++] = (uint8_t)((bits & 0x7f) | (bits > 0x7f ? 0x80 : 0));
		bits >>= 7;
	} while (bits);
	return count;
}

/* With its sign in the lowest bit. */
static size_t put_number(uint8_t *to, int64_t value)
{
	return put_bits(to, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static uint64_t place_of(uint32_t at, int32_t inlining)
{
	return (uint64_t)(at + 1) << 1 | (uint64_t)(inlining + 1) << 31;
}

struct entry {
	int32_t offset; /* -1: where the function is entered */
	uint32_t at;
	int32_t inlining;
};

static uint64_t make_places(struct heap *heap, const struct entry *entries, size_t count)
{
	uint64_t table, before = 0;
	int32_t offset = -1;
	uint8_t bytes[256];
	size_t size = 0, i;

	for (i = 0; i < count; i++) {
		uint64_t place = place_of(entries[i].at, entries[i].inlining);
		int64_t distance = entries[i].offset - offset;

		/* every other one is no statement, and in later versions a place to stop at */
		size += heap->r.facts->places_flagged
				? put_bits(bytes + size, (uint64_t)distance << 2 | (i & 1 ? 2 : 1))
				: put_number(bytes + size, i & 1 ? -1 - distance : distance);
		size += put_number(bytes + size, (int64_t)(place - before));
		offset = entries[i].offset;
		before = place;
	}
	table = make(heap, 190, 16 + size);
	put_word(heap, table, 8, small((uint32_t)size));
	put(heap, table, 16, bytes, size);
	return table;
}

static void assert_places_in_bytecode(struct heap *heap)
{
	static const struct entry entries[] = {
		{-1, 3, -1}, {0, 5, -1}, {10, 60, -1}, {11, 7, -1}, {200, 8, -1}};
	uint64_t bytecode = make(heap, 191, 64);

	put_word(heap, bytecode, 32, make_places(heap, entries, 5));
	/* frames count the head of the array, without the tag */
	assert_int_equal(v8_bytecode_place(&heap->r, bytecode, 53), 5);
	assert_int_equal(v8_bytecode_place(&heap->r, bytecode, 53 + 9), 5);
	assert_int_equal(v8_bytecode_place(&heap->r, bytecode, 53 + 10), 60);
	assert_int_equal(v8_bytecode_place(&heap->r, bytecode, 53 + 11), 7);
	assert_int_equal(v8_bytecode_place(&heap->r, bytecode, 53 + 199), 7);
	assert_int_equal(v8_bytecode_place(&heap->r, bytecode, 53 + 300), 8);
	assert_int_equal(v8_bytecode_place(&heap->r, bytecode, 52), UINT32_MAX);
	/* V8 makes the table only when it needs it */
	put_word(heap, bytecode, 32, make(heap, 131, 32));
	assert_int_equal(v8_bytecode_place(&heap->r, bytecode, 60), UINT32_MAX);
}

static void test_places_in_bytecode(void **state)
{
	assert_places_in_bytecode(*state);
}

/* As V8 14.6 writes them. */
static void test_places_with_flags(void **state)
{
	struct heap *heap = *state;
	struct v8_facts flagged = *heap->r.facts;

	flagged.places_flagged = true;
	heap->r.facts = &flagged;
	assert_places_in_bytecode(heap);
}

static uint64_t make_array(struct heap *heap, const uint64_t *words, size_t count)
{
	uint64_t array = make(heap, 175, 16 + 8 * count);

	put_word(heap, array, 8, small((uint32_t)count));
	put(heap, array, 16, words, count * sizeof(*words));
	return array;
}

/* Optimized code of `outer`, in which `middle` is inlined (0), and `inner` in that (1). */
struct optimized {
	uint64_t outer, code, start, deopt, literals;
};

static struct optimized make_optimized(struct heap *heap)
{
	static const struct entry entries[] = {{10, 2, -1}, {20, 6, 0}, {30, 8, 1}, {400, 3, -1}};
	uint64_t script = make_script(heap, "a.js", "1\n2\n3\n4\n5\n6\n"), stream;
	uint64_t inner = make_shared(heap, make_text(heap, "inner"), script);
	uint64_t middle = make_shared(heap, make_text(heap, "middle"), script);
	uint64_t inlined[4] = {place_of(4, -1), 0, place_of(0, 0), 1};
	uint64_t literals[2], data[20] = {0};
	struct optimized o;

	o.outer = make_shared(heap, make_text(heap, "outer"), script);
	/* references may be of the kind that keeps nothing alive */
	literals[0] = middle | 2;
	literals[1] = inner;
	o.literals = data[2] = make_array(heap, literals, 2);
	data[6] = o.outer;
	data[7] = make(heap, 190, 16 + sizeof(inlined));
	put_word(heap, data[7], 8, small(sizeof(inlined)));
	put(heap, data[7], 16, inlined, sizeof(inlined));
	/* exits from offset 480 on: two at once, one later, which belongs to the call that returns to 36 */
	data[8] = small(480);
	data[9] = small(2);
	data[10] = small(1);
	data[11 + 3 * 2 + 2] = small(36);
	o.deopt = make_array(heap, data, 20);
	o.code = make(heap, 245, 64);
	make(heap, 252, 16);
	heap->used = (heap->used + 63 + 64) & ~(size_t)63;
	heap->used -= 16;
	stream = make(heap, 252, 1024);
	o.start = stream - 1 + 16;
	assert_int_equal(o.start % 64, 0);
	put_word(heap, stream, 8, o.code);
	put_word(heap, o.code, 16, o.deopt);
	put_word(heap, o.code, 24, make_places(heap, entries, 4));
	put_word(heap, o.code, 40, o.start);
	put_word(heap, o.code, 48, 13);
	put_word(heap, o.code, 56, 512);
	return o;
}

static const struct runtime_names *name_code_as(struct heap *heap, const struct optimized *o,
						uint32_t offset, unsigned int variant, int expected)
{
	struct v8_shared s;

	assert_int_equal(v8_shared_read(&heap->r, o->outer, &s), 0);
	return name(heap, o->start + offset, variant, V8_CODE_DETAIL(o->outer - 1, s.checksum),
		    expected);
}

static const struct runtime_names *name_code(struct heap *heap, const struct optimized *o,
					     uint32_t offset, unsigned int variant)
{
	return name_code_as(heap, o, offset, variant, 0);
}

static void assert_chain(const struct runtime_names *names, const char *expected)
{
	char text[256] = "";
	size_t i, used = 0;

	for (i = 0; i < names->count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s:%u ",
					 names->at[i].function, names->at[i].line);
	assert_string_equal(text, expected);
}

static void test_inlined_functions(void **state)
{
	struct heap *heap = *state;
	struct optimized o = make_optimized(heap);

	assert_chain(name_code(heap, &o, 12, V8_FRAME_CODE), "outer:2 ");
	assert_chain(name_code(heap, &o, 25, V8_FRAME_CODE), "middle:4 outer:3 ");
	assert_chain(name_code(heap, &o, 35, V8_FRAME_CODE), "inner:5 middle:1 outer:3 ");
	/* between calls: what both agree on */
	assert_chain(name_code(heap, &o, 25, V8_FRAME_LEAF), "middle:4 outer:3 ");
	assert_chain(name_code(heap, &o, 35, V8_FRAME_LEAF), "outer:3 ");
	/* before the first call, nothing is known but the function; a call that is none, or behind the code: nothing */
	assert_chain(name_code(heap, &o, 5, V8_FRAME_LEAF), "outer:0 ");
	name_code_as(heap, &o, 5, V8_FRAME_CODE, -ESTALE);
	name_code_as(heap, &o, 600, V8_FRAME_CODE, -ESTALE);
}

/* A frame that cannot go on returns to an exit; that of its call is what counts. */
/* Two places lie nearer to each other than calls can: between two of them, the one before counts. */
static void test_places_of_all(void **state)
{
	static const struct entry entries[] = {
		{10, 2, -1}, {20, 6, 0}, {30, 8, 1}, {38, 8, 1}, {42, 3, -1}};
	struct heap *heap = *state;
	struct optimized o = make_optimized(heap);

	put_word(heap, o.code, 24, make_places(heap, entries, 5));
	assert_chain(name_code(heap, &o, 25, V8_FRAME_LEAF), "middle:4 outer:3 ");
	assert_chain(name_code(heap, &o, 35, V8_FRAME_LEAF), "inner:5 middle:1 outer:3 ");
	assert_chain(name_code(heap, &o, 50, V8_FRAME_LEAF), "outer:2 ");
}

static void test_exits(void **state)
{
	const size_t place = 16 + 8 * (11 + 3 * 2 + 2);
	struct heap *heap = *state;
	struct optimized o = make_optimized(heap);
	uint64_t nothing;

	assert_chain(name_code(heap, &o, 487, V8_FRAME_CODE), "inner:5 middle:1 outer:3 ");
	put_word(heap, o.deopt, place, small(26));
	assert_chain(name_code(heap, &o, 487, V8_FRAME_CODE), "middle:4 outer:3 ");
	/* between two, behind all, one that finds out itself, one that does not say whose it is */
	name_code_as(heap, &o, 486, V8_FRAME_CODE, -ESTALE);
	name_code_as(heap, &o, 491, V8_FRAME_CODE, -ESTALE);
	name_code_as(heap, &o, 483, V8_FRAME_CODE, -ESTALE);
	put_word(heap, o.deopt, place, small(488));
	name_code_as(heap, &o, 487, V8_FRAME_CODE, -ESTALE);
	assert_chain(name_code(heap, &o, 488, V8_FRAME_LEAF), "outer:0 ");
	/* with nothing inlined, it needs not say that */
	nothing = make(heap, 190, 16);
	put_word(heap, nothing, 8, small(0));
	put_word(heap, o.deopt, 16 + 7 * 8, nothing);
	assert_chain(name_code(heap, &o, 487, V8_FRAME_CODE), "outer:0 ");
}

/* An inlined function that cannot be at that place in the source is another one by now. */
static void test_inlined_function_that_changed(void **state)
{
	struct heap *heap = *state;
	struct optimized o = make_optimized(heap);
	uint64_t script = make_script(heap, "b.js", "x\ny\nz\n12345"),
		 text = make_text(heap, "later");
	const uint64_t here[] = {text, small(0), small(6), small(9)};
	const uint64_t there[] = {text, small(0), small(7), small(9)};

	put_word(heap, o.literals, 16,
		 make_shared(heap, make_scope(heap, 2 | 3 << 12, 0, here, 4), script));
	assert_chain(name_code(heap, &o, 25, V8_FRAME_CODE), "later:4 outer:3 ");
	put_word(heap, o.literals, 16,
		 make_shared(heap, make_scope(heap, 2 | 3 << 12, 0, there, 4), script));
	name_code_as(heap, &o, 25, V8_FRAME_CODE, -ESTALE);
}

/* Sparkplug's code: of the function if it was made of its bytecode. */
static void test_baseline(void **state)
{
	struct heap *heap = *state;
	struct optimized o = make_optimized(heap);
	uint64_t bytecode = make(heap, 191, 64);
	const uint64_t behind[] = {make_text(heap, "outer"), small(0), small(2), small(9)};

	put_word(heap, o.outer, 16, make_scope(heap, 2 | 3 << 12, 0, behind, 4));
	put_word(heap, o.outer, 8, bytecode + 16);
	put_word(heap, o.code, 16, bytecode);
	put_word(heap, o.code, 48, 11);
	name_code_as(heap, &o, 25, V8_FRAME_CODE, -ESTALE);
	assert_chain(name_code(heap, &o, 25, V8_FRAME_LEAF), "outer:2 ");
	put_word(heap, o.outer, 8, bytecode);
	assert_chain(name_code(heap, &o, 25, V8_FRAME_CODE), "outer:2 ");
	put_word(heap, o.outer, 8, o.code);
	assert_chain(name_code(heap, &o, 25, V8_FRAME_CODE), "outer:2 ");
}

static void test_code_of_another_function(void **state)
{
	struct heap *heap = *state;
	struct optimized o = make_optimized(heap);

	/* the code is now that of another function: what was inlined is not known any more */
	put_word(heap, o.deopt, 16 + 6 * 8, make_shared(heap, make_text(heap, "other"), 0));
	name_code_as(heap, &o, 25, V8_FRAME_CODE, -ESTALE);
	/* inlined into itself */
	o = make_optimized(heap);
	put_word(heap, o.deopt, 16 + 7 * 8, o.deopt);
	name_code_as(heap, &o, 25, V8_FRAME_CODE, -ESTALE);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, begin, end)
	const struct CMUnitTest tests[] = {
		T(test_strings),
		T(test_strings_that_are_none),
		T(test_functions),
		T(test_module),
		T(test_function_that_changed),
		T(test_names_that_are_none),
		T(test_guessed_name_of_parts),
		T(test_checksum_of_the_name),
		T(test_places_in_bytecode),
		T(test_places_with_flags),
		T(test_inlined_functions),
		T(test_places_of_all),
		T(test_exits),
		T(test_inlined_function_that_changed),
		T(test_baseline),
		T(test_code_of_another_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
