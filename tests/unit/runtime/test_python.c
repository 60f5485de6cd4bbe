// SPDX-License-Identifier: Apache-2.0
/*
 * Names of Python's frames: tables of lines of each kind, as compilers made them; code objects that
 * changed.
 */
#include "../prelude.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "python_made.h"

/*
 * The tables are those of this function; what dis says of the lines is beside them.
 *
 *	1	def f(a,
 *	2	      b):
 *	3	    x = [i
 *	4	         for i in a]
 *	5	    y = (a +
 *	6	         b)
 *	307	    for z in y:
 *	308	        try:
 *	309	            z()
 *	310	        except ValueError:
 *	311	            pass
 *	312	    return (x,
 *	313	            y)
 */
static const uint8_t table_9[] = {0x00, 0x02, 0x06, 0x01, 0x02, 0xff, 0x06, 0x02, 0x02, 0x01, 0x02,
				  0xff, 0x04, 0x7f, 0x00, 0x7f, 0x00, 0x30, 0x08, 0x01, 0x02, 0x01,
				  0x0a, 0x01, 0x0c, 0x01, 0x08, 0x01, 0x02, 0x01, 0x02, 0xff};
static const uint8_t table_10[] = {0x06, 0x02, 0x02, 0x01, 0x06, 0xff, 0x02, 0x02, 0x02,
				   0x01, 0x04, 0xff, 0x00, 0x7f, 0x00, 0x7f, 0x08, 0x30,
				   0x02, 0x01, 0x0a, 0x01, 0x0c, 0x01, 0x04, 0x01, 0x02,
				   0xff, 0x02, 0x02, 0x02, 0x01, 0x04, 0xff};
static const uint8_t table_13[] = {
	0x80, 0x00, 0xf1, 0x06, 0x00, 0x13, 0x14, 0xf3, 0x03, 0x01, 0x09, 0x15, 0xd9, 0x12, 0x13,
	0x88, 0x51, 0xf3, 0x03, 0x00, 0x0a, 0x0b, 0xd9, 0x12, 0x13, 0xf0, 0x03, 0x00, 0x05, 0x06,
	0xf0, 0x00, 0x01, 0x09, 0x15, 0xe0, 0x09, 0x0a, 0xd8, 0x09, 0x0a, 0xf1, 0x03, 0x01, 0x0a,
	0x0b, 0x80, 0x41, 0xf3, 0x5c, 0x09, 0x00, 0x0e, 0x0f, 0x88, 0x01, 0xf0, 0x02, 0x03, 0x09,
	0x11, 0xd9, 0x0c, 0x0d, 0x8e, 0x43, 0xf1, 0x05, 0x00, 0x0e, 0x0f, 0xf0, 0x0a, 0x00, 0x0d,
	0x0e, 0xd8, 0x0c, 0x0d, 0xf0, 0x03, 0x01, 0x0c, 0x0f, 0xf0, 0x00, 0x01, 0x05, 0x0f, 0xf9,
	0xf2, 0x6b, 0x09, 0x01, 0x09, 0x15, 0xf8, 0xf4, 0x66, 0x09, 0x00, 0x10, 0x1a, 0xf3, 0x00,
	0x01, 0x09, 0x11, 0xda, 0x0c, 0x10, 0xf0, 0x03, 0x01, 0x09, 0x11, 0xfa};

/* From this index on, up to the next row's. */
struct row {
	int32_t index;
	uint32_t line;
};

static const struct row rows_9[] = {
	{-1, 1},   {0, 3},    {6, 4},	 {8, 3},    {14, 5},   {16, 6},	  {18, 5},   {22, 307},
	{30, 308}, {32, 309}, {42, 310}, {54, 311}, {62, 312}, {64, 313}, {66, 312}, {70, 312}};
static const struct row rows_10[] = {{-1, 1},	{0, 3},	   {3, 4},    {4, 3},	 {7, 5},
				     {8, 6},	{9, 5},	   {11, 307}, {15, 308}, {16, 309},
				     {21, 310}, {27, 311}, {29, 310}, {30, 312}, {31, 313},
				     {32, 312}, {34, 0}};
