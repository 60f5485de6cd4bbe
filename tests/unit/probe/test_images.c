// SPDX-License-Identifier: Apache-2.0
/*
 * What must hold for each function of any image: probes stand where instructions begin, within the
 * function, entries only move over code that leads straight to them, returns are returns. A
 * disassembler is the judge.
 */
#include "look.h"

#include <capstone/capstone.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Functions of large images whose code is disassembled: one in this many. */
#define FUNCTIONS_SOME 1500

struct judge {
	csh disassembler;
	cs_insn *insn;
	struct look *look;
	size_t judged;
};

enum verdict {
	BEGINS,
	DOES_NOT,
	NOT_KNOWN, /* the disassembler stopped at an instruction that is newer than it */
};

/* Whether an instruction begins at an address of a function, by going there from its start. */
static enum verdict instruction_at(struct judge *j, const struct probe_function *f, uint64_t wanted)
{
	uint8_t *bytes = malloc(f->size);
	const uint8_t *code = bytes;
	uint64_t address = f->address;
	enum verdict verdict = DOES_NOT;
	size_t left;

	assert_non_null(bytes);
	left = elf_image_read_code(&j->look->elf, f->address, bytes, f->size);
	while (verdict == DOES_NOT && address <= wanted) {
		if (!cs_disasm_iter(j->disassembler, &code, &left, &address, j->insn))
			verdict = NOT_KNOWN;
		else if (j->insn->address == wanted)
			verdict = BEGINS;
	}
	free(bytes);
	j->judged += verdict == BEGINS;
	return verdict;
}

static void check_entry(struct judge *j, const struct probe_function *f)
{
	uint64_t address = look_address(j->look, f->entry.offset);
	enum verdict verdict;
	const char *what = j->insn->mnemonic;

	assert_true(address >= f->address);
	assert_true(f->library ? address == f->address : address - f->address < f->size);
	if (f->exit == PROBE_EXIT_RETURN)
		assert_int_equal(f->entry.words, 0);
	/* no probe can be on the first instruction: it has a prefix, which is the first byte */
	if (f->cost == PROBE_COST_SLOW && address != f->address &&
	    instruction_at(j, f, f->address) == BEGINS)
		assert_non_null(memchr("\xf0\x2e\x66", j->insn->bytes[0], 3));
	if (f->library)
		return;
	verdict = instruction_at(j, f, address);
	assert_int_not_equal(verdict, DOES_NOT);
	if (verdict == BEGINS && f->cost == PROBE_COST_FAST)
		assert_true(!strcmp(what, "push") || !strcmp(what, "nop") ||
			    !strcmp(what, "call") || what[0] == 'j');
}

static void check_exits(struct judge *j, const struct probe_function *f)
{
	if (f->exit != PROBE_EXIT_RET)
		assert_int_equal(f->exits, 0);
	for (uint32_t i = 0; i < f->exits; i++) {
		const struct probe_site *site = &j->look->list.exits[f->first_exit + i];
		uint64_t address = look_address(j->look, site->offset);
		enum verdict verdict;

		assert_true(!site->words || site->leaves);
		assert_int_not_equal(site->offset, f->entry.offset);
		if (address - f->address >= f->size)
			continue; /* of a part elsewhere */
		verdict = instruction_at(j, f, address);
		assert_int_not_equal(verdict, DOES_NOT);
		if (verdict == BEGINS)
			assert_true(j->insn->id == X86_INS_RET || j->insn->id == X86_INS_JMP);
	}
}

static void check_image(const char *path, enum probe_exit_wish wish, bool calm)
{
	const struct probe_question question = {
		.own = true, .called = true, .exit = wish, .calm = calm};
	size_t fast = 0, own = 0, ret = 0, inferred = 0, step;
	struct look l;
	struct judge j = {.look = &l};

	look_at(&l, path, &question, NULL);
	assert_int_equal(cs_open(CS_ARCH_X86, CS_MODE_64, &j.disassembler), CS_ERR_OK);
	j.insn = cs_malloc(j.disassembler);
	assert_non_null(j.insn);
	step = l.list.count / FUNCTIONS_SOME + 1;
	for (size_t i = 0; i < l.list.count; i++) {
		const struct probe_function *f = &l.list.at[i];

		if (i)
			assert_true(f->address > f[-1].address);
		assert_true(f->name[0] && f->symbol[0]);
		assert_true((uint64_t)f->first_exit + f->exits <= l.list.exit_count);
		if (!f->library) {
			own++;
			fast += f->cost != PROBE_COST_SLOW;
			ret += f->exit == PROBE_EXIT_RET;
			inferred += f->exit == PROBE_EXIT_INFERRED;
		}
		if (f->refusal == PROBE_REFUSED_NO_STUB) {
			assert_non_null(f->library);
			assert_int_equal(f->entry.offset, 0);
			continue;
		}
		if (i % step)
			continue;
		check_entry(&j, f);
		check_exits(&j, f);
	}
	print_message("%s: %zu functions, %zu entries fast, %zu exits by ret, %zu inferred\n", path,
		      own, fast, ret, inferred);
	assert_true(own && j.judged >= own / step / 2);
	cs_free(j.insn, 1);
	cs_close(&j.disassembler);
	look_away(&l);
}

static void check_all_ways(const char *path)
{
	check_image(path, PROBE_WISH_AUTO, false);
	check_image(path, PROBE_WISH_AUTO, true);
	check_image(path, PROBE_WISH_RET, false);
}

