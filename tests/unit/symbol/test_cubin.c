// SPDX-License-Identifier: Apache-2.0
/* Code for GPUs: files made of cubins/axpy.ptx by two toolkits, and what of them is damaged. */
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/cubin/lines.h"

struct held {
	char *memory;
	size_t size;
	struct cubin cubin;
	struct cubin_lines lines;
};

static const char *folder;

static struct held load(const char *name)
{
	struct held held = {0};
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "rb");
	assert_non_null(file);
	held.memory = malloc(65536);
	held.size = fread(held.memory, 1, 65536, file);
	fclose(file);
	assert_int_equal(cubin_open(&held.cubin, held.memory, held.size), 0);
	assert_int_equal(cubin_lines_read(&held.lines, &held.cubin, CUBIN_LINES), 0);
	return held;
}

static void unload(struct held *held)
{
	cubin_lines_free(&held->lines);
	cubin_close(&held->cubin);
	free(held->memory);
}

/* "MUFU _Z4deepf help.cuh:8 < _Z4helpf help.cuh:5 < axpy kernels/axpy.cu:12" */
static const char *describe(const struct held *held, const char *kernel, uint64_t offset)
{
	static char to[512];
	struct cubin_place places[CUBIN_PLACES_MAX];
	uint64_t address = cubin_address(&held->cubin, kernel, offset);
	const struct cubin_function *function = cubin_function_of(&held->cubin, address);
	size_t count = cubin_lines_find(&held->lines, &held->cubin, address, places);
	const char *mnemonic = cubin_mnemonic(&held->cubin, address), *name;
	char path[256];
	int length;

	assert_non_null(function);
	name = cubin_source_name(&held->cubin, function, NULL);
	length = snprintf(to, sizeof(to), "%s", mnemonic ? mnemonic : "-");
	for (size_t i = 0; i < count; i++)
		length += snprintf(to + length, sizeof(to) - (size_t)length, "%s %s %s:%u",
				   i ? " <" : "", places[i].function ? places[i].function : name,
				   cubin_file_path(places[i].file, path, sizeof(path)),
				   places[i].line);
	if (!count)
		snprintf(to + length, sizeof(to) - (size_t)length, " %s", name);
	return to;
}

static void two_toolkits(void **state)
{
	struct held older = load("axpy-12.cubin"), newer = load("axpy-13.cubin");

	(void)state;
	assert_int_equal(older.cubin.architecture, 80);
	assert_int_equal(newer.cubin.architecture, 90);
	assert_string_equal(describe(&older, "axpy", 0x50), "LDG axpy kernels/axpy.cu:12");
	assert_string_equal(describe(&older, "axpy", 0x70),
			    "FFMA _Z4helpf help.cuh:5 < axpy kernels/axpy.cu:12");
	assert_string_equal(
		describe(&older, "axpy", 0x90),
		"MUFU _Z4deepf help.cuh:8 < _Z4helpf help.cuh:5 < axpy kernels/axpy.cu:12");
	assert_string_equal(
		describe(&newer, "axpy", 0xa0),
		"MUFU _Z4deepf help.cuh:8 < _Z4helpf help.cuh:5 < axpy kernels/axpy.cu:12");
	/*
	 * a device function in the kernel's section, and another kernel's lines at the same offsets
	 */
	assert_string_equal(describe(&older, "axpy", 0xd0), "FMUL _Z4slowf help.cuh:31");
	assert_string_equal(describe(&older, "negate", 0x40), "LDG negate kernels/axpy.cu:21");
	unload(&older);
	unload(&newer);
}

static void lines_of_ptx(void **state)
{
	struct held held = load("axpy-12.cubin");
	struct cubin_place places[CUBIN_PLACES_MAX];
	uint64_t address = cubin_address(&held.cubin, "negate", 0x40);

	(void)state;
	cubin_lines_free(&held.lines);
	assert_int_equal(cubin_lines_read(&held.lines, &held.cubin, CUBIN_PTX_LINES), 0);
	assert_int_equal(cubin_lines_find(&held.lines, &held.cubin, address, places), 1);
	assert_in_range(places[0].line, 50, 60);
	unload(&held);
}

