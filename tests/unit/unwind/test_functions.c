// SPDX-License-Identifier: Apache-2.0
/*
 * Where functions begin and end: against the symbols of this very executable, and in made images.
 */
#include "../prelude.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "framed.h"
#include "unwind/functions.h"

#define ADDRESSES_MAX 65536

struct answers {
	const uint64_t *addresses;
	size_t count;
	struct function functions[ADDRESSES_MAX]; /* size 0: not found */
	size_t found;
};

static void take(void *context, size_t index, uint64_t start, uint64_t size)
{
	struct answers *a = context;

	assert_true(index < a->count);
	assert_true(a->addresses[index] >= start);
	assert_true(a->addresses[index] - start < size);
	assert_true(start);
	assert_int_equal(a->functions[index].size, 0);
	a->functions[index] = (struct function){start, size};
	a->found++;
}

static struct answers *answers_to(const uint64_t *addresses, size_t count)
{
	struct answers *a = calloc(1, sizeof(*a));

	assert_non_null(a);
	assert_true(count <= ADDRESSES_MAX);
	a->addresses = addresses;
	a->count = count;
	return a;
}

static struct answers *ask_memory(const void *image, size_t size, const uint64_t *addresses,
				  size_t count, int wanted)
{
	struct answers *a = answers_to(addresses, count);
	struct fail why = {0};

	assert_int_equal(unwind_functions_of_memory(image, size, addresses, count, take, a, &why),
			 wanted);
	assert_int_equal(why.err, wanted);
	return a;
}

static struct answers *ask_file(int fd, const uint64_t *addresses, size_t count)
{
	struct answers *a = answers_to(addresses, count);
	struct fail why = {0};

	assert_int_equal(unwind_functions_of_file(fd, addresses, count, take, a, &why), 0);
	return a;
}

/* The symbols of functions in the file; returns how many. */
static size_t read_symbols(int fd, struct function *functions, size_t room)
{
	Elf *elf;
	Elf_Scn *section = NULL;
	size_t count = 0, i;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_non_null(elf);
	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data;
		GElf_Shdr header;
		GElf_Sym symbol;

		assert_non_null(gelf_getshdr(section, &header));
		if (header.sh_type != SHT_SYMTAB)
			continue;
		data = elf_getdata(section, NULL);
		for (i = 0; count < room && gelf_getsym(data, (int)i, &symbol); i++) {
			if (GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_size)
				functions[count++] =
					(struct function){symbol.st_value, symbol.st_size};
		}
	}
	elf_end(elf);
	return count;
}

/* First and last byte of each function, the byte behind it, and all those once more in disorder. */
static void test_own_symbols(void **state)
{
	struct function symbols[4096];
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t count = read_symbols(fd, symbols, 4096), described = 0, i;
	uint64_t *addresses = malloc(4 * count * sizeof(*addresses));
	struct answers *a;

	(void)state;
	assert_true(count > 20);
	assert_non_null(addresses);
	for (i = 0; i < count; i++) {
		addresses[4 * i] = symbols[i].start;
		addresses[4 * i + 1] = symbols[i].start + symbols[i].size - 1;
		addresses[4 * i + 2] = symbols[i].start + symbols[i].size;
		addresses[4 * i + 3] = symbols[count - 1 - i].start;
	}
	a = ask_file(fd, addresses, 4 * count);
	for (i = 0; i < count; i++) {
		const struct function *f = &a->functions[4 * i];

		assert_int_equal(a->functions[4 * (count - 1 - i) + 3].start, f->start);
		/* start-up code in assembler may not be described, or in parts */
		if (f->start != symbols[i].start || f->size != symbols[i].size)
			continue;
		described++;
		assert_int_equal(f[1].start, f->start);
		assert_int_equal(f[1].size, f->size);
		assert_int_not_equal(f[2].start, f->start);
	}
	assert_true(described >= count - 6);
	free(a);
	free(addresses);
	close(fd);
}

