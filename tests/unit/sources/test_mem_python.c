// SPDX-License-Identifier: Apache-2.0
/*
 * Where CPython's words are, in images that are made here: with the code of functions as compilers
 * make them, and with code that means nothing or too much.
 */
#include "../prelude.h"

#include <string.h>

#include "sources/memory/python.h"

#define BASE	 0x1000
#define FUNCTION 64 /* bytes of each */
#define RUNTIME	 0x200000

/* An image of one segment: the header, and the functions at BASE. */
static struct {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	uint8_t room[BASE - sizeof(Elf64_Ehdr) - sizeof(Elf64_Phdr)];
	uint8_t code[MEM_PYTHON_DOMAINS * MEM_PYTHON_FUNCTIONS * FUNCTION];
} image;

static struct mem_python python;
static struct elf_file file;

static int setup(void **state)
{
	static const char *const names[] = {
		"PyObject_Malloc", "PyObject_Calloc", "PyObject_Realloc", "PyObject_Free",
		"PyMem_Malloc",	   "PyMem_Calloc",    "PyMem_Realloc",	  "PyMem_Free",
		"PyMem_RawMalloc", "PyMem_RawCalloc", "PyMem_RawRealloc", "PyMem_RawFree"};
	Elf64_Sym symbol = {.st_size = FUNCTION};

	(void)state;
	memset(&image, 0, sizeof(image));
	memset(image.code, 0x90, sizeof(image.code));
	memcpy(image.header.e_ident, ELFMAG, SELFMAG);
	image.header.e_ident[EI_CLASS] = ELFCLASS64;
	image.header.e_ident[EI_DATA] = ELFDATA2LSB;
	image.header.e_ident[EI_VERSION] = EV_CURRENT;
	image.header.e_type = ET_DYN;
	image.header.e_machine = EM_X86_64;
	image.header.e_version = EV_CURRENT;
	image.header.e_phoff = sizeof(image.header);
	image.header.e_ehsize = sizeof(image.header);
	image.header.e_phentsize = sizeof(image.segment);
	image.header.e_phnum = 1;
	image.segment.p_type = PT_LOAD;
	image.segment.p_flags = PF_R | PF_X;
	image.segment.p_filesz = image.segment.p_memsz = sizeof(image);
	memset(&python, 0, sizeof(python));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		symbol.st_value = BASE + i * FUNCTION;
		mem_python_symbol(&python, names[i], &symbol);
	}
	symbol.st_value = RUNTIME;
	mem_python_symbol(&python, "_PyRuntime", &symbol);
	assert_int_equal(elf_file_open_memory(&file, &image, sizeof(image)), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	elf_file_close(&file);
	return 0;
}

static uint8_t *code_of(int domain, int function)
{
	return image.code + (domain * MEM_PYTHON_FUNCTIONS + function) * FUNCTION;
}

static void put(uint8_t *at, const uint8_t *opcode, size_t size, int32_t number, size_t bytes)
{
	memcpy(at, opcode, size);
	memcpy(at + size, &number, bytes);
}

/* mov context(%rip),%rdi; jmp *word(%rip) */
static void relative(int domain, int function, uint64_t words)
{
	static const uint8_t load[] = {0x48, 0x8b, 0x3d}, jump[] = {0xff, 0x25};
	uint8_t *code = code_of(domain, function);
	uint64_t address = BASE + (uint64_t)(code - image.code);

	put(code, load, 3, (int32_t)(words - 8 - (address + 7)), 4);
	put(code + 7, jump, 2, (int32_t)(words + 8 * (uint64_t)function - (address + 13)), 4);
}

/* mov at(%rax),%rdi; jmp *at(%rax): with numbers of one byte where they fit */
static void of_runtime(int domain, int function, int32_t at)
{
	static const uint8_t load1[] = {0x48, 0x8b, 0x78}, load4[] = {0x48, 0x8b, 0xb8};
	static const uint8_t jump1[] = {0xff, 0x60}, jump4[] = {0xff, 0xa0};
	uint8_t *code = code_of(domain, function) + 7;
	bool is_byte = at - 8 < 128;

	put(code, is_byte ? load1 : load4, 3, at - 8, is_byte ? 1 : 4);
	code += is_byte ? 4 : 7;
	is_byte = at + 8 * function < 128;
	put(code, is_byte ? jump1 : jump4, 2, at + 8 * function, is_byte ? 1 : 4);
}

