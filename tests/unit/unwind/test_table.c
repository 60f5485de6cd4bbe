// SPDX-License-Identifier: Apache-2.0
/* The table of this very executable: what it says about the places in snippets*.S. */
#include "../prelude.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plain_memory.h"
#include "table_lookup.h"
#include "unwind/table.h"

extern const char __executable_start[];

#define SP(offset) .cfa = UNWIND_CFA_SP, .cfa_offset = (offset)
#define FP(offset) .cfa = UNWIND_CFA_FP, .cfa_offset = (offset)
#define REGISTER(reg, offset) \
	.cfa = UNWIND_CFA_REGISTER, .cfa_register = (reg), .cfa_offset = (offset)
#define DEREF(reg, offset, off)                                                 \
	.cfa = UNWIND_CFA_DEREF, .cfa_register = (reg), .cfa_offset = (offset), \
	.deref_offset = (off)
#define INDEXED(reg, index, offset, off)                                                         \
	.cfa = UNWIND_CFA_INDEXED, .cfa_register = (reg) | (index) << 4, .cfa_offset = (offset), \
	.deref_offset = (off)
#define PLT(border) .cfa = UNWIND_CFA_PLT, .cfa_offset = (border)
#define IN_REGISTER(reg, offset) \
	.cfa = UNWIND_CFA_IN_REGISTER, .cfa_register = (reg), .cfa_offset = (offset)
#define RBP_AT_CFA(offset) .fp = UNWIND_FP_CFA, .fp_offset = (offset)
#define RBP_AT_RBP(offset) .fp = UNWIND_FP_FP, .fp_offset = (offset)
#define RBP_LOST	   .fp = UNWIND_FP_LOST
#define RBX_AT_CFA(offset) .saved = (offset) / 8
#define RBX_LOST	   .saved = UNWIND_SAVED_LOST
#define UNSUPPORTED	   .cfa = UNWIND_CFA_UNSUPPORTED