static void test_system(void **state)
{
	static const char *const paths[] = {
		"/usr/bin/python3",
		"/usr/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/proc/self/exe",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (!access(paths[i], R_OK))
			check_all_ways(paths[i]);
}

/* The next of SHAPES whose file name ends like that. */
static const char *shape(const char *name)
{
	static char path[4096];
	const char *list = getenv("SHAPES");

	assert_non_null(list);
	while (*list) {
		size_t length = strcspn(list, ":");

		assert_true(length < sizeof(path));
		memcpy(path, list, length);
		path[length] = 0;
		if (length > strlen(name) && !strcmp(path + length - strlen(name), name))
			return path;
		list += length + (list[length] == ':');
	}
	fail_msg("no program %s", name);
	return NULL;
}

static void test_shapes(void **state)
{
	static const char *const names[] = {"-o0",	  "-o2",     "-o3-no-pie", "-cet",
					    "-patchable", "-no-plt", "-frame",	   "-throws"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check_all_ways(shape(names[i]));
}

/* Calls into libraries have the library's name, also where the linker made two tables of stubs. */
static void test_called(void **state)
{
	static const char *const names[] = {"-o0", "-o2", "-cet"};
	const struct probe_question question = {.called = true, .calm = true};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct probe_function *f;
		struct look l;

		look_at(&l, shape(names[i]), &question, "*@*");
		f = look_for(&l, "strlen@libc.so.6");
		assert_non_null(f);
		assert_string_equal(f->library, "libc.so.6");
		assert_string_equal(f->symbol, "strlen");
		assert_int_equal(f->size, 0);
		assert_int_equal(f->exit, PROBE_EXIT_RETURN);
		assert_non_null(look_for(&l, "sin@libm.so.6"));
		assert_null(look_for(&l, "leaf"));
		for (size_t k = 1; k < l.list.count; k++)
			assert_string_not_equal(l.list.at[k].name, l.list.at[k - 1].name);
		look_away(&l);
	}
}

/* Without stubs, what is called is known, and that it cannot be probed there. */
static void test_no_stubs(void **state)
{
	const struct probe_question question = {.called = true};
	const struct probe_function *f;
	struct look l;

	(void)state;
	look_at(&l, shape("-no-plt"), &question, NULL);
	f = look_for(&l, "strlen@libc.so.6");
	assert_non_null(f);
	assert_int_equal(f->refusal, PROBE_REFUSED_NO_STUB);
	assert_int_equal(f->exit, PROBE_EXIT_INFERRED);
	assert_string_equal(f->library, "libc.so.6");
	look_away(&l);
}

/*
 * Return probes are for functions that call nothing, and only where no signal handler is to be
 * expected.
 */
static void test_throws(void **state)
{
	struct probe_question question = {.own = true, .called = true, .calm = true};
	struct look l;

	(void)state;
	look_at(&l, shape("-throws"), &question, NULL);
	assert_false(probe_is_go(&l.image));
	assert_int_equal(look_for(&l, "ns::leaf")->exit, PROBE_EXIT_RETURN);
	assert_int_not_equal(look_for(&l, "ns::throws")->exit, PROBE_EXIT_RETURN);
	assert_int_not_equal(look_for(&l, "ns::passes")->exit, PROBE_EXIT_RETURN);
	assert_int_not_equal(look_for(&l, "main")->exit, PROBE_EXIT_RETURN);
	for (size_t i = 0; i < l.list.count; i++) {
		const struct probe_function *f = &l.list.at[i];

		if (f->library && !strncmp(f->library, "libstdc++", 9))
			assert_int_equal(f->exit, PROBE_EXIT_INFERRED);
	}
	look_away(&l);

	question.calm = false;
	look_at(&l, shape("-throws"), &question, NULL);
	for (size_t i = 0; i < l.list.count; i++)
		assert_int_not_equal(l.list.at[i].exit, PROBE_EXIT_RETURN);
	look_away(&l);
}

static void test_calm(void **state)
{
	struct probe_question question = {.own = true};
	struct look l;

	(void)state;
	look_at(&l, shape("-o2"), &question, NULL);
	assert_true(probe_is_calm(&l.image));
	look_away(&l);
	/* it has handlers */
	look_at(&l, "/bin/sh", &question, "*");
	assert_false(probe_is_calm(&l.image));
	look_away(&l);
}

/* Real ends: every function of known shape has as many as its source has ways out. */
static void test_ends(void **state)
{
	const struct probe_question question = {.own = true, .exit = PROBE_WISH_RET};
	struct look l;

	(void)state;
	look_at(&l, shape("-o0"), &question, NULL);
	assert_int_equal(look_for(&l, "leaf")->exits, 1);
	assert_int_equal(look_for(&l, "cases")->exits, 1);
	assert_int_equal(look_for(&l, "many")->exits, 1);
	assert_int_equal(look_for(&l, "dies")->exit, PROBE_EXIT_RET);
	assert_int_equal(look_for(&l, "dies")->exits, 0);
	look_away(&l);

	/* its only deed is a jump */
	look_at(&l, shape("-cet"), &question, "tail");
	assert_int_equal(l.list.count, 1);
	assert_true(l.list.at[0].exit == PROBE_EXIT_RET ? l.list.at[0].exits == 1
							: l.list.at[0].exit == PROBE_EXIT_INFERRED);
	look_away(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),	 cmocka_unit_test(test_called),
		cmocka_unit_test(test_no_stubs), cmocka_unit_test(test_throws),
		cmocka_unit_test(test_calm),	 cmocka_unit_test(test_ends),
		cmocka_unit_test(test_system),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
