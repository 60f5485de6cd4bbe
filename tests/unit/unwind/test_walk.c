// SPDX-License-Identifier: Apache-2.0
/*
 * The walker over tables and a stack made by hand. The code of the one mapping is 16 functions of
 * 16 bytes each; function n has one rule, and what it is called from is up to the stack.
 */
#include "../prelude.h"

#include <stdlib.h>
#include <string.h>

#include "plain_memory.h"
#include "unwind/pages.h"
#include "unwind/walk.h"

#define CODE	  0x400000ull
#define FUNCTIONS 16
#define FUNCTION  16
#define STACK	  0x7fff00000000ull
#define WORDS	  128

enum {
	RAX,
	RDX,
	RCX,
	RBX,
	RSI,
	RDI,
	RBP,
	RSP
};

struct world {
	struct plain_memory memory;
	struct unwind_view view;
	uint64_t stack[WORDS];
	struct unwind_copy copy;
	struct unwind_registers at;
	uint64_t frames[UNWIND_FRAMES_MAX];
	uint32_t count;
};

/* An address inside of function n, as a return address. */
static uint64_t in(unsigned int n)
{
	return CODE + n * FUNCTION + 5;
}

static uint64_t slot(unsigned int n)
{
	return STACK + 8 * n;
}

/* Functions beyond the last rule have none. */
static struct world *world_new(const struct unwind_rule *rules, unsigned int count)
{
	static const struct unwind_rule none = {.cfa = UNWIND_CFA_NONE};
	struct world *w = calloc(1, sizeof(*w));
	struct unwind_mapping mapping = {
		.start = CODE,
		.end = CODE + FUNCTIONS * FUNCTION,
		.kind = UNWIND_MAPPING_TABLE,
	};
	struct pages pages;
	unsigned int i;

	assert_non_null(w);
	assert_int_equal(plain_memory_new(&w->memory, 4 << 20), 0);
	pages_begin(&pages, CODE, w->memory.pool, w->memory.rules);
	for (i = 0; i < count; i++)
		assert_int_equal(pages_add(&pages, CODE + i * FUNCTION, &rules[i]), 0);
	assert_int_equal(pages_add(&pages, CODE + count * FUNCTION, &none), 0);
	mapping.first_page = (uint32_t)pages.first_page;
	assert_int_equal(pages_end(&pages, &mapping.directory, &mapping.pages), 0);

	w->view.pool = w->memory.pool;
	w->view.rules = w->memory.rules_memory;
	w->view.mapping_count = 1;
	w->view.mappings = unwind_pool_get(w->memory.pool, sizeof(mapping) / 4);
	memcpy(unwind_pool_at(w->memory.pool, w->view.mappings), &mapping, sizeof(mapping));
	w->copy = (struct unwind_copy){STACK, (const uint8_t *)w->stack, sizeof(w->stack)};
	for (i = 0; i < WORDS; i++)
		w->stack[i] = 0xdead0000 + i;
	w->at.pc = in(0);
	w->at.sp = STACK;
	w->at.known = 0xffff;
	w->at.fp_known = 1;
	w->at.pc_exact = 1;
	return w;
}

static void world_free(struct world *w)
{
	plain_memory_free(&w->memory);
	free(w);
}

static int walk(struct world *w)
{
	return unwind_walk_copy(&w->view, &w->copy, &w->at, w->frames, &w->count);
}

/* Frame i is in function n. */
static void assert_frame(const struct world *w, unsigned int i, unsigned int n)
{
	assert_true(i < w->count);
	assert_int_equal(w->frames[i] & ~(15ull), CODE + n * FUNCTION);
}

#define SP(offset)	   .cfa = UNWIND_CFA_SP, .cfa_offset = (offset)
#define BY_RBX(offset)	   .cfa = UNWIND_CFA_REGISTER, .cfa_register = RBX, .cfa_offset = (offset)
#define RBX_AT_CFA(offset) .saved = (offset) / 8
#define END		   .cfa = UNWIND_CFA_END

