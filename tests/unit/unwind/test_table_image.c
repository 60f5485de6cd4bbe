// SPDX-License-Identifier: Apache-2.0
/* Whole images: without section headers, cut short, damaged, of another kind, without anything. */
#include "../prelude.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "framed.h"
#include "plain_memory.h"
#include "small.h"
#include "table_lookup.h"
#include "elf/image.h"
#include "unwind/table.h"

struct fixture {
	struct plain_memory m;
	uint8_t *file; /* a program that nothing was added to */
	size_t size;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int fd = open(getenv("IMAGE_PROGRAM"), O_RDONLY | O_CLOEXEC);
	struct stat s;

	if (!f || fd < 0 || fstat(fd, &s) || plain_memory_new(&f->m, 32 << 20))
		return -1;
	f->size = (size_t)s.st_size;
	f->file = malloc(f->size);
	if (!f->file || read(fd, f->file, f->size) != (ssize_t)f->size)
		return -1;
	close(fd);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	plain_memory_free(&f->m);
	free(f->file);
	free(f);
	return 0;
}

static int build(struct fixture *f, const void *image, size_t size, struct unwind_table *table)
{
	struct fail why = {0};
	int err = unwind_table_of_memory(image, size, f->m.pool, f->m.rules, table, &why);

	assert_int_equal(why.err, err);
	if (err) {
		assert_int_not_equal(why.what[0], 0);
		assert_int_equal(table->directory, 0);
	}
	return err;
}

static void drop(struct fixture *f, struct unwind_table *table)
{
	unwind_table_drop(table, f->m.pool);
	unwind_pool_settle(f->m.pool);
}

static struct unwind_rule rule_at(struct fixture *f, const struct unwind_table *table,
				  uint64_t address)
{
	struct unwind_rule rule = table_lookup(f->m.pool, f->m.rules_memory, table, address);

	rule.until = 0;
	return rule;
}

static void test_without_sections(void **state)
{
	struct fixture *f = *state;
	uint8_t *copy = malloc(f->size);
	Elf64_Ehdr *header = (Elf64_Ehdr *)copy;
	struct unwind_table with, without;
	uint64_t address, end;

	assert_non_null(copy);
	memcpy(copy, f->file, f->size);
	header->e_shoff = header->e_shnum = header->e_shstrndx = 0;
	assert_int_equal(build(f, f->file, f->size, &with), 0);
	assert_int_equal(build(f, copy, f->size, &without), 0);
	assert_int_equal(with.fdes, without.fdes);
	assert_true(with.fdes > 10);
	end = (uint64_t)(with.first_page + with.pages) << UNWIND_PAGE_SHIFT;
	for (address = (uint64_t)with.first_page << UNWIND_PAGE_SHIFT; address < end; address++) {
		struct unwind_rule a = rule_at(f, &with, address);
		struct unwind_rule b = rule_at(f, &without, address);

		/* what is code is known less exactly, and so is what can be guessed from that */
		if (!a.guess && !b.guess)
			assert_memory_equal(&a, &b, sizeof(a));
	}
	drop(f, &with);
	drop(f, &without);
	free(copy);
}

static void test_cut(void **state)
{
	struct fixture *f = *state;
	struct unwind_table table;
	size_t size;

	for (size = 0; size < f->size; size += size < 1024 ? 1 : f->size / 211) {
		/* exactly as large, so that a sanitizer sees a byte too many */
		uint8_t *copy = malloc(size ? size : 1);
		int err;

		assert_non_null(copy);
		memcpy(copy, f->file, size);
		err = build(f, copy, size, &table);
		assert_true(err == 0 || err == -ENOEXEC);
		drop(f, &table);
		free(copy);
	}
}

