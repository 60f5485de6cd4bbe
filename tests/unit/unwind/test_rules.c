// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <stdlib.h>
#include <string.h>

#include "unwind/rules.h"

struct fixture {
	struct unwind_rule *memory;
	struct unwind_rules *rules;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	f->memory = calloc(UNWIND_RULES_MAX, sizeof(*f->memory));
	*state = f;
	return f->memory ? unwind_rules_new(f->memory, &f->rules) : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	unwind_rules_free(f->rules);
	free(f->memory);
	free(f);
	return 0;
}

static struct unwind_rule sp(int32_t offset, uint8_t until)
{
	return (struct unwind_rule){.cfa = UNWIND_CFA_SP, .cfa_offset = offset, .until = until};
}

static int single(struct fixture *f, struct unwind_rule rule)
{
	bool full = false;
	int index = unwind_rules_run(f->rules, &rule, 1, &full);

	assert_false(full);
	return index;
}

static void test_fixed(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(f->memory[UNWIND_RULE_NONE].cfa, UNWIND_CFA_NONE);
	assert_int_equal(f->memory[UNWIND_RULE_END].cfa, UNWIND_CFA_END);
	assert_int_equal(f->memory[UNWIND_RULE_UNSUPPORTED].cfa, UNWIND_CFA_UNSUPPORTED);
	assert_int_equal(single(f, (struct unwind_rule){.cfa = UNWIND_CFA_NONE}), UNWIND_RULE_NONE);
	assert_int_equal(single(f, (struct unwind_rule){.cfa = UNWIND_CFA_END}), UNWIND_RULE_END);
	assert_int_equal(single(f, (struct unwind_rule){.cfa = UNWIND_CFA_UNSUPPORTED}),
			 UNWIND_RULE_UNSUPPORTED);
	assert_int_equal(unwind_rules_count(f->rules), 3);
}

static void test_same_is_stored_once(void **state)
{
	struct fixture *f = *state;
	const struct unwind_rule eight = sp(8, 0);
	int a = single(f, eight), b = single(f, sp(16, 0));

	assert_int_not_equal(a, b);
	assert_int_equal(single(f, sp(8, 0)), a);
	assert_int_equal(single(f, sp(16, 0)), b);
	assert_int_equal(unwind_rules_count(f->rules), 5);
	assert_memory_equal(&f->memory[a], &eight, sizeof(eight));
}

/* A run is refused the first time, and its tail is there once it is. */
static void test_runs(void **state)
{
	struct fixture *f = *state;
	const struct unwind_rule run[] = {sp(8, 1), sp(16, 3), sp(24, 0)};
	bool full = false;
	int index;

	assert_int_equal(unwind_rules_run(f->rules, run, 3, &full), -1);
	assert_int_equal(unwind_rules_count(f->rules), 3);
	index = unwind_rules_run(f->rules, run, 3, &full);
	assert_int_equal(index, 3);
	assert_memory_equal(&f->memory[index], run, sizeof(run));
	assert_int_equal(unwind_rules_run(f->rules, run + 1, 2, &full), index + 1);
	assert_int_equal(single(f, sp(24, 0)), index + 2);
	/* the head alone is another rule: its until differs */
	assert_int_equal(single(f, sp(8, 0)), 6);
	assert_false(full);
}

static void test_full(void **state)
{
	struct fixture *f = *state;
	struct unwind_rule run[UNWIND_RUN_MAX];
	unsigned int before;
	bool full = false;
	int32_t i, k;

	/* runs that are all asked for twice take at most half of the room */
	for (i = 0; i < 40000; i++) {
		for (k = 0; k < UNWIND_RUN_MAX; k++)
			run[k] = sp(i * 16 + k, k + 1 == UNWIND_RUN_MAX ? 0 : (uint8_t)(k + 1));
		unwind_rules_run(f->rules, run, UNWIND_RUN_MAX, &full);
		unwind_rules_run(f->rules, run, UNWIND_RUN_MAX, &full);
	}
	before = unwind_rules_count(f->rules);
	assert_true(before > 2000);
	assert_true(before <= UNWIND_RULES_MAX / 2);
	assert_false(full);

	/* single ones take the rest, and then none fits, but what is there stays there */
	for (i = 0; i < 70000 && !full; i++) {
		int index =
			unwind_rules_run(f->rules, (struct unwind_rule[]){sp(-i - 1, 0)}, 1, &full);

		assert_true(index >= 0 && index < UNWIND_RULES_MAX);
		if (full)
			assert_int_equal(index, UNWIND_RULE_UNSUPPORTED);
	}
	assert_true(full);
	assert_int_equal(unwind_rules_count(f->rules), UNWIND_RULES_MAX);
	full = false;
	assert_int_equal(f->memory[single(f, sp(-5, 0))].cfa_offset, -5);
	assert_int_equal(unwind_rules_run(f->rules, run, UNWIND_RUN_MAX, &full), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_fixed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_same_is_stored_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_runs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
