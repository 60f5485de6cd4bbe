// SPDX-License-Identifier: Apache-2.0
/*
 * Go's own table of functions against what the same program says elsewhere: its symbols, its call
 * frame information and its lines, by libdw. More programs can be given as arguments.
 */
#include "../prelude.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unwind/go_rules.h"

struct subject {
	int fd;
	struct elf_image image;
	struct go_table table;
	Dwarf *dwarf;
};

static const char *program;

static bool open_subject(struct subject *s)
{
	struct fail why;

	s->fd = program ? open(program, O_RDONLY | O_CLOEXEC) : -1;
	if (s->fd < 0)
		return false;
	assert_int_equal(elf_image_open_bare(&s->image, s->fd, NULL, 0, &why), 0);
	assert_int_equal(go_table_open(&s->table, &s->image), 0);
	s->dwarf = dwarf_begin(s->fd, DWARF_C_READ);
	assert_non_null(s->dwarf);
	return true;
}

static void close_subject(struct subject *s)
{
	dwarf_end(s->dwarf);
	elf_image_close(&s->image);
	close(s->fd);
}

/* Up to what only one of the two tells: a calling convention, the types of a generic function. */
static bool is_same_name(const char *symbol, const char *name)
{
	const char *abi = strstr(symbol, ".abi");

	for (; *symbol && *symbol != '[' && symbol != abi; symbol++, name++) {
		if (*symbol == '.' && !strncmp(name, "·", 2)) /* the linker writes it as a dot */
			name++;
		else if (*symbol != *name)
			return false;
	}
	return !*name || *name == '[' || *name == '.';
}

static void test_names(void **state)
{
	struct subject s;
	Elf_Scn *section = NULL;
	size_t same = 0;
	Elf *elf;

	(void)state;
	if (!open_subject(&s))
		skip();
	elf = dwarf_getelf(s.dwarf);
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB)
			continue;
		data = elf_getdata(section, NULL);
		for (int i = 0; i < (int)(header.sh_size / header.sh_entsize); i++) {
			struct go_function f;
			GElf_Sym symbol;
			const char *name;

			if (!gelf_getsym(data, i, &symbol) ||
			    GELF_ST_TYPE(symbol.st_info) != STT_FUNC || !symbol.st_size)
				continue;
			name = elf_strptr(elf, header.sh_link, symbol.st_name);
			if (!go_table_function(&s.table, go_table_find(&s.table, symbol.st_value),
					       &f) ||
			    !f.pcsp)
				continue;
			if (f.start != symbol.st_value ||
			    !is_same_name(name, go_table_name(&s.table, f.name)))
				fail_msg("%s is %s", name, go_table_name(&s.table, f.name));
			same++;
		}
	}
	assert_true(same > 1000);
	close_subject(&s);
}

static void check_row(Dwarf_CFI *cfi, const char *name, uint64_t at, const struct unwind_rule *rule)
{
	Dwarf_Frame *frame;
	Dwarf_Op *ops;
	size_t count;

	if (dwarf_cfi_addrframe(cfi, at, &frame))
		return;
	assert_int_equal(dwarf_frame_cfa(frame, &ops, &count), 0);
	/* one takes its return address off the stack, and there is no rule for that */
	if (rule->cfa == UNWIND_CFA_UNSUPPORTED && !strcmp(name, "syscall.rawVforkSyscall")) {
		free(frame);
		return;
	}
	if (rule->cfa != UNWIND_CFA_SP || count != 1 ||
	    (ops[0].atom == DW_OP_breg7 ? ops[0].number : ops[0].number2) !=
		    (uint64_t)(int64_t)rule->cfa_offset)
		fail_msg("%s: at 0x%" PRIx64 " rsp + %d", name, at, rule->cfa_offset);
	free(frame);
}

static void test_frames(void **state)
{
	static struct go_code code;
	struct cfi_rows rows = {0};
	size_t checked = 0, saved = 0;
	struct subject s;
	Dwarf_CFI *cfi;

	(void)state;
	if (!open_subject(&s))
		skip();
	cfi = dwarf_getcfi(s.dwarf);
	assert_non_null(cfi);
	for (uint64_t i = 0; i < s.table.count; i++) {
		struct go_function f;

		assert_true(go_table_function(&s.table, i, &f));
		if (!f.pcsp || f.flags & (GO_TOP_FRAME | GO_SP_WRITE) ||
		    go_is_signal_return(&s.table, &f))
			continue;
		assert_int_equal(go_rules(&s.table, &f, &code, &rows), 0);
		for (size_t n = 0; n < rows.count; n++, checked++) {
			check_row(cfi, go_table_name(&s.table, f.name), f.start + rows.at[n].offset,
				  &rows.at[n].rule);
			saved += rows.at[n].rule.fp == UNWIND_FP_CFA;
		}
	}
	assert_true(checked > 5000 && saved > 2000);
	free(rows.at);
	close_subject(&s);
}

static void check_line(struct subject *s, const struct go_function *f, uint64_t at)
{
	struct go_place places[8];
	size_t count = go_table_places(&s->table, f, at, places, 8);
	Dwarf_Die unit;
	Dwarf_Line *line;
	int number = 0;

	assert_true(count > 0);
	if (!dwarf_addrdie(s->dwarf, at, &unit))
		return;
	line = dwarf_getsrc_die(&unit, at);
	if (!line || dwarf_lineno(line, &number))
		return;
	assert_int_equal(places[0].line, number);
	assert_string_equal(places[0].file, dwarf_linesrc(line, NULL, NULL));
}

static void test_lines(void **state)
{
	size_t functions = 0;
	struct subject s;

	(void)state;
	if (!open_subject(&s))
		skip();
	for (uint64_t i = 0; i < s.table.count; i++) {
		struct go_function f;

		assert_true(go_table_function(&s.table, i, &f));
		if (strncmp(go_table_name(&s.table, f.name), "main.", 5) || !f.pcsp)
			continue;
		functions++;
		for (uint64_t at = f.start; at < f.end; at++)
			check_line(&s, &f, at);
	}
	assert_true(functions > 5);
	close_subject(&s);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_lines),
	};
	int failed = 0;

	program = getenv("GO_PROGRAM");
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	for (int i = 1; i < argc; i++) {
		program = argv[i];
		failed += cmocka_run_group_tests(tests, NULL, NULL);
	}
	return failed;
}