/* Random bytes in the headers or anywhere else. */
static void test_damaged(void **state)
{
	struct fixture *f = *state;
	uint8_t *copy = malloc(f->size);
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)f->file;
	struct unwind_table table;
	uint64_t i, k;

	assert_non_null(copy);
	for (i = 0; i < 600; i++) {
		uint64_t r = hash_u64(i + 1), from = 0, span = f->size;

		memcpy(copy, f->file, f->size);
		if (i % 3 == 0)
			span = 64 + header->e_phnum * sizeof(Elf64_Phdr);
		else if (i % 3 == 1)
			from = header->e_shoff, span = f->size - from;
		for (k = 0; k < 1 + i % 40; k++) {
			r = hash_u64(r);
			copy[from + (r >> 8) % span] = (uint8_t)r;
		}
		build(f, copy, f->size, &table);
		drop(f, &table);
	}
	free(copy);
}

static void test_other_kinds(void **state)
{
	struct fixture *f = *state;
	static const struct {
		size_t at;
		uint8_t value;
	} changes[] = {
		{0, 'X'},
		{EI_CLASS, ELFCLASS32},
		{EI_DATA, ELFDATA2MSB},
		{offsetof(Elf64_Ehdr, e_machine), EM_386},
		{offsetof(Elf64_Ehdr, e_type), ET_REL},
		{offsetof(Elf64_Ehdr, e_type), ET_CORE},
		{offsetof(Elf64_Ehdr, e_phentsize), 1},
		{offsetof(Elf64_Ehdr, e_phnum), 0},
	};
	struct unwind_table table;
	struct fail why;
	size_t i;
	int fd;

	for (i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		uint8_t before = f->file[changes[i].at];

		f->file[changes[i].at] = changes[i].value;
		assert_int_equal(build(f, f->file, f->size, &table), -ENOEXEC);
		f->file[changes[i].at] = before;
	}
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(unwind_table_of_file(fd, f->m.pool, f->m.rules, &table, &why), -ENOEXEC);
	close(fd);
	assert_int_equal(unwind_table_of_file(-1, f->m.pool, f->m.rules, &table, &why), -EBADF);
}

/* A program without sections; code stands at CODE. */
static const uint8_t halts[] = {0x31, 0xed, 0xff, 0x15, 1, 2, 3, 4, 0xf4};
static const uint8_t jumps[] = {0x48, 0x89, 0xe7, 0xe8, 1, 2, 3, 4, 0x41, 0xff, 0xe4};

/* Where a program begins there is no caller; what nothing at all is known of has no table. */
static void test_entry(void **state)
{
	static const struct {
		const uint8_t *code;
		size_t count;
		uint64_t entry, end;
	} programs[] = {
		{halts, sizeof(halts), CODE, CODE + sizeof(halts)},
		{jumps, sizeof(jumps), CODE, CODE + sizeof(jumps)},
		{halts, 0, CODE + 16, CODE + 256},
		{halts, 0, CODE + 250, CODE + 256},
		{halts, 0, CODE + 256, CODE + 256},
		{halts, 0, 0, 0},
		{halts, 0, UINT64_MAX, UINT64_MAX},
	};
	struct fixture *f = *state;
	struct unwind_table table;
	size_t i;

	for (i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		uint64_t entry = programs[i].entry, end = programs[i].end;
		struct small s = small_program(programs[i].code, programs[i].count, entry);

		/* no padding: a function */
		if (end != CODE + 256 && end > entry)
			s.code[end - CODE] = 0xc3;
		assert_int_equal(build(f, &s, sizeof(s), &table), 0);
		if (entry == end) {
			assert_int_equal(table.directory, 0);
			assert_int_equal(unwind_table_bytes(&table), 0);
		} else {
			assert_int_equal(rule_at(f, &table, entry).cfa, UNWIND_CFA_END);
			assert_int_equal(rule_at(f, &table, end - 1).cfa, UNWIND_CFA_END);
			assert_int_equal(rule_at(f, &table, entry - 1).cfa, UNWIND_CFA_NONE);
			assert_int_equal(rule_at(f, &table, end).cfa,
					 end == CODE + 256 ? UNWIND_CFA_NONE : UNWIND_CFA_SP);
		}
		drop(f, &table);
	}
}