static void test_words_from_the_instruction_on(void **state)
{
	(void)state;
	for (int d = 0; d < MEM_PYTHON_DOMAINS; d++)
		for (int i = 0; i < MEM_PYTHON_FUNCTIONS; i++)
			relative(d, i, 0x45c268 + 64u * (unsigned int)d);
	for (int d = 0; d < MEM_PYTHON_DOMAINS; d++)
		assert_int_equal(mem_python_words(&python, &file, d), 0x45c268 + 64 * d);
}

static void test_words_of_the_runtime(void **state)
{
	static const int32_t at[] = {0xb8, 0x318, 0x68};

	(void)state;
	for (int d = 0; d < MEM_PYTHON_DOMAINS; d++)
		for (int i = 0; i < MEM_PYTHON_FUNCTIONS; i++)
			of_runtime(d, i, at[d]);
	for (int d = 0; d < MEM_PYTHON_DOMAINS; d++)
		assert_int_equal(mem_python_words(&python, &file, d), RUNTIME + at[d]);
}

static void test_one_that_does_not_fit(void **state)
{
	(void)state;
	for (int i = 0; i < MEM_PYTHON_FUNCTIONS; i++)
		relative(MEM_PYTHON_OBJ, i, 0x45c268);
	relative(MEM_PYTHON_OBJ, 3, 0x45c270);
	assert_int_equal(mem_python_words(&python, &file, MEM_PYTHON_OBJ), 0);
}

static void test_two_prove_nothing(void **state)
{
	(void)state;
	for (int i = 0; i < MEM_PYTHON_FUNCTIONS; i++) {
		relative(MEM_PYTHON_OBJ, i, 0x45c268);
		of_runtime(MEM_PYTHON_OBJ, i, 0x318);
		memmove(code_of(0, i) + 26, code_of(0, i) + 7, 13);
		relative(MEM_PYTHON_OBJ, i, 0x45c268);
	}
	assert_int_equal(mem_python_words(&python, &file, MEM_PYTHON_OBJ), 0);
}

/* Where the compiler has put what they call into them, they use the words of the raw ones, too. */
static void test_what_hands_on_to_the_raw_ones(void **state)
{
	(void)state;
	for (int i = 0; i < MEM_PYTHON_FUNCTIONS; i++) {
		relative(MEM_PYTHON_RAW, i, 0x45c268);
		of_runtime(MEM_PYTHON_OBJ, i, 0x318);
		memmove(code_of(MEM_PYTHON_OBJ, i) + 26, code_of(MEM_PYTHON_OBJ, i) + 7, 13);
		relative(MEM_PYTHON_OBJ, i, 0x45c268);
	}
	assert_int_equal(mem_python_words(&python, &file, MEM_PYTHON_RAW), 0x45c268);
	assert_int_equal(mem_python_words(&python, &file, MEM_PYTHON_OBJ), RUNTIME + 0x318);
}

static void test_an_interpreter_without_a_lock(void **state)
{
	const Elf64_Sym symbol = {.st_value = BASE};

	(void)state;
	for (int i = 0; i < MEM_PYTHON_FUNCTIONS; i++)
		relative(MEM_PYTHON_OBJ, i, 0x45c268);
	mem_python_symbol(&python, "_Py_MergeZeroLocalRefcount", &symbol);
	assert_int_equal(mem_python_words(&python, &file, MEM_PYTHON_OBJ), 0);
}

static void test_functions_that_are_not_there(void **state)
{
	(void)state;
	for (int i = 0; i < MEM_PYTHON_FUNCTIONS; i++)
		relative(MEM_PYTHON_OBJ, i, 0x45c268);
	python.functions[MEM_PYTHON_OBJ][2].address = 1ull << 40;
	assert_int_equal(mem_python_words(&python, &file, MEM_PYTHON_OBJ), 0);
	python.functions[MEM_PYTHON_OBJ][2].address = 0;
	assert_int_equal(mem_python_words(&python, &file, MEM_PYTHON_OBJ), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_words_from_the_instruction_on), TEST(test_words_of_the_runtime),
		TEST(test_one_that_does_not_fit),	  TEST(test_two_prove_nothing),
		TEST(test_what_hands_on_to_the_raw_ones), TEST(test_an_interpreter_without_a_lock),
		TEST(test_functions_that_are_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