static const struct row rows_13[] = {
	{-1, 1},   {0, 1},    {1, 4},	 {3, 3},    {7, 4},    {10, 3},	  {14, 4},
	{16, 3},   {18, 5},   {19, 6},	 {20, 5},   {23, 307}, {28, 308}, {29, 309},
	{38, 307}, {40, 312}, {41, 313}, {42, 312}, {44, 0},   {46, 3},	  {49, 0},
	{50, 310}, {59, 311}, {62, 310}, {63, 0},   {66, 0}};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void check_table(unsigned int minor, const uint8_t *table, size_t size,
			const struct row *rows, size_t count)
{
	size_t i;

	for (i = 0; i + 1 < count; i++) {
		int32_t index;

		for (index = rows[i].index; index < rows[i + 1].index; index++)
			assert_int_equal(python_line_of(minor, table, size, 1, index),
					 rows[i].line);
	}
}

static void lines_of_each_kind_of_table(void **state)
{
	(void)state;
	check_table(9, table_9, sizeof(table_9), rows_9, COUNT(rows_9));
	check_table(10, table_10, sizeof(table_10), rows_10, COUNT(rows_10));
	check_table(13, table_13, sizeof(table_13), rows_13, COUNT(rows_13));
}

static void tables_that_are_damaged(void **state)
{
	static const uint8_t endless[] = {0xe8, 0x7f, 0x7f, 0x7f, 0x7f,
					  0x7f, 0x7f, 0x7f, 0x7f, 0x7f};
	static const uint8_t far_back[] = {0xe8, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x3f};
	static const uint8_t headless[] = {0x01, 0x02};
	unsigned int minor;
	size_t size;

	(void)state;
	assert_int_equal(python_line_of(13, endless, sizeof(endless), 1, 0), 0);
	assert_int_equal(python_line_of(13, far_back, sizeof(far_back), 1, 0), 0);
	assert_int_equal(python_line_of(13, headless, sizeof(headless), 1, 0), 0);
	/* cut anywhere: an answer or none, but nothing else is read (the sanitizer looks) */
	for (minor = 8; minor < 15; minor++)
		for (size = 0; size < sizeof(table_13); size++) {
			uint8_t *cut = malloc(size + 1);

			assert_non_null(cut);
			memcpy(cut, table_13, size);
			assert_true(python_line_of(minor, cut, size, 1, 1000000) < 100000);
			free(cut);
		}
}

/* A process of one page. */
#define BASE 0x7f0000001000ull
#define CODE (BASE + 0x100)

struct page {
	uint8_t bytes[4096];
	bool changes; /* the first line is another one from its second read on */
	int reads;
};

static int read_page(void *context, void *to, size_t size, uint64_t address)
{
	struct page *page = context;

	if (address - BASE >= sizeof(page->bytes) || size > sizeof(page->bytes) - (address - BASE))
		return -EFAULT;
	memcpy(to, page->bytes + (address - BASE), size);
	if (address == CODE + 56 && page->changes)
		page->bytes[0x100 + 72]++;
	return 0;
}

static void put(struct page *page, uint64_t address, const void *bytes, size_t size)
{
	memcpy(page->bytes + (address - BASE), bytes, size);
}

static void put_u64(struct page *page, uint64_t address, uint64_t value)
{
	put(page, address, &value, sizeof(value));
}

/* Of any str here. */
#define NAME_HASH 0x123456789ull

/* PyASCIIObject of 3.11. kind: bytes of a character. */
static void put_string(struct page *page, uint64_t address, const void *characters, uint64_t length,
		       uint32_t kind, bool ascii)
{
	put_u64(page, address + 16, length);
	put_u64(page, address + 24, NAME_HASH);
	put_u64(page, address + 32, kind << 2 | 1u << 5 | (uint32_t)ascii << 6);
	put(page, address + (ascii ? 48 : 72), characters, length * kind);
}