/* So it is where the code is too much to be read. */
static void test_entry_of_much_code(void **state)
{
	static const struct {
		const uint8_t *code;
		size_t count, size;
	} programs[] = {
		{halts, sizeof(halts), sizeof(halts)},
		{jumps, sizeof(jumps), sizeof(jumps)},
		{halts, 0, 64},
	};
	const size_t much = 64 << 20, before = offsetof(struct small, code);
	struct fixture *f = *state;
	struct unwind_table table;
	uint8_t *image = malloc(before + much);
	size_t i;

	assert_non_null(image);
	for (i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		struct small s = small_program(programs[i].code, programs[i].count, CODE);
		uint64_t end = CODE + programs[i].size;

		s.segment.p_filesz = s.segment.p_memsz = much;
		memset(image, 0xc3, before + much);
		memcpy(image, &s, sizeof(s));
		assert_int_equal(build(f, image, before + much, &table), 0);
		assert_int_equal(rule_at(f, &table, CODE).cfa, UNWIND_CFA_END);
		assert_int_equal(rule_at(f, &table, end - 1).cfa, UNWIND_CFA_END);
		/* what just goes on is still the first function, as far as it is followed */
		if (programs[i].count)
			assert_int_not_equal(rule_at(f, &table, end).cfa, UNWIND_CFA_END);
		drop(f, &table);
	}
	free(image);
}

/* Code without unwind information is left out at first, unless a stack has led there. */
static void test_left_out(void **state)
{
	struct fixture *f = *state;
	int fd = open(getenv("IMAGE_PROGRAM"), O_RDONLY | O_CLOEXEC);
	struct unwind_table all, some, again;
	uint64_t address, end, described = 0, guessed = 0;
	struct fail why;

	assert_int_equal(unwind_table_of_file(fd, f->m.pool, f->m.rules, &all, &why), 0);
	assert_false(all.left_out);
	end = (uint64_t)(all.first_page + all.pages) << UNWIND_PAGE_SHIFT;
	for (address = (uint64_t)all.first_page << UNWIND_PAGE_SHIFT; address < end; address++) {
		struct unwind_rule rule = rule_at(f, &all, address);

		if (rule.guess && !guessed)
			guessed = address;
		if (!rule.guess && rule.cfa == UNWIND_CFA_SP)
			described = address;
	}
	assert_true(described && guessed);
	assert_int_equal(unwind_table_for_leaf(fd, &described, f->m.pool, f->m.rules, &some, &why),
			 0);
	assert_true(some.left_out);
	assert_int_equal(some.fdes, all.fdes);
	assert_int_equal(unwind_table_for_leaf(fd, &guessed, f->m.pool, f->m.rules, &again, &why),
			 0);
	assert_false(again.left_out);
	for (address = (uint64_t)all.first_page << UNWIND_PAGE_SHIFT; address < end; address++) {
		struct unwind_rule a = rule_at(f, &all, address);
		struct unwind_rule b = rule_at(f, &some, address);
		struct unwind_rule c = rule_at(f, &again, address);

		assert_memory_equal(&a, &c, sizeof(a));
		if (a.guess)
			assert_int_equal(b.cfa, UNWIND_CFA_LATER);
		else if (b.cfa != UNWIND_CFA_LATER)
			assert_memory_equal(&a, &b, sizeof(a));
		else
			/* it is read later, and no rule is found, or that of the entry point */
			assert_true(a.cfa == UNWIND_CFA_NONE || a.cfa == UNWIND_CFA_END);
	}
	drop(f, &all);
	drop(f, &some);
	drop(f, &again);
	close(fd);
}