/* place, and the rule that is expected there */
#define PLACES(X)                                       \
	X(start, SP(8))                                 \
	X(pushed, SP(16), RBP_AT_CFA(-16))              \
	X(frame_pointer, FP(16), RBP_AT_CFA(-16))       \
	X(popped, SP(8))                                \
	X(restored, FP(16), RBP_AT_CFA(-16))            \
	X(nested, SP(32), RBP_AT_CFA(-16))              \
	X(nested_restored, SP(24), RBP_AT_CFA(-16))     \
	X(all_restored, FP(16), RBP_AT_CFA(-16))        \
	X(no_function, .cfa = UNWIND_CFA_NONE)          \
	X(context_start, .cfa = UNWIND_CFA_END)         \
	X(context_return, .cfa = UNWIND_CFA_END)        \
	X(context_none, SP(8))                          \
	X(args_size, SP(8), RBX_AT_CFA(-24))            \
	X(other_register, REGISTER(10, 16))             \
	X(negative_offset, REGISTER(10, -8))            \
	X(large_offset, SP(0x12345678))                 \
	X(too_large_offset, UNSUPPORTED)                \
	X(realigned, DEREF(6, -8, 0), RBP_AT_RBP(0))    \
	X(rbp_by_rbp, DEREF(6, -8, 0), RBP_AT_RBP(-16)) \
	X(rbp_by_rsp, DEREF(6, -8, 0), RBP_LOST)        \
	X(rbp_by_value, DEREF(6, -8, 0), RBP_LOST)      \
	X(rbp_by_deref, DEREF(6, -8, 0), RBP_LOST)      \
	X(deref_plus, DEREF(7, 152, 8))                 \
	X(deref_literal, DEREF(7, 16, 8))               \
	X(deref_constants, DEREF(7, -184, -9))          \
	X(plain_expression, REGISTER(0, 40))            \
	X(two_derefs, UNSUPPORTED)                      \
	X(indexed, INDEXED(7, 9, 8, 0))                 \
	X(indexed_shifted, INDEXED(7, 14, 32, 8))       \
	X(index_of_4, UNSUPPORTED)                      \
	X(index_twice, UNSUPPORTED)                     \
	X(index_without_deref, UNSUPPORTED)             \
	X(index_behind_deref, UNSUPPORTED)              \
	X(index_by_rip, UNSUPPORTED)                    \
	X(after_expression, SP(8))                      \
	X(empty_expression, UNSUPPORTED)                \
	X(plt_11, PLT(11))                              \
	X(plt_10, PLT(10))                              \
	X(not_plt, UNSUPPORTED)                         \
	X(rbp_saved, SP(8), RBP_AT_CFA(-32))            \
	X(rbp_undefined, SP(8), RBP_LOST)               \
	X(rbp_in_register, SP(8), RBP_LOST)             \
	X(rbp_same, SP(8))                              \
	X(rbp_val_offset, SP(8), RBP_LOST)              \
	X(rbp_above, SP(8), RBP_AT_CFA(24))             \
	X(rbp_extended, SP(8), RBP_AT_CFA(-32))         \
	X(rbp_restored, SP(8))                          \
	X(rbp_far, SP(8), RBP_AT_CFA(-32768))           \
	X(rbp_too_far, SP(8), RBP_LOST)                 \
	X(rbx_saved, SP(8), RBX_AT_CFA(-16))            \
	X(rbx_undefined, SP(8), RBX_LOST)               \
	X(rbx_in_register, SP(8), RBX_LOST)             \
	X(rbx_same, SP(8))                              \
	X(rbx_by_expression, SP(8), RBX_LOST)           \
	X(rbx_restored, SP(8))                          \
	X(rbx_far, SP(8), RBX_AT_CFA(-1024))            \
	X(rbx_too_far, SP(8), RBX_LOST)                 \
	X(rbx_above, SP(8), RBX_AT_CFA(1008))           \
	X(rbx_too_far_above, SP(8), RBX_LOST)           \
	X(rbx_at_cfa, SP(8), RBX_LOST)                  \
	X(rbx_remembered, SP(8), RBX_AT_CFA(-32))       \
	X(cfa_sf, SP(16))                               \
	X(cfa_offset_sf, SP(24))                        \
	X(end, .cfa = UNWIND_CFA_END)                   \
	X(not_end, SP(8))                               \
	X(rip_in_register, IN_REGISTER(5, 8))           \
	X(rip_popped, IN_REGISTER(5, 0))                \
	X(rip_and_rbx, UNSUPPORTED)                     \
	X(rip_and_rbp, UNSUPPORTED)                     \
	X(rip_by_rcx, UNSUPPORTED)                      \
	X(rip_elsewhere, UNSUPPORTED)                   \
	X(rsp_elsewhere, UNSUPPORTED)                   \
	X(rsp_again, SP(8))                             \
	X(signal, .cfa = UNWIND_CFA_SIGNAL)             \
	X(simple, UNSUPPORTED)                          \
	X(simple_set, SP(8))                            \
	X(padding, SP(8))                               \
	X(behind_padding, SP(48))                       \
	X(before_damage, SP(40))                        \
	X(damage, UNSUPPORTED)                          \
	X(long, SP(56))                                 \
	X(long_middle, SP(56))                          \
	X(long_end, SP(8))                              \
	X(debug_frame, SP(64), RBP_AT_CFA(-64))

