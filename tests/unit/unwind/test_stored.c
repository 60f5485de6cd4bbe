// SPDX-License-Identifier: Apache-2.0
/*
 * Stacks of a real process, stored with registers and memory (stored/make.sh), unwound in user
 * space by the source that runs in the kernel: no kernel, no privileges, the same answer
 * everywhere.
 */
#include "../prelude.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "bpf/unwind/abi.h"
#include "plain_memory.h"
#include "unwind/table.h"
#include "unwind/walk.h"

#define GUESS (1ull << 63)

struct symbol {
	uint64_t start, size;
	char name[32];
};

struct stored {
	struct plain_memory memory;
	struct unwind_table table;
	uint32_t mappings; /* reference */
	struct unwind_registers at;
	vec(struct unwind_copy) pieces; /* of the stack; their bytes are ours */
	vec(char *) expected;		/* functions, innermost first */
	vec(struct symbol) symbols;
};

static FILE *open_stored(const char *name)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", getenv("STORED_STACKS"), name);
	file = fopen(path, "re");
	assert_non_null(file);
	return file;
}

static uint8_t *bytes_of_hex(const char *hex, size_t *count)
{
	uint8_t *bytes;
	size_t i;

	*count = strspn(hex, "0123456789abcdef") / 2;
	bytes = malloc(*count + 1);
	assert_non_null(bytes);
	for (i = 0; i < *count; i++)
		assert_int_equal(sscanf(hex + 2 * i, "%2hhx", &bytes[i]), 1);
	return bytes;
}

static void take_line(struct stored *s, char *line)
{
	unsigned long value;
	unsigned int number;
	int behind = 0;

	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "pc %lx", &value) == 1) {
		s->at.pc = value;
	} else if (sscanf(line, "register %u %lx", &number, &value) == 2) {
		assert_in_range(number, 0, 15);
		s->at.registers[number] = value;
	} else if (sscanf(line, "memory %lx %n", &value, &behind) == 1 && behind) {
		struct unwind_copy piece = {.base = value};

		piece.bytes = bytes_of_hex(line + behind, &piece.size);
		assert_true(vec_push(&s->pieces, piece));
	} else {
		assert_int_equal(strncmp(line, "frame ", 6), 0);
		assert_true(vec_push(&s->expected, strdup(line + 6)));
	}
}

static void read_symbols(struct stored *s)
{
	FILE *file = open_stored("program.symbols");
	struct symbol symbol;

	while (fscanf(file, "%lx %lx %31s", &symbol.start, &symbol.size, symbol.name) == 3)
		assert_true(vec_push(&s->symbols, symbol));
	fclose(file);
	assert_true(s->symbols.count > 5);
}

static void build_table(struct stored *s)
{
	FILE *file = open_stored("program.elf");
	struct unwind_mapping *mapping;
	uint32_t reference;

	assert_int_equal(plain_memory_new(&s->memory, 16 << 20), 0);
	assert_int_equal(unwind_table_of_file(fileno(file), s->memory.pool, s->memory.rules,
					      &s->table, NULL),
			 0);
	fclose(file);
	reference = unwind_pool_get(s->memory.pool, sizeof(*mapping) / 4);
	assert_int_not_equal(reference, 0);
	mapping = unwind_pool_at(s->memory.pool, reference);
	*mapping = (struct unwind_mapping){
		.start = 0x400000,
		.end = 0x401000,
		.kind = UNWIND_MAPPING_TABLE,
		.directory = s->table.directory,
		.first_page = s->table.first_page,
		.pages = s->table.pages,
	};
	s->mappings = reference;
}

static struct stored *stored_open(const char *name)
{
	struct stored *s = calloc(1, sizeof(*s));
	FILE *file = open_stored(name);
	char *line = NULL;
	size_t room = 0;

	assert_non_null(s);
	while (getline(&line, &room, file) > 0)
		take_line(s, line);
	free(line);
	fclose(file);
	s->at.sp = s->at.registers[7];
	s->at.fp = s->at.registers[6];
	s->at.known = 0xffff;
	s->at.fp_known = 1;
	s->at.pc_exact = 1;
	read_symbols(s);
	build_table(s);
	return s;
}