static void test_functions(void **state)
{
	static const struct function functions[] = {
		{CODE + 0x300, 0x10}, /* not in order */
		{CODE + 0x100, 0x20},
		{CODE + 0x110, 0x20},  /* overlaps: the one that begins first wins */
		{CODE + 0x100, 0x20},  /* the same again */
		{CODE + 0x200, 0},     /* no code */
		{0, 0x10},	       /* dropped by the linker: not counted */
		{CODE - 8, 0x10},      /* outside */
		{CODE + 0xfff8, 0x10}, /* half outside */
		{CODE + 0x400, UINT64_MAX},
		{UINT64_MAX - 4, 4},
		{CODE + 0x31f, 0x11}, /* 15 bytes behind the first one */
		{CODE + 0x340, 0x10}, /* 16 bytes behind that */
	};
	struct fixture *f = *state;
	struct unwind_table table;
	struct framed p;

	framed_program(&p, 0x10000, functions, sizeof(functions) / sizeof(*functions));
	assert_int_equal(build(f, &p, sizeof(p), &table), 0);
	assert_int_equal(table.fdes, 4);
	assert_int_equal(table.refused, 7);
	assert_int_equal(table.pages, 1);
	assert_int_equal(rule_at(f, &table, CODE).cfa, UNWIND_CFA_NONE);
	assert_int_equal(rule_at(f, &table, CODE + 0x100).cfa_offset, 24);
	assert_int_equal(rule_at(f, &table, CODE + 0x11f).cfa_offset, 24);
	assert_int_equal(rule_at(f, &table, CODE + 0x120).cfa, UNWIND_CFA_NONE);
	assert_int_equal(rule_at(f, &table, CODE + 0x30f).cfa_offset, 16);
	assert_int_equal(rule_at(f, &table, CODE + 0x31e).cfa_offset, 16); /* padding */
	assert_int_equal(rule_at(f, &table, CODE + 0x31f).cfa_offset, 16 + 8 * 10);
	assert_int_equal(rule_at(f, &table, CODE + 0x330).cfa, UNWIND_CFA_NONE);
	assert_int_equal(rule_at(f, &table, CODE + 0x340).cfa_offset, 16 + 8 * 11);
	assert_int_equal(rule_at(f, &table, CODE + 0x350).cfa, UNWIND_CFA_NONE);
	assert_int_equal(rule_at(f, &table, UINT64_MAX).cfa, UNWIND_CFA_NONE);
	drop(f, &table);
}

/* Unwind information that is there but cannot be read is counted. */
static void test_unreadable(void **state)
{
	static const struct function function = {CODE, 0x10};
	struct fixture *f = *state;
	struct unwind_table table;
	struct framed p;

	framed_program(&p, 0x10000, &function, 1);
	p.sections[1].sh_offset = sizeof(p);
	assert_int_equal(build(f, &p, sizeof(p), &table), 0);
	assert_int_equal(table.fdes, 0);
	assert_int_equal(table.refused, 1);

	framed_program(&p, 0x10000, &function, 1);
	p.sections[1].sh_flags |= SHF_COMPRESSED;
	assert_int_equal(build(f, &p, sizeof(p), &table), 0);
	assert_int_equal(table.refused, 1);

	framed_program(&p, 0x10000, &function, 1);
	p.header.e_shoff = 0;
	p.segment.p_type = PT_GNU_EH_FRAME;
	assert_int_equal(build(f, &p, sizeof(p), &table), 0);
	assert_int_equal(table.refused, 1);

	/* of a separate debug file: there is none, and nothing is lost */
	framed_program(&p, 0x10000, &function, 1);
	p.sections[1].sh_type = SHT_NOBITS;
	assert_int_equal(build(f, &p, sizeof(p), &table), 0);
	assert_int_equal(table.refused, 0);
	assert_int_equal(table.directory, 0);
}

/* Pages that one function fills, pages without any, and a last one that ends with its page. */
/*
 * Many sections of that name that cannot be unpacked: none of them is kept, and the good one is
 * found.
 */
