// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include "elf/file.h"

#include "look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct truth {
	uint64_t start, entry, words, cost, exit, exits[3];
};

static const char *path_of(const char *variable)
{
	const char *path = getenv(variable);

	assert_non_null(path);
	return path;
}

static bool has_exit(const struct look *l, const struct probe_function *f, uint64_t address)
{
	for (uint32_t i = 0; i < f->exits; i++)
		if (look_address(l, l->list.exits[f->first_exit + i].offset) == address)
			return true;
	return false;
}

static void check(const struct look *l, const struct truth *t)
{
	const struct probe_function *f = look_for_address(l, t->start);
	uint32_t exits = 0;

	assert_non_null(f);
	print_message("%s\n", f->name);
	assert_int_equal(f->refusal, PROBE_ALLOWED);
	assert_int_equal(look_address(l, f->entry.offset), t->entry);
	assert_int_equal(f->entry.words, t->words);
	assert_int_equal(f->cost, t->cost);
	assert_int_equal(f->exit, t->exit);
	for (size_t i = 0; i < 3 && t->exits[i]; i++, exits++)
		assert_true(has_exit(l, f, t->exits[i]));
	assert_int_equal(f->exits, exits);
}

static void test_truth(void **state)
{
	const struct probe_question question = {.own = true, .exit = PROBE_WISH_RET};
	const struct elf_section *section;
	struct elf_file file;
	struct truth *truth;
	struct look l;

	(void)state;
	look_at(&l, path_of("TRAPS"), &question, NULL);
	assert_int_equal(elf_file_open(&file, l.image.fd), 0);
	section = elf_file_section(&file, ".truth");
	assert_non_null(section);
	truth = elf_file_section_contents(&file, section, 1 << 20);
	assert_non_null(truth);
	assert_true(section->size / sizeof(*truth) > 20);
	for (size_t i = 0; i < section->size / sizeof(*truth); i++)
		check(&l, &truth[i]);
	free(truth);
	elf_file_close(&file);
	look_away(&l);
}

/* Of each exit it is known whether the function returns there, or another one in its place. */
static void test_leaving(void **state)
{
	static const struct {
		const char *name;
		bool leaves;
	} ends[] = {
		{"callee", false},	     {"tail", true},
		{"tail_framed", true},	     {"tail_method", true},
		{"returns_by_thunk", false},
	};
	const struct probe_question question = {.own = true, .exit = PROBE_WISH_RET};
	const struct probe_function *f;
	struct look l;

	(void)state;
	look_at(&l, path_of("TRAPS"), &question, NULL);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		f = look_for(&l, ends[i].name);
		assert_int_equal(f->exits, 1);
		assert_int_equal(l.list.exits[f->first_exit].leaves, ends[i].leaves);
		assert_int_equal(f->at_once, PROBE_GOES_ON);
	}
	/* one word below the entry's, where a call within it has put a return address */
	f = look_for(&l, "tail_thunk_inline");
	assert_true(l.list.exits[f->first_exit].leaves);
	assert_int_equal(l.list.exits[f->first_exit].words, 1);
	/* the thunk within it jumps, its own end returns */
	f = look_for(&l, "leaf_thunk_inline");
	assert_int_equal(f->exits, 2);
	assert_true(l.list.exits[f->first_exit].leaves);
	assert_false(l.list.exits[f->first_exit + 1].leaves);
	assert_int_equal(look_for(&l, "thunk")->at_once, PROBE_LEAVES_AT_ONCE);
	assert_int_equal(look_for(&l, "empty")->at_once, PROBE_RETURNS_AT_ONCE);
	look_away(&l);
}

static void check_refused(const struct look *l, const char *name, enum probe_refusal why)
{
	const struct probe_function *f = look_for(l, name);

	assert_non_null(f);
	assert_int_equal(f->refusal, why);
}

static void test_refusals(void **state)
{
	struct probe_question question = {.own = true, .refused_too = true};
	struct look l;

	(void)state;
	look_at(&l, path_of("TRAPS"), &question, NULL);
	check_refused(&l, "begins_in_kernel", PROBE_REFUSED_CODE);
	check_refused(&l, "dies", PROBE_REFUSED_CODE);
	check_refused(&l, "inner", PROBE_REFUSED_OVERLAP);
	check_refused(&l, "sizeless", PROBE_REFUSED_NO_SIZE);
	check_refused(&l, "split.cold", PROBE_REFUSED_PART);
	check_refused(&l, "outer", PROBE_ALLOWED);
	look_away(&l);

	question.refused_too = false;
	look_at(&l, path_of("TRAPS"), &question, NULL);
	for (size_t i = 0; i < l.list.count; i++)
		assert_int_equal(l.list.at[i].refusal, PROBE_ALLOWED);
	assert_null(look_for(&l, "dies"));
	/* what was meant by name is not left out in silence */
	assert_int_equal(l.list.left_out.count, 3);
	assert_string_equal(l.list.left_out.name, "begins_in_kernel");
	assert_int_equal(l.list.left_out.why, PROBE_REFUSED_CODE);
	look_away(&l);
}