/* The same for code without unwind information: guesses. */
#define GUESSED_PLACES(X)                                                           \
	X(nocfi_rbp_pushed, SP(16), RBP_AT_CFA(-16))                                \
	X(nocfi_pushed, SP(32), RBP_AT_CFA(-16), RBX_AT_CFA(-24))                   \
	X(nocfi_room, SP(288), RBP_AT_CFA(-16), RBX_AT_CFA(-24))                    \
	X(nocfi_popped, SP(8))                                                      \
	X(nocfi_jumped_to, SP(288), RBP_AT_CFA(-16), RBX_AT_CFA(-24))               \
	X(nocfi_lea, SP(24), RBP_AT_CFA(-16), RBX_AT_CFA(-24))                      \
	X(nocfi_frame_pointer, FP(16), RBP_AT_CFA(-16))                             \
	X(nocfi_alloca, FP(16), RBP_AT_CFA(-16))                                    \
	X(nocfi_rbx_stored, FP(16), RBP_AT_CFA(-16), RBX_AT_CFA(-24))               \
	X(nocfi_rbx_loaded, FP(16), RBP_AT_CFA(-16))                                \
	X(nocfi_left, SP(8))                                                        \
	X(nocfi_clobbered, SP(8), RBP_LOST, RBX_LOST)                               \
	X(nocfi_case, SP(48))                                                       \
	X(nocfi_by_pointer, SP(32))                                                 \
	X(nocfi_saves_at_once, SP(32))                                              \
	X(nocfi_target_at_once, SP(16), RBX_AT_CFA(-16))                            \
	X(nocfi_touched, SP(16400), RBX_AT_CFA(-16))                                \
	X(nocfi_touched_and_rest, SP(16792), RBX_AT_CFA(-16))                       \
	X(nocfi_behind_call, SP(16))                                                \
	X(nocfi_called_itself, SP(16))                                              \
	X(nocfi_here, SP(8))                                                        \
	X(nocfi_parent, SP(8))                                                      \
	X(nocfi_rbp_cleared, SP(16), RBP_AT_CFA(-16))                               \
	X(nocfi_behind_data, SP(16), RBX_AT_CFA(-16))                               \
	X(nocfi_rounded, REGISTER(3, 104), RBP_AT_CFA(-96), RBX_AT_CFA(-104))       \
	X(nocfi_rounded_still, REGISTER(3, 104), RBP_AT_CFA(-96), RBX_AT_CFA(-104)) \
	X(nocfi_rounded_back, SP(8))                                                \
	X(nocfi_in_rax, REGISTER(0, 8))                                             \
	X(nocfi_stored, DEREF(7, 0x100, 8))                                         \
	X(nocfi_stored_deeper, DEREF(7, 0x108, 8))                                  \
	X(nocfi_loaded, SP(8))                                                      \
	X(nocfi_by_return, SP(64), RBX_AT_CFA(-16))                                 \
	X(nocfi_by_leave, FP(16), RBP_AT_CFA(-16))                                  \
	X(nocfi_by_base, REGISTER(3, 24), RBP_AT_CFA(-16), RBX_AT_CFA(-24))         \
	X(nocfi_address_taken, SP(16))                                              \
	X(nocfi_rbp_zeroed, SP(8), RBP_LOST)                                        \
	X(nocfi_plt, SP(24))

/* Where the way back is lost, or known for certain. */
#define OTHER_PLACES(X)                                    \
	X(nocfi_other_stack, .cfa = UNWIND_CFA_NONE)       \
	X(nocfi_still_other_stack, .cfa = UNWIND_CFA_NONE) \
	X(nocfi_data, .cfa = UNWIND_CFA_NONE)              \
	X(nocfi_child, .cfa = UNWIND_CFA_END)              \
	X(nocfi_child_ended, .cfa = UNWIND_CFA_END)        \
	X(nocfi_coroutine, .cfa = UNWIND_CFA_END)          \
	X(nocfi_coroutine_ended, .cfa = UNWIND_CFA_END)    \
	X(nocfi_signal, .cfa = UNWIND_CFA_SIGNAL)

#define DECLARE(place, ...) extern const char at_##place[];
PLACES(DECLARE)
GUESSED_PLACES(DECLARE)
OTHER_PLACES(DECLARE)

static const struct place {
	const char *name, *at;
	struct unwind_rule rule;
} places[] = {
#define ENTRY(place, ...)	  {#place, at_##place, {__VA_ARGS__}},
#define GUESSED_ENTRY(place, ...) {#place, at_##place, {__VA_ARGS__, .guess = 1}},
	PLACES(ENTRY) OTHER_PLACES(ENTRY) GUESSED_PLACES(GUESSED_ENTRY)};

static void check_places(const struct plain_memory *m, const struct unwind_table *table)
{
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(*places); i++) {
		uint64_t address = (uint64_t)(places[i].at - __executable_start);
		struct unwind_rule rule = table_lookup(m->pool, m->rules_memory, table, address);

		rule.until = 0;
		if (memcmp(&rule, &places[i].rule, sizeof(rule)) != 0)
			fail_msg("at %s: cfa %d of %d %+" PRId32 " %+" PRId32
				 ", rbp %d %+d, rbx %+d, guess %d",
				 places[i].name, rule.cfa, rule.cfa_register, rule.cfa_offset,
				 rule.deref_offset, rule.fp, rule.fp_offset, rule.saved,
				 rule.guess);
	}
}