static void test_many_damaged(void **state)
{
	const struct function function = {CODE + 0x100, 0x40};
	struct {
		struct framed p;
		Elf64_Shdr sections[32];
		Elf64_Chdr packed;
		uint8_t nonsense[4096];
	} file = {.packed = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = 1 << 20}};
	const size_t count = sizeof(file.sections) / sizeof(*file.sections);
	int fd = memfd_create("image", MFD_CLOEXEC);
	struct elf_image image;
	struct fail why;

	(void)state;
	framed_program(&file.p, 0x10000, &function, 1);
	for (size_t i = 1; i < count - 2; i++)
		file.sections[i] = (Elf64_Shdr){
			.sh_name = 1,
			.sh_type = SHT_PROGBITS,
			.sh_flags = SHF_COMPRESSED,
			.sh_offset = (uint64_t)((uint8_t *)&file.packed - (uint8_t *)&file),
			.sh_size = sizeof(file.packed) + sizeof(file.nonsense),
		};
	memcpy(file.sections + count - 2, file.p.sections + 1, 2 * sizeof(*file.sections));
	file.p.header.e_shoff = (uint64_t)((uint8_t *)file.sections - (uint8_t *)&file);
	file.p.header.e_shnum = count;
	file.p.header.e_shstrndx = count - 1;
	assert_int_equal(write(fd, &file, sizeof(file)), sizeof(file));
	assert_int_equal(elf_image_open_file(&image, fd, &why), 0);
	assert_int_equal(image.unreadable, count - 3);
	assert_non_null(image.eh_frame.at);
	assert_int_equal(image.eh_frame.size, file.p.sections[1].sh_size);
	elf_image_close(&image);
	close(fd);
}

static void test_pages(void **state)
{
	static const struct function functions[] = {
		{CODE + 0x8000, 0x50000},
		{0x700000, 0x10000},
	};
	struct fixture *f = *state;
	struct unwind_table table;
	struct framed p;
	uint32_t i;
	const struct unwind_page *pages;

	framed_program(&p, 0x1000000, functions, 2);
	assert_int_equal(build(f, &p, sizeof(p), &table), 0);
	assert_int_equal(table.first_page, 0x40);
	/* the code behind them is more than is read unasked: up to its end rows say so */
	assert_int_equal(table.pages, 0x101);
	pages = unwind_pool_at(f->m.pool, table.directory);
	for (i = 0; i < 0x31; i++) {
		bool code = i <= 5 || i == 0x30;

		assert_true(pages[i].rows || !code);
		if (i <= 4)
			assert_int_equal(pages[i].count, i == 0 ? 2 : 1);
		if (pages[i].rows)
			assert_int_equal(((const struct unwind_row *)unwind_pool_at(f->m.pool,
										    pages[i].rows))
						 ->pc,
					 0);
	}
	assert_int_equal(rule_at(f, &table, CODE + 0x7fff).cfa, UNWIND_CFA_NONE);
	assert_int_equal(rule_at(f, &table, CODE + 0x8000).cfa_offset, 16);
	assert_int_equal(rule_at(f, &table, CODE + 0x57fff).cfa_offset, 16);
	assert_int_equal(rule_at(f, &table, CODE + 0x58000).cfa, UNWIND_CFA_NONE);
	assert_int_equal(rule_at(f, &table, 0x6fffff).cfa, UNWIND_CFA_NONE);
	assert_int_equal(rule_at(f, &table, 0x700000).cfa_offset, 24);
	assert_int_equal(rule_at(f, &table, 0x70ffff).cfa_offset, 24);
	assert_int_equal(rule_at(f, &table, 0x710000).cfa, UNWIND_CFA_LATER);
	drop(f, &table);
}

/* A directory of more than one chunk is refused, not the whole image. */
static void test_far_apart(void **state)
{
	static const struct function functions[] = {
		{CODE, 0x1000},
		{0x300000000, 0x1000},
		{CODE + 0x100000000, 0x1000},
	};
	struct fixture *f = *state;
	struct unwind_table table;
	struct framed p;

	framed_program(&p, 0x400000000, functions, 3);
	assert_int_equal(build(f, &p, sizeof(p), &table), 0);
	assert_int_equal(table.fdes, 2);
	assert_int_equal(table.refused, 1);
	assert_int_equal(table.pages, 0x10001);
	assert_int_equal(rule_at(f, &table, CODE + 0x100000000).cfa_offset, 32);
	drop(f, &table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_sections),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_other_kinds),
		cmocka_unit_test(test_entry),
		cmocka_unit_test(test_entry_of_much_code),
		cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_many_damaged),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_far_apart),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
