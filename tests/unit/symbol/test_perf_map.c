// SPDX-License-Identifier: Apache-2.0
/* The text of perf maps, most of them written by someone who means harm. */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/perf_map.h"

struct map_file {
	FILE *file;
	struct perf_map map;
	struct code_name name;
};

static int set_up(void **state)
{
	struct map_file *m = calloc(1, sizeof(*m));

	if (!m)
		return -1;
	m->file = tmpfile();
	*state = m;
	return m->file ? 0 : -1;
}

static int tear_down(void **state)
{
	struct map_file *m = *state;

	fclose(m->file);
	perf_map_free(&m->map);
	free(m);
	return 0;
}

static void append(struct map_file *m, const char *text)
{
	fputs(text, m->file);
	assert_int_equal(fflush(m->file), 0);
}

/* What lay at an address at a time; "" nothing that is known. */
static const char *at_time(struct map_file *m, uint64_t address, uint64_t time)
{
	struct code_question question = {.address = address, .time = time};

	assert_int_equal(code_table_answer(&m->map.code, &question, 1), 0);
	if (!question.answer.size)
		return "";
	assert_true(perf_map_name(fileno(m->file), &question.answer, &m->name));
	assert_string_equal(m->name.file, "");
	return m->name.function;
}

static const char *at(struct map_file *m, uint64_t address)
{
	return at_time(m, address, UINT64_MAX);
}

static void read_it(struct map_file *m, uint64_t now, bool last)
{
	assert_int_equal(perf_map_read(&m->map, fileno(m->file), now, last), 0);
}

static void good(void **state)
{
	struct map_file *m = *state;

	read_it(m, 1, false);
	assert_string_equal(at(m, 0x1000), "");
	append(m, "1000 10 LazyCompile:~add file.js:3\n"
		  "2000 20 java.lang.String::hashCode\n"
		  "3000 10 py::load:/usr/a b.py\n"
		  "ffffffffffff0000 fff last");
	read_it(m, 2, true);
	assert_string_equal(at(m, 0x1000), "LazyCompile:~add file.js:3");
	assert_string_equal(at(m, 0x100f), "LazyCompile:~add file.js:3");
	assert_string_equal(at(m, 0x1010), "");
	assert_string_equal(at(m, 0x2010), "java.lang.String::hashCode");
	assert_string_equal(at(m, 0x3001), "py::load:/usr/a b.py");
	assert_string_equal(at(m, 0xffffffffffff0ffe), "last");
}

/* Code is compiled again where other code was: what was written last is what is there. */
static void overlapping(void **state)
{
	struct map_file *m = *state;

	append(m, "1000 100 old\n1080 10 newer\n1000 40 newest\n");
	read_it(m, 1, false);
	assert_string_equal(at(m, 0x1000), "newest");
	assert_string_equal(at(m, 0x1040), "old");
	assert_string_equal(at(m, 0x1085), "newer");
	assert_string_equal(at(m, 0x1090), "old");
}

/* A map has no times: between which two readings a line came is what is known. */
static void times(void **state)
{
	struct map_file *m = *state;

	append(m, "1000 10 first\n");
	read_it(m, 100, false);
	append(m, "1000 10 second\n");
	read_it(m, 200, false);
	append(m, "1000 10 third\n2000 10 late\n2000 10 later\n");
	read_it(m, 300, false);
	assert_string_equal(at_time(m, 0x1000, 99), "first");
	assert_string_equal(at_time(m, 0x1000, 150), "second");
	assert_string_equal(at_time(m, 0x1000, 250), "third");
	/* a runtime may write when the code has run already: there is nothing better */
	assert_string_equal(at_time(m, 0x2000, 50), "late");
	assert_string_equal(at_time(m, 0x2000, 250), "later");
}

/*
 * A runtime writes while it is read: a line counts when its newline is there, or none can follow.
 */
static void growing(void **state)
{
	struct map_file *m = *state;

	append(m, "1000 10 one\n2000 1");
	read_it(m, 1, false);
	assert_string_equal(at(m, 0x1000), "one");
	assert_string_equal(at(m, 0x2000), "");
	append(m, "0 tw");
	read_it(m, 2, false);
	assert_string_equal(at(m, 0x2000), "");
	append(m, "o\n3000 10 three");
	read_it(m, 3, false);
	assert_string_equal(at(m, 0x200f), "two");
	assert_string_equal(at(m, 0x3000), "");
	assert_int_equal(m->map.code.entries.count, 2);
	read_it(m, 4, true);
	assert_string_equal(at(m, 0x3000), "three");
}

/* Some agents write the whole map anew from time to time. */
static void written_anew(void **state)
{
	struct map_file *m = *state;
	struct code_question question = {.address = 0x1000, .time = UINT64_MAX};

	append(m, "1000 10 before\n2000 10 gone\n");
	read_it(m, 1, false);
	assert_int_equal(code_table_answer(&m->map.code, &question, 1), 0);
	rewind(m->file);
	assert_int_equal(ftruncate(fileno(m->file), 0), 0);
	append(m, "1000 10 after\n");
	/* an entry of the old text is not taken for one of the new */
	question.answer.size++;
	assert_false(perf_map_name(fileno(m->file), &question.answer, &m->name));
	read_it(m, 2, false);
	assert_string_equal(at(m, 0x1000), "after");
	assert_string_equal(at(m, 0x2000), "");
	/* also if it has become longer meanwhile */
	rewind(m->file);
	append(m, "3000 10 a long line\n4000 10 another long line\n");
	read_it(m, 3, false);
	assert_string_equal(at(m, 0x1000), "");
	assert_string_equal(at(m, 0x3000), "a long line");
	assert_string_equal(at(m, 0x4000), "another long line");
}