/* A code object of 3.11. */
static void make_code(struct page *page, uint64_t words[2])
{
	static const uint16_t name[] = {'f', 0xfc, 0x20ac, 0xdcff, 0xd800};
	static const uint8_t lines[] = {0xe8, 0x14, 0xf8};
	__u64 read[PYTHON_WORDS];

	memset(page, 0, sizeof(*page));
	put_u64(page, CODE + 72, 7);
	put_u64(page, CODE + 112, BASE + 0x400);
	put_u64(page, CODE + 120, BASE + 0x500);
	put_u64(page, CODE + 128, BASE + 0x600);
	put_u64(page, CODE + 136, BASE + 0x700);
	put_string(page, BASE + 0x400, "/tmp/x.py", 9, 1, true);
	put_string(page, BASE + 0x500, "g", 1, 1, true);
	put_string(page, BASE + 0x600, name, COUNT(name), 2, false);
	put_u64(page, BASE + 0x700 + 16, sizeof(lines));
	put(page, BASE + 0x700 + 32, lines, sizeof(lines));
	memcpy(read, page->bytes + 0x100 + 56, sizeof(read));
	words[0] = UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_PYTHON, PYTHON_CHECKED, CODE);
	words[1] = python_sum(read, python_3_11.data.code_words, NAME_HASH);
}

static int name(struct page *page, const uint64_t words[2], struct runtime_names *names)
{
	struct runtime_at at = {.memory = {read_page, page}};

	memset(names, 0, sizeof(*names));
	return python_name_of(&at, (void *)&python_3_11, words, names);
}

static void a_function_is_named(void **state)
{
	static struct runtime_names names;
	struct page page;
	uint64_t words[2];

	(void)state;
	make_code(&page, words);
	assert_int_equal(name(&page, words, &names), 0);
	assert_int_equal(names.count, 1);
	assert_string_equal(names.at[0].function, "f\xc3\xbc\xe2\x82\xac\xff\xef\xbf\xbd");
	assert_string_equal(names.at[0].file, "/tmp/x.py");
	assert_string_equal(names.image, "/tmp/x.py");
	assert_int_equal(names.at[0].line, 17);
	/* before its first instruction, and at one without a line */
	words[1] |= 0xffffffffull << 32;
	assert_int_equal(name(&page, words, &names), 0);
	assert_int_equal(names.at[0].line, 7);
	words[1] = (uint32_t)words[1] | 1ull << 32;
	assert_int_equal(name(&page, words, &names), 0);
	assert_int_equal(names.at[0].line, 0);
}

static void what_is_not_what_was_seen_has_no_name(void **state)
{
	static struct runtime_names names;
	struct page page;
	uint64_t words[2];

	(void)state;
	make_code(&page, words);
	page.bytes[0x100 + 120]++;
	assert_int_equal(name(&page, words, &names), -ESTALE);
	/* while it is read */
	make_code(&page, words);
	page.changes = true;
	assert_int_equal(name(&page, words, &names), -ESTALE);
	/* the kernel side could not read it */
	make_code(&page, words);
	words[0] = UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_PYTHON, PYTHON_UNCHECKED, CODE);
	assert_int_equal(name(&page, words, &names), -EFAULT);
	words[0] = UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_PYTHON, PYTHON_CHECKED, BASE + 4096);
	assert_int_equal(name(&page, words, &names), -EFAULT);
}

