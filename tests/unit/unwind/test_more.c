// SPDX-License-Identifier: Apache-2.0
/*
 * Code that a table has left out is read where stacks lead to, a block at a time: against reading
 * everything at once, against the truth, in another order, without end, without room.
 */
#include "../prelude.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plain_memory.h"
#include "small.h"
#include "table_lookup.h"
#include "unwind/more.h"

struct fixture {
	struct plain_memory m;
	struct more more;
};

static int set_up(void **state)
{
	static struct fixture f;

	*state = &f;
	return plain_memory_new(&f.m, 32 << 20);
}

/* All that was taken was given back. */
static int tear_down(void **state)
{
	struct fixture *f = *state;
	uint64_t chunks, used;

	unwind_pool_settle(f->m.pool);
	unwind_pool_usage(f->m.pool, &chunks, &used);
	more_free(&f->more);
	plain_memory_free(&f->m);
	return used ? -1 : 0;
}

static struct unwind_rule rule_at(const struct fixture *f, const struct unwind_table *table,
				  uint64_t address)
{
	struct unwind_rule rule = table_lookup(f->m.pool, f->m.rules_memory, table, address);

	rule.until = 0;
	return rule;
}

static int read_more(struct fixture *f, int fd, uint64_t address, struct unwind_table *table)
{
	return more_read(&f->more, (uint64_t)fd, fd, address, f->m.pool, f->m.rules,
			 f->m.rules_memory, table);
}