static void build_own(struct plain_memory *m, struct unwind_table *table)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct fail why = {0};

	assert_true(fd >= 0);
	if (unwind_table_of_file(fd, m->pool, m->rules, table, &why))
		fail_msg("%s", why.what);
	close(fd);
}

static void test_places(void **state)
{
	struct plain_memory m;
	struct unwind_table table;
	uint64_t chunks, used;

	(void)state;
	assert_int_equal(plain_memory_new(&m, 16 << 20), 0);
	build_own(&m, &table);
	check_places(&m, &table);
	assert_true(table.refused >= 1); /* the damaged one */
	assert_true(table.unsupported >= 7);
	assert_int_equal(table.crowded, 0);
	unwind_pool_usage(m.pool, &chunks, &used);
	assert_true(used >= unwind_table_bytes(&table));
	assert_true(used <= unwind_table_bytes(&table) + 4 * table.pages);

	unwind_table_drop(&table, m.pool);
	assert_int_equal(table.directory, 0);
	unwind_pool_settle(m.pool);
	unwind_pool_usage(m.pool, &chunks, &used);
	assert_int_equal(used, 0);
	plain_memory_free(&m);
}

/* Built again and again, runs of rules come into use; what the table says stays the same. */
static void test_runs(void **state)
{
	struct plain_memory m;
	struct unwind_table table;
	uint32_t first = 0;
	int i;

	(void)state;
	assert_int_equal(plain_memory_new(&m, 16 << 20), 0);
	for (i = 0; i < 6; i++) {
		build_own(&m, &table);
		check_places(&m, &table);
		if (!i)
			first = table.rows;
	}
	assert_true(table.rows < first);
	plain_memory_free(&m);
}

/* Without room for its rules a table says unsupported, and counts how often. */
static void test_no_rules(void **state)
{
	struct plain_memory m;
	struct unwind_table table;
	struct unwind_rule rule = {.cfa = UNWIND_CFA_SP};
	bool full = false;
	size_t i;

	(void)state;
	assert_int_equal(plain_memory_new(&m, 16 << 20), 0);
	for (rule.cfa_offset = 1000000; !full; rule.cfa_offset++)
		unwind_rules_run(m.rules, &rule, 1, &full);
	build_own(&m, &table);
	assert_true(table.crowded > sizeof(places) / sizeof(*places) / 2);
	for (i = 0; i < sizeof(places) / sizeof(*places); i++) {
		uint64_t address = (uint64_t)(places[i].at - __executable_start);
		uint8_t cfa = table_lookup(m.pool, m.rules_memory, &table, address).cfa;

		assert_int_equal(cfa, places[i].rule.cfa == UNWIND_CFA_NONE ? UNWIND_CFA_NONE
				      : places[i].rule.cfa == UNWIND_CFA_END
					      ? UNWIND_CFA_END
					      : UNWIND_CFA_UNSUPPORTED);
	}
	plain_memory_free(&m);
}

/* A full pool is reported, and nothing stays behind. */
static void test_no_room(void **state)
{
	struct plain_memory m;
	struct unwind_table table;
	struct fail why = {0};
	uint64_t chunks, used;
	uint32_t words;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	for (words = UNWIND_CHUNK_WORDS - 2; words > UNWIND_CHUNK_WORDS - 200; words -= 10) {
		assert_int_equal(plain_memory_new(&m, 1 << 20), 0);
		assert_int_not_equal(unwind_pool_get(m.pool, words), 0);
		assert_int_equal(unwind_table_of_file(fd, m.pool, m.rules, &table, &why), -ENOSPC);
		assert_int_equal(table.directory, 0);
		assert_int_equal(why.err, -ENOSPC);
		unwind_pool_settle(m.pool);
		unwind_pool_usage(m.pool, &chunks, &used);
		assert_int_equal(used, (words + 1) / 2 * 8);
		plain_memory_free(&m);
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_no_rules),
		cmocka_unit_test(test_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