/* The kernel's return probe takes the return address from where the stack pointer is. */
static void test_return(void **state)
{
	const struct probe_question question = {.own = true, .exit = PROBE_WISH_RETURN};
	const struct probe_function *f;
	struct look l;

	(void)state;
	look_at(&l, path_of("TRAPS"), &question, NULL);
	for (size_t i = 0; i < l.list.count; i++) {
		assert_int_equal(l.list.at[i].exit, PROBE_EXIT_RETURN);
		assert_int_equal(l.list.at[i].entry.words, 0);
	}
	f = look_for(&l, "moved");
	assert_int_equal(f->cost, PROBE_COST_SLOW);
	assert_int_equal(look_address(&l, f->entry.offset), f->address);
	look_away(&l);
}

/*
 * Return probes are for functions that call nothing, stay on their stack and do not look at their
 * callers.
 */
static void test_leaves(void **state)
{
	static const char *const others[] = {
		"ns::h",	   "tail_method",	  "leaf_switches",     "leaf_looks",
		"leaf_looks_late", "leaf_looks_by_frame", "leaf_walks",	       "leaf_calls_walker",
		"leaf_pops",	   "leaf_calls_thunk",	  "leaf_thunk_inline", "leaf_leaves"};
	const struct probe_question question = {.own = true, .calm = true};
	struct look l;

	(void)state;
	look_at(&l, path_of("TRAPS"), &question, NULL);
	assert_int_equal(look_for(&l, "ns::f<int, int>")->exit, PROBE_EXIT_RETURN);
	assert_int_equal(look_for(&l, "ns::g")->exit, PROBE_EXIT_RETURN);
	assert_int_equal(look_for(&l, "leaf_frame")->exit, PROBE_EXIT_RETURN);
	assert_int_equal(look_for(&l, "leaf_early")->exit, PROBE_EXIT_RETURN);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		print_message("%s\n", others[i]);
		assert_int_equal(look_for(&l, others[i])->exit, PROBE_EXIT_RET);
	}
	look_away(&l);
}

static void test_patchable(void **state)
{
	const struct probe_question question = {.own = true};
	const struct probe_function *f;
	struct look l;

	(void)state;
	look_at(&l, path_of("TRAPS"), &question, "patchable");
	assert_int_equal(l.list.count, 1);
	f = &l.list.at[0];
	/* behind the nop of 5 bytes, which the kernel may replace by a call */
	assert_int_equal(f->cost, PROBE_COST_FAST);
	assert_int_equal(look_address(&l, f->entry.offset), f->address + 9);
	look_away(&l);
}

static void test_names(void **state)
{
	const struct probe_question question = {.own = true};
	struct look l;

	(void)state;
	look_at(&l, path_of("TRAPS"), &question, NULL);
	assert_non_null(look_for(&l, "name"));
	assert_null(look_for(&l, "longer_name"));
	assert_null(look_for(&l, "__reserved"));
	look_away(&l);

	/* but a caller that asks for another of its names gets that */
	look_at(&l, path_of("TRAPS"), &question, "aweak");
	assert_int_equal(l.list.count, 1);
	assert_string_equal(l.list.at[0].name, "aweak");
	look_away(&l);

	look_at(&l, path_of("TRAPS"), &question, "ns::f<int,int>");
	assert_int_equal(l.list.count, 1);
	assert_string_equal(l.list.at[0].symbol, "_ZN2ns1fIiiEEvi");
	assert_null(l.list.at[0].library);
	look_away(&l);
}

static void test_near(void **state)
{
	const struct probe_question question = {.own = true};
	const char *near[5];
	struct look l;

	(void)state;
	look_at(&l, path_of("TRAPS"), &question, NULL);
	assert_true(probe_near(&l.list, "switch_marekd", near, 5) >= 1);
	assert_string_equal(near[0], "switch_marked");
	assert_true(probe_near(&l.list, "NAME", near, 1) == 1);
	assert_string_equal(near[0], "name");
	assert_int_equal(probe_near(&l.list, "nothing_like_this_at_all", near, 5), 0);
	assert_int_equal(probe_near(&l.list, "", near, 5), 0);
	look_away(&l);
}

static void test_go(void **state)
{
	const struct probe_question question = {
		.own = true, .exit = PROBE_WISH_RETURN, .refused_too = true};
	const struct probe_function *f;
	struct look l;

	(void)state;
	look_at(&l, path_of("TRAPS_GO"), &question, NULL);
	assert_true(probe_is_go(&l.image));
	check_refused(&l, "runtime.morestack_noctxt", PROBE_REFUSED_TWICE);
	f = look_for(&l, "main.small");
	assert_true(f->is_go);
	assert_int_equal(f->exit, PROBE_EXIT_RET);
	assert_int_equal(f->exits, 1);
	/* behind the check for room, which may start the function anew */
	assert_int_equal(look_address(&l, f->entry.offset), f->address + 6);
	assert_int_equal(f->cost, PROBE_COST_FAST);
	f = look_for(&l, "main.large");
	assert_int_equal(look_address(&l, f->entry.offset), f->address + 14);
	f = look_for(&l, "main.old");
	assert_int_equal(look_address(&l, f->entry.offset), f->address + 6);
	assert_int_equal(f->cost, PROBE_COST_SLOW);
	look_away(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_truth),	 cmocka_unit_test(test_leaving),
		cmocka_unit_test(test_refusals), cmocka_unit_test(test_return),
		cmocka_unit_test(test_leaves),	 cmocka_unit_test(test_patchable),
		cmocka_unit_test(test_names),	 cmocka_unit_test(test_near),
		cmocka_unit_test(test_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