static void broken_lines(void **state)
{
	struct map_file *m = *state;

	append(m, "\n \nx\n1000\n1000 10\n1000 10 \nzz 10 name\n"
		  "1000 0 empty\nfffffffffffffff0 20 wraps\n"
		  "11111111111111111111 10 long\n1000 -1 negative\n"
		  "2000 10 esc\x1b[31mred\x07\n"
		  "3000 10 ");
	for (int i = 0; i < 100000; i++)
		fputc('a', m->file);
	read_it(m, 1, false);
	append(m, "aa 5000 10 not a line of its own\n4000 10 after\n");
	read_it(m, 2, false);
	assert_string_equal(at(m, 0x1000), "");
	assert_string_equal(at(m, 0xfffffffffffffff4), "");
	/* names may hold any byte: callers escape them to print them */
	assert_string_equal(at(m, 0x2000), "esc\x1b[31mred\x07");
	assert_true(strlen(at(m, 0x3000)) > 4096);
	assert_int_equal(strspn(m->name.function, "a"), strlen(m->name.function));
	assert_string_equal(at(m, 0x5000), "");
	assert_string_equal(at(m, 0x4000), "after");
}

/* Of a file that is far ahead, what is newest counts, and how much was passed over. */
static void too_large(void **state)
{
	struct map_file *m = *state;
	const off_t size = (off_t)2 << 30;

	append(m, "1000 10 big\n");
	assert_int_equal(ftruncate(fileno(m->file), size), 0);
	assert_int_equal(fseeko(m->file, 0, SEEK_END), 0);
	append(m, "\n2000 10 newest\n");
	for (int i = 0; i < 8; i++)
		assert_int_equal(perf_map_read(&m->map, fileno(m->file), 1, false), 0);
	assert_string_equal(at(m, 0x1000), "");
	assert_string_equal(at(m, 0x2000), "newest");
	assert_true(m->map.passed > (uint64_t)size - PERF_MAP_AHEAD);
	assert_true(m->map.passed < (uint64_t)size);
}

/* What is new is read a part at a time. */
static void in_parts(void **state)
{
	struct map_file *m = *state;
	char line[1024];

	memset(line, 'x', sizeof(line));
	memcpy(line, "1000 10 ", 8);
	line[sizeof(line) - 1] = 0;
	for (size_t i = 0; i < PERF_MAP_READ / sizeof(line); i++)
		fprintf(m->file, "%s\n", line);
	append(m, "2000 10 last\n");
	assert_int_equal(perf_map_read(&m->map, fileno(m->file), 1, false), 0);
	assert_string_equal(at(m, 0x2000), "");
	assert_int_equal(perf_map_read(&m->map, fileno(m->file), 2, false), 0);
	assert_string_equal(at(m, 0x2000), "last");
	assert_int_equal(m->map.passed, 0);
}

/* A map whose lines all hold all that is asked for. */
static void made_to_waste_time(void **state)
{
	static struct code_question questions[1000];
	struct map_file *m = *state;

	for (size_t i = 0; i < 100000; i++)
		fputs("0 ffffffffffff a\n", m->file);
	fflush(m->file);
	for (size_t i = 0; i < 1000; i++)
		questions[i] = (struct code_question){.address = i, .time = 1};
	read_it(m, 1, false);
	assert_int_equal(code_table_answer(&m->map.code, questions, 1000), -E2BIG);
}

static void too_many(void **state)
{
	struct code_entry entry = {.start = 0x1000, .size = 1};
	struct code_table table = {0};

	(void)state;
	for (size_t i = 0; i < CODE_TABLE_MAX + 3; i++) {
		entry.record = i;
		code_table_add(&table, &entry);
	}
	/* the older half has made room */
	assert_int_equal(table.entries.count, CODE_TABLE_MAX / 2 + 3);
	assert_int_equal(table.refused, CODE_TABLE_MAX / 2);
	assert_int_equal(table.entries.at[0].record, CODE_TABLE_MAX / 2);
	assert_int_equal(vec_last(&table.entries)->record, CODE_TABLE_MAX + 2);
	code_table_free(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(good, set_up, tear_down),
		cmocka_unit_test_setup_teardown(overlapping, set_up, tear_down),
		cmocka_unit_test_setup_teardown(times, set_up, tear_down),
		cmocka_unit_test_setup_teardown(growing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(written_anew, set_up, tear_down),
		cmocka_unit_test_setup_teardown(broken_lines, set_up, tear_down),
		cmocka_unit_test_setup_teardown(too_large, set_up, tear_down),
		cmocka_unit_test_setup_teardown(in_parts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(made_to_waste_time, set_up, tear_down),
		cmocka_unit_test(too_many),
	};

	return cmocka_run_group_tests_name("symbol-perf-map", tests, NULL, NULL);
}