static int open_program(const char *name)
{
	int fd = open(getenv(name), O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static uint64_t end_of(const struct unwind_table *table)
{
	return (uint64_t)(table->first_page + table->pages) << UNWIND_PAGE_SHIFT;
}

/* Reads the block, if something was left out there. */
static void read_block(struct fixture *f, int fd, uint64_t start, struct unwind_table *table)
{
	uint64_t address = start, end = start + MORE_BLOCK_BYTES;

	while (address < end && rule_at(f, table, address).cfa != UNWIND_CFA_LATER)
		address++;
	if (address == end)
		return;
	assert_int_equal(read_more(f, fd, address, table), 0);
	assert_int_not_equal(rule_at(f, table, address).cfa, UNWIND_CFA_LATER);
	/* now there is nothing more to be read */
	assert_int_equal(read_more(f, fd, address, table), -ENOENT);
	unwind_pool_settle(f->m.pool);
}

/* Everything was left out, and is read block by block. */
static struct unwind_table read_in_parts(struct fixture *f, int fd, bool backwards)
{
	const uint64_t nowhere = 0;
	struct unwind_table table;
	uint64_t start, end, at;
	struct fail why;

	assert_int_equal(unwind_table_for_leaf(fd, &nowhere, f->m.pool, f->m.rules, &table, &why),
			 0);
	assert_true(table.left_out);
	start = (uint64_t)table.first_page << UNWIND_PAGE_SHIFT;
	end = end_of(&table);
	for (at = 0; at < end - start; at += MORE_BLOCK_BYTES)
		read_block(f, fd, backwards ? end - MORE_BLOCK_BYTES - at : start + at, &table);
	return table;
}

static bool is_same_cfa(const struct unwind_rule *a, const struct unwind_rule *b)
{
	return a->cfa == b->cfa && a->cfa_register == b->cfa_register &&
	       a->cfa_offset == b->cfa_offset && a->deref_offset == b->deref_offset;
}

/* Bytes of code of a program that was stripped, by how the CFA is found there. */
struct agreement {
	uint64_t all, guessed, as_whole, wrong;
};

static struct agreement compare(const struct fixture *f, const struct unwind_table *truth,
				const struct unwind_table *whole, const struct unwind_table *parts)
{
	struct agreement a = {0};

	for (uint64_t at = (uint64_t)truth->first_page << UNWIND_PAGE_SHIFT; at < end_of(truth);
	     at++) {
		struct unwind_rule t = rule_at(f, truth, at), w = rule_at(f, whole, at),
				   p = rule_at(f, parts, at);

		if (t.guess || (t.cfa != UNWIND_CFA_SP && t.cfa != UNWIND_CFA_FP))
			continue;
		a.all++;
		a.guessed += p.guess;
		a.as_whole += is_same_cfa(&w, &p);
		/* both may find it, one from rsp and one from rbp */
		a.wrong += p.guess && t.cfa == p.cfa && t.cfa_offset != p.cfa_offset;
	}
	return a;
}

static void test_parts(void **state)
{
	struct fixture *f = *state;
	int fd = open_program("WHOLE_PROGRAM"), bare = open_program("BARE_PROGRAM");
	struct unwind_table truth, whole, parts, backwards;
	struct agreement a;
	struct fail why;

	assert_int_equal(unwind_table_of_file(fd, f->m.pool, f->m.rules, &truth, &why), 0);
	assert_int_equal(unwind_table_of_file(bare, f->m.pool, f->m.rules, &whole, &why), 0);
	assert_int_equal(whole.fdes, 0);
	parts = read_in_parts(f, bare, false);
	backwards = read_in_parts(f, bare, true);
	for (uint64_t at = (uint64_t)parts.first_page << UNWIND_PAGE_SHIFT; at < end_of(&parts);
	     at++) {
		struct unwind_rule p = rule_at(f, &parts, at), b = rule_at(f, &backwards, at);

		assert_memory_equal(&p, &b, sizeof(p));
	}
	a = compare(f, &truth, &whole, &parts);
	print_message("of %zu bytes: guessed %.3f %%, as at once %.3f %%, wrong %.3f %%\n",
		      (size_t)a.all, 100. * (double)a.guessed / (double)a.all,
		      100. * (double)a.as_whole / (double)a.all,
		      100. * (double)a.wrong / (double)a.all);
	assert_true(a.all > 500000);
	assert_true(a.guessed > a.all * 99 / 100);
	assert_true(a.as_whole > a.all * 99 / 100);
	assert_true(a.wrong < a.all / 100);
	unwind_table_drop(&truth, f->m.pool);
	unwind_table_drop(&whole, f->m.pool);
	unwind_table_drop(&parts, f->m.pool);
	unwind_table_drop(&backwards, f->m.pool);
	close(fd);
	close(bare);
}

/* So much code without unwind information that nothing is read unasked. */
#define MUCH (16u << 20)

/* The same function, over and over. */
static int much_code(void)
{
	/* push %rbx, long nops, so that there are not many instructions, pop %rbx, ret */
#define NOP8 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0
	static const uint8_t function[] = {0x53, NOP8, NOP8, NOP8, NOP8, NOP8, NOP8, NOP8,
					   0x0f, 0x1f, 0x44, 0,	   0,	 0x5b, 0xc3};
#undef NOP8
	const size_t much = MUCH, before = offsetof(struct small, code);
	struct small s = small_program(function, 0, 0);
	uint8_t *image = malloc(before + much);
	int fd = memfd_create("image", MFD_CLOEXEC);

	assert_non_null(image);
	s.segment.p_filesz = s.segment.p_memsz = much;
	for (size_t at = before; at + sizeof(function) <= before + much; at += sizeof(function))
		memcpy(image + at, function, sizeof(function));
	memcpy(image, &s, before);
	assert_int_equal(write(fd, image, before + much), before + much);
	free(image);
	return fd;
}

/* In a function of the block with that number, behind its push. */
static uint64_t in_block(uint32_t number)
{
	return SMALL_CODE + (uint64_t)number * MORE_BLOCK_BYTES + 1;
}

static void test_much_code(void **state)
{
	const uint32_t blocks = 40;
	struct fixture *f = *state;
	struct unwind_table table;
	struct fail why;
	int fd = much_code();

	assert_int_equal(unwind_table_of_file(fd, f->m.pool, f->m.rules, &table, &why), 0);
	for (uint32_t i = 0; i < blocks; i++) {
		assert_int_equal(rule_at(f, &table, in_block(i)).cfa, UNWIND_CFA_LATER);
		assert_int_equal(read_more(f, fd, in_block(i), &table), 0);
		assert_int_equal(rule_at(f, &table, in_block(i)).cfa, UNWIND_CFA_SP);
		assert_int_equal(rule_at(f, &table, in_block(i)).cfa_offset, 16);
		assert_int_equal(rule_at(f, &table, in_block(i + 1)).cfa, UNWIND_CFA_LATER);
		unwind_pool_settle(f->m.pool);
	}
	/* then what is left has no rule, and what was read is as before */
	assert_int_equal(table.more, blocks);
	table.more = MORE_BLOCKS_MAX;
	assert_int_equal(read_more(f, fd, in_block(blocks), &table), -ENOENT);
	for (uint32_t i = 0; i < MUCH / MORE_BLOCK_BYTES; i++)
		assert_int_equal(rule_at(f, &table, in_block(i)).cfa,
				 i < blocks ? UNWIND_CFA_SP : UNWIND_CFA_NONE);
	assert_int_equal(read_more(f, fd, in_block(blocks), &table), -ENOENT);
	assert_int_equal(read_more(f, fd, UINT64_MAX, &table), -ENOENT);
	unwind_table_drop(&table, f->m.pool);
	close(fd);
}

/* The file was changed meanwhile: what is not there any more has no rule. */
static void test_changed(void **state)
{
	struct fixture *f = *state;
	struct unwind_table table;
	struct fail why;
	int fd = much_code();

	assert_int_equal(unwind_table_of_file(fd, f->m.pool, f->m.rules, &table, &why), 0);
	assert_int_equal(read_more(f, fd, in_block(1), &table), 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(read_more(f, fd, in_block(2), &table), 0);
	assert_int_equal(rule_at(f, &table, in_block(1)).cfa, UNWIND_CFA_SP);
	assert_int_equal(rule_at(f, &table, in_block(2)).cfa, UNWIND_CFA_NONE);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_true(read_more(f, fd, in_block(3), &table) < 0);
	more_forget(&f->more, (uint64_t)fd);
	assert_true(read_more(f, fd, in_block(3), &table) < 0);
	assert_int_equal(rule_at(f, &table, in_block(3)).cfa, UNWIND_CFA_LATER);
	unwind_table_drop(&table, f->m.pool);
	close(fd);
}

/* Where there is no room, the table stays as it is. */
static void test_no_room(void **state)
{
	struct fixture *f = *state;
	struct unwind_table table, before;
	struct plain_memory all = f->m;
	struct fail why;
	int fd = much_code(), err = 0;

	assert_int_equal(plain_memory_new(&f->m, UNWIND_CHUNK_BYTES), 0);
	assert_int_equal(unwind_table_of_file(fd, f->m.pool, f->m.rules, &table, &why), 0);
	for (uint32_t i = 0; !err; i++) { /* nothing is used again: it was not settled */
		assert_true(i < MUCH / MORE_BLOCK_BYTES);
		before = table;
		err = read_more(f, fd, in_block(i), &table);
	}
	assert_int_equal(err, -ENOSPC);
	assert_int_equal(table.directory, before.directory);
	assert_int_equal(table.rows, before.rows);
	assert_int_equal(rule_at(f, &table, in_block(0)).cfa, UNWIND_CFA_SP);
	unwind_table_drop(&table, f->m.pool);
	plain_memory_free(&f->m);
	f->m = all;
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_parts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_much_code, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_changed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_room, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