/* A function that finds its frame by rbx, behind others that have saved or not touched it. */
static void test_rbx(void **state)
{
	static const struct unwind_rule rules[] = {
		{SP(8)}, {SP(32), RBX_AT_CFA(-16)}, {SP(24)}, {BY_RBX(16)}, {END},
	};
	struct world *w = world_new(rules, 5);

	(void)state;
	w->at.registers[RBX] = 12345;
	w->stack[0] = in(1);	/* CFA 1 */
	w->stack[3] = slot(20); /* rbx, saved by function 1 whose CFA is 5 */
	w->stack[4] = in(2);
	w->stack[7] = in(3); /* CFA 8 */
	w->stack[21] = in(4);
	assert_int_equal(walk(w), UNWIND_END_ROOT);
	assert_int_equal(w->count, 5);
	assert_frame(w, 3, 3);
	assert_frame(w, 4, 4);
	world_free(w);
}

static void test_rbx_in_register(void **state)
{
	static const struct unwind_rule rules[] = {{SP(8)}, {BY_RBX(16)}, {END}};
	struct world *w = world_new(rules, 3);

	(void)state;
	w->at.registers[RBX] = slot(9);
	w->stack[0] = in(1);
	w->stack[10] = in(2);
	assert_int_equal(walk(w), UNWIND_END_ROOT);
	assert_int_equal(w->count, 3);
	world_free(w);
}

/* What is not known is not invented. */
static void test_rbx_unknown(void **state)
{
	static const struct unwind_rule lost[] = {{SP(8), .saved = UNWIND_SAVED_LOST},
						  {BY_RBX(16)}};
	static const struct unwind_rule no_table[] = {{.cfa = UNWIND_CFA_NONE}, {BY_RBX(16)}};
	static const struct unwind_rule beyond[] = {{SP(8), RBX_AT_CFA(-64)}, {BY_RBX(16)}};
	const struct unwind_rule *const all[] = {lost, no_table, beyond};
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct world *w = world_new(all[i], 2);

		w->at.registers[RBX] = slot(9);
		w->at.fp = slot(4);
		w->stack[0] = w->stack[5] = in(1);
		assert_int_equal(walk(w), UNWIND_END_UNSUPPORTED);
		assert_int_equal(w->count, 2);
		world_free(w);
	}
	/* nor what the kernel side did not know when it handed over */
	for (i = 0; i < 2; i++) {
		struct world *w = world_new(&lost[1], 1);

		w->at.registers[RBX] = slot(9);
		w->at.saved_at = i ? UNWIND_SAVED_UNKNOWN : UNWIND_SAVED_IN_REGISTER;
		assert_int_equal(walk(w) == UNWIND_END_UNSUPPORTED, i);
		world_free(w);
	}
}

/* Below a signal frame all registers are known again. */
static void test_rbx_signal(void **state)
{
	static const struct unwind_rule rules[] = {
		{SP(8), .saved = UNWIND_SAVED_LOST},
		{.cfa = UNWIND_CFA_SIGNAL},
		{SP(8)},
		{BY_RBX(16)},
		{END},
	};
	struct world *w = world_new(rules, 5);

	(void)state;
	w->stack[0] = in(1);
	w->stack[1 + 5 + 11] = slot(40); /* rbx */
	w->stack[1 + 5 + 15] = slot(30); /* rsp */
	w->stack[1 + 5 + 16] = in(2);
	w->stack[30] = in(3);
	w->stack[41] = in(4);
	assert_int_equal(walk(w), UNWIND_END_ROOT);
	assert_int_equal(w->count, 5);
	assert_int_equal(w->frames[2], in(2));
	world_free(w);
}