static void without_lines(void **state)
{
	struct held held = load("axpy-plain.cubin"), with = load("axpy-12.cubin"),
		    newer = load("axpy-13.cubin");
	char advice[512];

	(void)state;
	assert_string_equal(describe(&held, "axpy", 0x50), "LDG axpy");
	/* it is the same code: what was filmed without lines can get them later */
	assert_memory_equal(held.cubin.build_id, with.cubin.build_id, CUBIN_BUILD_ID);
	assert_memory_not_equal(held.cubin.build_id, newer.cubin.build_id, CUBIN_BUILD_ID);
	cubin_how_to_get_lines(&held.cubin, advice, sizeof(advice));
	assert_non_null(strstr(advice, "-lineinfo"));
	cubin_how_to_get_lines(&newer.cubin, advice, sizeof(advice));
	assert_non_null(strstr(advice, "release 13.0"));
	assert_non_null(strstr(advice, "-arch sm_90"));
	unload(&held);
	unload(&with);
	unload(&newer);
}

static void nowhere(void **state)
{
	struct held held = load("axpy-12.cubin");
	const struct cubin_text *last = vec_last(&held.cubin.texts);

	(void)state;
	assert_int_equal(cubin_address(&held.cubin, "axpy", 1 << 20), 0);
	assert_int_equal(cubin_address(&held.cubin, "axp", 0), 0);
	assert_null(cubin_text_of(&held.cubin, 0));
	assert_null(cubin_function_of(&held.cubin, last->address + last->size));
	/* within an instruction */
	assert_null(cubin_mnemonic(&held.cubin, last->address + 8));
	unload(&held);
}

/*
 * Each byte of the table of lines, and of the file's beginning, is another one; and it is cut at
 * each place.
 */
static void damaged(void **state)
{
	struct held held = load("axpy-12.cubin");
	const struct elf_section *lines = elf_file_section(&held.cubin.file, CUBIN_LINES);
	uint64_t from = lines->offset, size = lines->size;

	(void)state;
	for (uint64_t i = 0; i < size + 64; i++) {
		uint64_t at = i < size ? from + i : i - size;

		for (unsigned int bit = 0; bit < 8; bit++) {
			struct cubin cubin;
			struct cubin_lines read;

			held.memory[at] = (char)(held.memory[at] ^ 1 << bit);
			if (!cubin_open(&cubin, held.memory, held.size)) {
				cubin_lines_read(&read, &cubin, CUBIN_LINES);
				cubin_lines_free(&read);
				cubin_close(&cubin);
			}
			held.memory[at] = (char)(held.memory[at] ^ 1 << bit);
		}
	}
	for (size_t i = 0; i < held.size; i += 8) {
		char *copy = malloc(i ? i : 1); /* so that a read beyond it is seen */
		struct cubin cubin;

		memcpy(copy, held.memory, i);
		if (!cubin_open(&cubin, copy, i))
			cubin_close(&cubin);
		free(copy);
	}
	/* a file of this machine has no code for GPUs */
	held.memory[18] = 62;
	held.memory[19] = 0;
	cubin_close(&held.cubin);
	assert_int_equal(cubin_open(&held.cubin, held.memory, held.size), -ENOEXEC);
	held.cubin = (struct cubin){0};
	unload(&held);
}

/* Sections of code that lie over each other would make a small file endless. */
static void over_each_other(void **state)
{
	struct held held = load("axpy-12.cubin");
	Elf64_Ehdr header;
	struct cubin cubin;

	(void)state;
	memcpy(&header, held.memory, sizeof(header));
	assert_true(held.cubin.texts.count >= 2);
	vec_foreach (&held.cubin.texts, text) {
		char *at = held.memory + header.e_shoff + text->section * sizeof(Elf64_Shdr);
		Elf64_Shdr section;

		memcpy(&section, at, sizeof(section));
		section.sh_offset = 0;
		section.sh_size = held.size;
		memcpy(at, &section, sizeof(section));
	}
	assert_int_equal(cubin_open(&cubin, held.memory, held.size), -E2BIG);
	unload(&held);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_toolkits),	 cmocka_unit_test(lines_of_ptx),
		cmocka_unit_test(without_lines), cmocka_unit_test(nowhere),
		cmocka_unit_test(damaged),	 cmocka_unit_test(over_each_other),
	};

	folder = argc > 1 ? argv[1] : ".";
	return cmocka_run_group_tests_name("cubin", tests, NULL, NULL);
}