static void test_vdso(void **state)
{
	const uint8_t *vdso = (const uint8_t *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	uint64_t addresses[4096];
	struct answers *a;
	size_t i;

	(void)state;
	if (!vdso)
		skip();
	for (i = 0; i < 4096; i++)
		addresses[i] = i;
	a = ask_memory(vdso, 4096, addresses, 4096, 0);
	assert_true(a->found > 64);
	free(a);
}

static void test_made(void **state)
{
	static const struct function functions[] = {
		{CODE + 0x300, 0x10}, /* not in order */
		{CODE + 0x100, 0x20},
		{CODE + 0x110, 0x20},  /* overlaps: the one that is described first wins */
		{CODE + 0x0f0, 0x80},  /* around both */
		{CODE + 0x200, 0},     /* no code */
		{0, UINT64_MAX},       /* dropped by the linker */
		{CODE - 8, 0x10},      /* outside */
		{CODE + 0xfff8, 0x10}, /* half outside */
		{CODE + 0x400, UINT64_MAX},
		{UINT64_MAX - 4, 4},
	};
	static const struct {
		uint64_t address, start;
	} cases[] = {
		{CODE + 0x30f, CODE + 0x300},
		{CODE + 0x310, 0},
		{CODE + 0x2ff, 0},
		{CODE + 0x300, CODE + 0x300},
		{CODE + 0x120, CODE + 0x110},
		{CODE + 0x11f, CODE + 0x100},
		{CODE + 0x110, CODE + 0x100},
		{CODE + 0x110, CODE + 0x100}, /* the same again */
		{CODE + 0x0f0, CODE + 0x0f0},
		{CODE + 0x12f, CODE + 0x110},
		{CODE + 0x130, CODE + 0x0f0},
		{CODE + 0x170, 0},
		{CODE + 0x200, 0},
		{CODE, 0},
		{CODE + 0xffff, 0},
		{CODE + 0x400, 0},
		{0, 0},
		{UINT64_MAX - 4, 0},
		{UINT64_MAX, 0},
	};
	enum {
		COUNT = sizeof(cases) / sizeof(*cases)
	};
	uint64_t addresses[COUNT];
	struct answers *a;
	struct framed p;
	size_t i;

	(void)state;
	framed_program(&p, 0x10000, functions, sizeof(functions) / sizeof(*functions));
	for (i = 0; i < COUNT; i++)
		addresses[i] = cases[i].address;
	a = ask_memory(&p, sizeof(p), addresses, COUNT, 0);
	for (i = 0; i < COUNT; i++)
		assert_int_equal(a->functions[i].start, cases[i].start);
	free(a);
	free(ask_memory(&p, sizeof(p), addresses, 0, 0));
}

/* Many descriptions of the same many addresses: what was found is not looked at again. */
static void test_overlapping(void **state)
{
	struct function functions[25];
	uint64_t *addresses = malloc(ADDRESSES_MAX * sizeof(*addresses));
	struct answers *a;
	struct framed p;
	size_t i;

	(void)state;
	assert_non_null(addresses);
	for (i = 0; i < 25; i++)
		functions[i] = (struct function){CODE + 0x1000 * (24 - i), 0x20000};
	for (i = 0; i < ADDRESSES_MAX; i++)
		addresses[i] = CODE + (hash_u64(i) & 0x1ffff);
	framed_program(&p, 0x100000, functions, 25);
	a = ask_memory(&p, sizeof(p), addresses, ADDRESSES_MAX, 0);
	assert_int_equal(a->found, ADDRESSES_MAX);
	for (i = 0; i < ADDRESSES_MAX; i++) {
		uint64_t start = addresses[i] & ~(uint64_t)0xfff;

		assert_int_equal(a->functions[i].start,
				 start < CODE + 0x18000 ? start : CODE + 0x18000);
	}
	free(a);
	free(addresses);
}

/* What is cut or damaged is refused, or tells what it can; a sanitizer sees a byte too many. */
static void test_damaged(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat s;
	uint8_t *file;
	uint64_t addresses[256];
	struct fail why;
	size_t size, i, k;

	(void)state;
	assert_int_equal(fstat(fd, &s), 0);
	size = (size_t)s.st_size;
	file = malloc(size);
	assert_non_null(file);
	assert_int_equal(read(fd, file, size), size);
	for (i = 0; i < 256; i++)
		addresses[i] = hash_u64(i) % 0x20000;
	for (i = 1; i < 500; i++) {
		size_t cut = i % 2 ? size : hash_u64(i) % size;
		uint8_t *copy = malloc(cut ? cut : 1);
		struct answers *a = answers_to(addresses, 256);

		assert_non_null(copy);
		memcpy(copy, file, cut);
		for (k = 0; i % 2 && k < 1 + i % 64; k++)
			copy[hash_u64(i << 8 | k) % (i % 4 == 1 ? cut : 1024)] = (uint8_t)i;
		unwind_functions_of_memory(copy, cut, addresses, 256, take, a, &why);
		free(a);
		free(copy);
	}
	free(ask_memory(file, 0, addresses, 256, -ENOEXEC));
	free(ask_memory("no image at all", 15, addresses, 256, -ENOEXEC));
	assert_int_equal(unwind_functions_of_file(-1, addresses, 256, take, NULL, &why), -EBADF);
	free(file);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_symbols), cmocka_unit_test(test_vdso),
		cmocka_unit_test(test_made),	    cmocka_unit_test(test_overlapping),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