/* A walk that is cut in the middle and goes on later. */
static void test_rbx_later(void **state)
{
	static const struct unwind_rule rules[] = {{SP(16), RBX_AT_CFA(-16)}, {BY_RBX(16)}, {END}};
	struct world *w = world_new(rules, 3);
	struct unwind_mapping *mapping = unwind_pool_at(w->memory.pool, w->view.mappings);

	(void)state;
	w->stack[0] = slot(9);
	w->stack[1] = in(1);
	w->stack[10] = in(2);
	mapping->end = CODE + FUNCTION;
	assert_int_equal(walk(w), UNWIND_END_LATER);
	assert_int_equal(w->count, 1);
	mapping->end = CODE + FUNCTIONS * FUNCTION;
	assert_int_equal(walk(w), UNWIND_END_ROOT);
	assert_int_equal(w->count, 3);
	world_free(w);
}

static void test_in_register(void **state)
{
	static const struct unwind_rule rules[] = {
		{.cfa = UNWIND_CFA_IN_REGISTER, .cfa_register = RDI}, {SP(8)}, {END}};
	struct world *w = world_new(rules, 3);

	(void)state;
	w->at.registers[RDI] = in(1);
	w->stack[0] = in(2);
	assert_int_equal(walk(w), UNWIND_END_ROOT);
	assert_int_equal(w->count, 3);
	world_free(w);

	/* only the leaf's registers are known */
	w = world_new(rules, 3);
	w->at.pc = in(1);
	w->stack[0] = in(0);
	assert_int_equal(walk(w), UNWIND_END_UNSUPPORTED);
	assert_int_equal(w->count, 2);
	world_free(w);
}

static void test_indexed(void **state)
{
	static const struct unwind_rule rules[] = {
		{.cfa = UNWIND_CFA_INDEXED,
		 .cfa_register = RSP | 9 << 4,
		 .cfa_offset = 8,
		 .deref_offset = 16},
		{END},
	};
	struct world *w = world_new(rules, 2);

	(void)state;
	w->at.registers[9] = 5;
	w->stack[6] = slot(20);
	w->stack[21] = in(1);
	assert_int_equal(walk(w), UNWIND_END_ROOT);
	assert_int_equal(w->count, 2);
	world_free(w);

	w = world_new(rules, 2);
	w->at.known = 0;
	assert_int_equal(walk(w), UNWIND_END_UNSUPPORTED);
	world_free(w);
}

/*
 * Assembler code that finds its frame by a register which the function that it calls does not
 * touch: a guess, and only from the innermost function.
 */
static void test_untouched(void **state)
{
	static const struct unwind_rule rules[] = {
		{SP(8)}, {.cfa = UNWIND_CFA_REGISTER, .cfa_register = RAX, .cfa_offset = 8}, {END}};
	struct world *w = world_new(rules, 3);

	(void)state;
	w->at.registers[RAX] = slot(9);
	w->stack[0] = in(1);
	w->stack[9] = in(2);
	assert_int_equal(walk(w), UNWIND_END_ROOT);
	assert_int_equal(w->count, 3);
	assert_int_equal(w->frames[1] >> 63, 0);
	assert_int_equal(w->frames[2] >> 63, 1);
	world_free(w);

	w = world_new(rules, 3);
	w->at.registers[RAX] = slot(9);
	w->stack[0] = in(0);
	w->stack[1] = in(1);
	assert_int_equal(walk(w), UNWIND_END_UNSUPPORTED);
	assert_int_equal(w->count, 3);
	world_free(w);
}

/* A caller found by a guess is marked; what that one's own rule says is not a guess again. */
static void test_guess(void **state)
{
	static const struct unwind_rule rules[] = {
		{SP(8), .guess = 1}, {SP(8)}, {SP(16), .guess = 1}, {END}};
	struct world *w = world_new(rules, 4);

	(void)state;
	w->stack[0] = in(1);
	w->stack[1] = in(2);
	w->stack[3] = in(3);
	assert_int_equal(walk(w), UNWIND_END_ROOT);
	assert_int_equal(w->count, 4);
	assert_int_equal(w->frames[0] >> 63, 0);
	assert_int_equal(w->frames[1] >> 63, 1);
	assert_int_equal(w->frames[2] >> 63, 0);
	assert_int_equal(w->frames[3] >> 63, 1);
	world_free(w);

	/* a guess that leads nowhere is not handed on */
	w = world_new(rules, 4);
	w->stack[0] = 12345;
	assert_int_equal(walk(w), UNWIND_END_NO_RULE);
	assert_int_equal(w->count, 1);
	world_free(w);
}