/* What stands before an __init__(): in 3.13 a frame of its own. */
static void a_frame_of_the_interpreter(void **state)
{
	static struct runtime_names names;
	const uint64_t text = BASE + 0x500;
	struct page page;
	uint64_t words[2];
	__u64 read[PYTHON_WORDS];
	size_t wrong;

	(void)state;
	/* right; but for the file; but for the name; but for the line */
	for (wrong = 0; wrong < 4; wrong++) {
		make_code(&page, words);
		put_u64(&page, CODE + 72, wrong == 3);
		put_u64(&page, CODE + 112, wrong == 1 ? BASE + 0x400 : text);
		put_u64(&page, CODE + 120, wrong == 2 ? BASE + 0x400 : text);
		put_u64(&page, CODE + 128, text);
		memcpy(read, page.bytes + 0x100 + 56, sizeof(read));
		words[1] = python_sum(read, python_3_11.data.code_words, NAME_HASH);
		assert_int_equal(name(&page, words, &names), 0);
		assert_string_equal(names.at[0].function, "g");
		assert_int_equal(names.is_part, !wrong);
	}
}

/* What was made by exec(), say: no code has asked for the name's hash, so its characters count. */
static void a_name_without_a_hash(void **state)
{
	static const char text[] = "short_lived_0.<locals>";
	static struct runtime_names names;
	const struct python_data *data = &python_3_11.data;
	const uint64_t at = BASE + 0x600, hash_at = at + 24, text_at = at + 48;
	__u64 read[PYTHON_WORDS], name_words[PYTHON_NAME_WORDS];
	struct page page;
	uint64_t words[2];

	(void)state;
	make_code(&page, words);
	put_string(&page, at, text, strlen(text), 1, true);
	put_u64(&page, hash_at, PYTHON_NO_HASH);
	memcpy(read, page.bytes + 0x100 + 56, sizeof(read));
	memcpy(name_words, page.bytes + 0x600 + 16, sizeof(name_words));
	words[1] = python_sum_name(python_sum(read, data->code_words, PYTHON_NO_HASH), name_words,
				   python_text_from(data));
	assert_int_equal(name(&page, words, &names), 0);
	assert_string_equal(names.at[0].function, text);
	/* what lies behind it is not its own; and now code has asked */
	put_u64(&page, text_at + strlen(text) + 1, 0x1234567890);
	put_u64(&page, hash_at, 99);
	assert_int_equal(name(&page, words, &names), 0);
	/* another one, of other characters, and a longer one */
	put(&page, text_at + 12, "1", 1);
	assert_int_equal(name(&page, words, &names), -ESTALE);
	put(&page, text_at + 12, "0", 1);
	assert_int_equal(name(&page, words, &names), 0);
	put_u64(&page, at + 16, strlen(text) + 1);
	assert_int_equal(name(&page, words, &names), -ESTALE);
}

static void strings_that_are_none(void **state)
{
	static struct runtime_names names;
	struct page page;
	uint64_t words[2];

	(void)state;
	make_code(&page, words);
	put_u64(&page, BASE + 0x600 + 32, 3u << 2 | 1u << 5);
	assert_int_equal(name(&page, words, &names), -ESTALE);
	/* not compact: characters are elsewhere */
	put_u64(&page, BASE + 0x600 + 32, 2u << 2);
	assert_int_equal(name(&page, words, &names), -ESTALE);
	/* longer than the memory, and longer than anything */
	make_code(&page, words);
	put_u64(&page, BASE + 0x600 + 16, 1u << 20);
	assert_int_equal(name(&page, words, &names), 0);
	put_u64(&page, BASE + 0x600 + 16, UINT64_MAX);
	assert_int_equal(name(&page, words, &names), -ESTALE);
	/* a table of lines without end */
	make_code(&page, words);
	put_u64(&page, BASE + 0x700 + 16, UINT64_MAX);
	assert_int_equal(name(&page, words, &names), -ESTALE);
	put_u64(&page, BASE + 0x700 + 16, 1u << 20);
	assert_int_equal(name(&page, words, &names), -EFAULT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_each_kind_of_table),
		cmocka_unit_test(tables_that_are_damaged),
		cmocka_unit_test(a_function_is_named),
		cmocka_unit_test(what_is_not_what_was_seen_has_no_name),
		cmocka_unit_test(a_frame_of_the_interpreter),
		cmocka_unit_test(a_name_without_a_hash),
		cmocka_unit_test(strings_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