static void stored_free(struct stored *s)
{
	plain_memory_free(&s->memory);
	vec_foreach (&s->pieces, piece)
		free((void *)(uintptr_t)piece->bytes);
	vec_foreach (&s->expected, name)
		free(*name);
	vec_free(&s->pieces);
	vec_free(&s->expected);
	vec_free(&s->symbols);
	free(s);
}

static const char *function_at(const struct stored *s, uint64_t address)
{
	vec_foreach (&s->symbols, symbol)
		if (address - symbol->start < symbol->size)
			return symbol->name;
	return "nothing";
}

/*
 * All of the stored memory as one copy: what lies between its pieces was not stored, and is zero.
 */
static struct unwind_copy piece_at(const struct stored *s, uint64_t address)
{
	vec_foreach (&s->pieces, piece)
		if (address - piece->base < piece->size)
			return *piece;
	return (struct unwind_copy){0};
}

/*
 * Walks to the end. A signal handler may run on a stack of its own: then the walk leaves one piece
 * of memory, and goes on in the one that its stack pointer is in.
 */
static int walk(struct stored *s, uint64_t *frames, uint32_t *count)
{
	struct unwind_view view = {
		.pool = s->memory.pool,
		.rules = s->memory.rules_memory,
		.mappings = s->mappings,
		.mapping_count = 1,
	};
	struct unwind_registers at = s->at;
	struct unwind_copy stack;
	uint32_t before;
	int end;

	*count = 0;
	do {
		before = *count;
		stack = piece_at(s, at.sp);
		end = unwind_walk_copy(&view, &stack, &at, frames, count);
		/* the frame where it stopped is written again by the next try */
		if (end == UNWIND_END_MEMORY || end == UNWIND_END_COPY)
			--*count;
	} while ((end == UNWIND_END_MEMORY || end == UNWIND_END_COPY) && *count > before);
	return end;
}

static void assert_stack(const char *name)
{
	struct stored *s = stored_open(name);
	uint64_t frames[UNWIND_FRAMES_MAX];
	uint32_t count;

	assert_int_equal(walk(s, frames, &count), UNWIND_END_ROOT);
	assert_int_equal(count, s->expected.count);
	for (uint32_t i = 0; i < count; i++) {
		assert_true((frames[i] & GUESS) == 0);
		assert_string_equal(function_at(s, frames[i]), s->expected.at[i]);
	}
	stored_free(s);
}

static void test_handler_on_its_own_stack(void **state)
{
	(void)state;
	assert_stack("signal.stack");
}

static void test_deep_recursion(void **state)
{
	(void)state;
	assert_stack("deep.stack");
}

/* What was not copied cannot be walked: the walk says so and keeps what it has. */
static void test_copy_too_short(void **state)
{
	struct stored *s = stored_open("deep.stack");
	uint64_t frames[UNWIND_FRAMES_MAX];
	struct unwind_registers at = s->at;
	struct unwind_view view = {s->memory.pool, s->memory.rules_memory, s->mappings, 1};
	struct unwind_copy half = s->pieces.at[0];
	uint32_t count = 0;

	(void)state;
	half.size /= 2;
	assert_int_equal(unwind_walk_copy(&view, &half, &at, frames, &count), UNWIND_END_COPY);
	assert_in_range(count, s->expected.count / 2 - 10, s->expected.count / 2 + 10);
	for (uint32_t i = 0; i < count; i++)
		assert_string_equal(function_at(s, frames[i]), s->expected.at[i]);
	stored_free(s);
}

/* Any byte of the stack may be wrong: the walk ends, and within its bounds. */
static void test_damaged_stacks(void **state)
{
	struct stored *s = stored_open("deep.stack");
	uint64_t frames[UNWIND_FRAMES_MAX];
	struct unwind_copy *piece = &s->pieces.at[0];
	uint8_t *bytes = (uint8_t *)(uintptr_t)piece->bytes;
	uint32_t count;

	(void)state;
	for (size_t i = 0; i < piece->size; i += 7) {
		uint8_t kept = bytes[i];

		bytes[i] ^= (uint8_t)(0x5a + i);
		walk(s, frames, &count);
		assert_in_range(count, 1, UNWIND_FRAMES_MAX);
		bytes[i] = kept;
	}
	stored_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handler_on_its_own_stack),
		cmocka_unit_test(test_deep_recursion),
		cmocka_unit_test(test_copy_too_short),
		cmocka_unit_test(test_damaged_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