/* The context: what stands before each place. */
static int read_before(void *context, void *to, size_t size, uint64_t address)
{
	(void)address;
	memcpy(to, context, size);
	return 0;
}

/*
 * Frame pointers lead to a zero. A stack begins there if it is known that nothing has called what
 * the last function returns to, and if the zero is what a frame has saved.
 */
static void test_root_by_frame_pointer(void **state)
{
	static const struct unwind_rule rules[] = {{.cfa = UNWIND_CFA_NONE}};
	uint8_t called[8] = {[3] = 0xe8}, other[8] = {0};
	const struct {
		unwind_read_memory *read;
		void *before;
		uint64_t saved;
		enum unwind_end end;
	} cases[] = {
		{read_before, other, 0, UNWIND_END_ROOT},
		{read_before, called, 0, UNWIND_END_NO_RULE},
		{read_before, other, 4, UNWIND_END_NO_RULE},
		{NULL, NULL, 0, UNWIND_END_NO_RULE},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct world *w = world_new(rules, 1);

		w->view.read_code = cases[i].read;
		w->view.context = cases[i].before;
		w->at.fp = slot(2);
		w->stack[2] = slot(4);
		w->stack[3] = in(1);
		w->stack[4] = cases[i].saved;
		w->stack[5] = in(2);
		assert_int_equal(walk(w), cases[i].end);
		assert_int_equal(w->count, 3);
		assert_int_equal(w->frames[2] >> 63, 1);
		world_free(w);

		/* what the leaf itself has in rbp says nothing */
		w = world_new(rules, 1);
		w->view.read_code = cases[i].read;
		w->view.context = cases[i].before;
		w->at.fp = 0;
		assert_int_equal(walk(w), UNWIND_END_NO_RULE);
		world_free(w);
	}
}

/* The word above the copy: the frame of function 0 is larger than that. */
static int read_above(void *context, void *to, size_t size, uint64_t address)
{
	const uint64_t word = in(1);

	if (address != *(const uint64_t *)context || size != sizeof(word))
		return -1;
	memcpy(to, &word, sizeof(word));
	return 0;
}

static void test_frame_above_copy(void **state)
{
	static const struct unwind_rule rules[] = {{SP(8 * (WORDS + 2))}, {END}};
	uint64_t above = slot(WORDS + 1);
	struct world *w = world_new(rules, 2);

	(void)state;
	assert_int_equal(walk(w), UNWIND_END_COPY);
	world_free(w);

	/* of a thread that waits the rest can be read */
	w = world_new(rules, 2);
	w->view.read_far = read_above;
	w->view.context = &above;
	assert_int_equal(walk(w), UNWIND_END_ROOT);
	assert_int_equal(w->count, 2);
	assert_frame(w, 1, 1);
	world_free(w);

	/* what cannot be read is beyond it still */
	above = 0;
	w = world_new(rules, 2);
	w->view.read_far = read_above;
	w->view.context = &above;
	assert_int_equal(walk(w), UNWIND_END_COPY);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rbx),
		cmocka_unit_test(test_rbx_in_register),
		cmocka_unit_test(test_rbx_unknown),
		cmocka_unit_test(test_rbx_signal),
		cmocka_unit_test(test_rbx_later),
		cmocka_unit_test(test_in_register),
		cmocka_unit_test(test_indexed),
		cmocka_unit_test(test_guess),
		cmocka_unit_test(test_root_by_frame_pointer),
		cmocka_unit_test(test_untouched),
		cmocka_unit_test(test_frame_above_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
