// SPDX-License-Identifier: Apache-2.0
/* Jitdumps as runtimes write them, and as none should. */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "symbol/jitdump.h"

struct dump_file {
	FILE *file;
	struct jitdump dump;
	struct code_name name;
};

static int set_up(void **state)
{
	struct dump_file *d = calloc(1, sizeof(*d));

	if (!d)
		return -1;
	d->file = tmpfile();
	*state = d;
	return d->file ? 0 : -1;
}

static int tear_down(void **state)
{
	struct dump_file *d = *state;

	fclose(d->file);
	jitdump_free(&d->dump);
	free(d);
	return 0;
}

static void put_u32(struct buf *b, uint32_t value)
{
	buf_put(b, &value, sizeof(value));
}

static void put_u64(struct buf *b, uint64_t value)
{
	buf_put(b, &value, sizeof(value));
}

static void append(struct dump_file *d, struct buf *b)
{
	assert_false(b->failed);
	assert_int_equal(fwrite(b->at, 1, b->count, d->file), b->count);
	assert_int_equal(fflush(d->file), 0);
	buf_free(b);
	*b = (struct buf){0};
}

static void put_header(struct buf *b, uint32_t reserved, uint32_t pid, uint64_t flags)
{
	put_u32(b, 0x4a695444);
	put_u32(b, 1);
	put_u32(b, 40);
	put_u32(b, 62);
	put_u32(b, reserved);
	put_u32(b, pid);
	put_u64(b, 1);
	put_u64(b, flags);
}

/* A record's head; its size follows when its body is there. */
static size_t begin_record(struct buf *b, uint32_t id, uint64_t time)
{
	size_t at = b->count;

	put_u32(b, id);
	put_u32(b, 0);
	put_u64(b, time);
	return at;
}

static void end_record(struct buf *b, size_t at)
{
	uint32_t size = (uint32_t)(b->count - at);

	memcpy(b->at + at + 4, &size, sizeof(size));
}

static void put_load(struct buf *b, uint64_t time, uint64_t start, uint64_t size, uint64_t index,
		     const char *name)
{
	size_t at = begin_record(b, 0, time);

	put_u32(b, 7);
	put_u32(b, 7);
	put_u64(b, start);
	put_u64(b, start);
	put_u64(b, size);
	put_u64(b, index);
	buf_put(b, name, strlen(name) + 1);
	for (uint64_t i = 0; i < size; i++)
		buf_put_u8(b, 0x90);
	end_record(b, at);
}

static void put_move(struct buf *b, uint64_t time, uint64_t from, uint64_t to, uint64_t index)
{
	size_t at = begin_record(b, 1, time);

	put_u32(b, 7);
	put_u32(b, 7);
	put_u64(b, to);
	put_u64(b, from);
	put_u64(b, to);
	put_u64(b, 0x10);
	put_u64(b, index);
	end_record(b, at);
}

static void put_line(struct buf *b, uint64_t address, uint32_t line, const char *file)
{
	put_u64(b, address);
	put_u32(b, line);
	put_u32(b, 0);
	buf_put(b, file, strlen(file) + 1);
}

static int read_it(struct dump_file *d, uint64_t now)
{
	return jitdump_read(&d->dump, fileno(d->file), now);
}

/* "name" or "name file:line" of what lay at an address at a time; "": nothing that is known. */
static const char *at_time(struct dump_file *d, uint64_t address, uint64_t time)
{
	static char text[20000];
	struct code_question question = {.address = address, .time = time};

	assert_int_equal(code_table_answer(&d->dump.code, &question, 1), 0);
	if (!question.answer.size ||
	    !jitdump_name(&d->dump, fileno(d->file), &question.answer, address, &d->name))
		return "";
	if (d->name.file[0])
		snprintf(text, sizeof(text), "%s %s:%u", d->name.function, d->name.file,
			 d->name.line);
	else
		snprintf(text, sizeof(text), "%s", d->name.function);
	return text;
}

/* Code counts from when it was loaded, and until its place is used again. */
static void loads(void **state)
{
	struct dump_file *d = *state;
	struct buf b = {0};

	put_header(&b, 0, 7, 0);
	put_load(&b, 100, 0x1000, 0x20, 1, "first");
	put_load(&b, 200, 0x1010, 0x20, 2, "second one");
	put_load(&b, 300, 0x9000, 0, 3, "empty");
	append(d, &b);
	assert_int_equal(read_it(d, 1000), 0);
	assert_string_equal(at_time(d, 0x1000, 99), "");
	assert_string_equal(at_time(d, 0x1000, 100), "first");
	assert_string_equal(at_time(d, 0x1010, 199), "first");
	assert_string_equal(at_time(d, 0x1010, 200), "second one");
	assert_string_equal(at_time(d, 0x1000, 999), "first");
	assert_string_equal(at_time(d, 0x102f, 999), "second one");
	assert_string_equal(at_time(d, 0x1030, 999), "");
	assert_string_equal(at_time(d, 0x9000, 999), "");
	assert_string_equal(at_time(d, 0xfff, 999), "");
}

static void moves(void **state)
{
	struct dump_file *d = *state;
	struct buf b = {0};

	put_header(&b, 0, 7, 0);
	put_load(&b, 100, 0x1000, 0x10, 5, "mover");
	put_move(&b, 200, 0x1000, 0x2000, 5);
	put_move(&b, 300, 0x2000, 0x3000, 5);
	put_load(&b, 250, 0x2000, 0x10, 6, "other");
	put_move(&b, 400, 0x1000, 0x4000, 99); /* no record names that one */
	put_move(&b, 400, 0x7777, 0x5000, 5);  /* that one lies elsewhere */
	append(d, &b);
	assert_int_equal(read_it(d, 1000), 0);
	assert_string_equal(at_time(d, 0x100f, 150), "mover");
	assert_string_equal(at_time(d, 0x200f, 150), "");
	assert_string_equal(at_time(d, 0x200f, 220), "mover");
	assert_string_equal(at_time(d, 0x200f, 260), "other");
	assert_string_equal(at_time(d, 0x300f, 299), "");
	assert_string_equal(at_time(d, 0x300f, 300), "mover");
	assert_string_equal(at_time(d, 0x4000, 999), "");
	assert_string_equal(at_time(d, 0x5000, 999), "");
}

static void lines(void **state)
{
	struct dump_file *d = *state;
	struct buf b = {0};
	size_t at;

	put_header(&b, 0, 7, 0);
	at = begin_record(&b, 2, 90);
	put_u64(&b, 0x1000);
	put_u64(&b, 4);
	put_line(&b, 0x1002, 10, "a.js");
	put_line(&b, 0x1008, 11, "\xff");
	put_line(&b, 0x1010, 5, "inlined.js");
	put_line(&b, 0x1018, 12, "a.js");
	end_record(&b, at);
	put_load(&b, 100, 0x1000, 0x20, 1, "with lines");
	put_load(&b, 100, 0x2000, 0x20, 2, "without");
	put_move(&b, 200, 0x1000, 0x5000, 1);
	append(d, &b);
	assert_int_equal(read_it(d, 1000), 0);
	assert_string_equal(at_time(d, 0x1001, 150), "with lines");
	assert_string_equal(at_time(d, 0x1002, 150), "with lines a.js:10");
	assert_string_equal(at_time(d, 0x1007, 150), "with lines a.js:10");
	assert_string_equal(at_time(d, 0x1009, 150), "with lines a.js:11");
	assert_string_equal(at_time(d, 0x1010, 150), "with lines inlined.js:5");
	assert_string_equal(at_time(d, 0x101f, 150), "with lines a.js:12");
	assert_string_equal(at_time(d, 0x2001, 150), "without");
	/* lines move with the code */
	assert_string_equal(at_time(d, 0x5009, 250), "with lines a.js:11");
}

/*
 * V8 adds the size of an ELF header to all places, and writes 0xdeadbeef where nothing is defined.
 */
static void lines_of_v8(void **state)
{
	struct dump_file *d = *state;
	struct buf b = {0};
	size_t at;

	put_header(&b, 0xdeadbeef, 7, 0);
	at = begin_record(&b, 2, 90);
	put_u64(&b, 0x1000);
	put_u64(&b, 2);
	put_line(&b, 0x1040, 1, "a.js");
	put_line(&b, 0x1050, 2, "a.js");
	end_record(&b, at);
	at = begin_record(&b, 4, 95); /* unwinding information stands between them */
	put_u64(&b, 0);
	put_u64(&b, 0);
	put_u64(&b, 0);
	end_record(&b, at);
	put_load(&b, 100, 0x1000, 0x80, 1, "f");
	append(d, &b);
	assert_int_equal(read_it(d, 1000), 0);
	assert_string_equal(at_time(d, 0x1000, 150), "f a.js:1");
	assert_string_equal(at_time(d, 0x100f, 150), "f a.js:1");
	assert_string_equal(at_time(d, 0x1045, 150), "f a.js:2");
}

/* Byte by byte, as a slow writer would: no record is lost, none is taken twice. */
static void growing(void **state)
{
	struct dump_file *d = *state;
	struct buf b = {0};

	put_header(&b, 0, 7, 0);
	put_load(&b, 100, 0x1000, 0x10, 1, "one");
	put_move(&b, 200, 0x1000, 0x2000, 1);
	put_load(&b, 300, 0x3000, 0x10, 2, "two");
	for (size_t i = 0; i < b.count; i++) {
		assert_int_equal(fputc(b.at[i], d->file), b.at[i]);
		fflush(d->file);
		assert_int_equal(read_it(d, 1000 + i), 0);
	}
	assert_int_equal(d->dump.code.entries.count, 3);
	assert_int_equal(d->dump.read_to, b.count);
	assert_string_equal(at_time(d, 0x1000, 150), "one");
	assert_string_equal(at_time(d, 0x2000, 250), "one");
	assert_string_equal(at_time(d, 0x3000, 350), "two");

	/* written anew */
	assert_int_equal(ftruncate(fileno(d->file), 0), 0);
	rewind(d->file);
	assert_int_equal(read_it(d, 3000), 0);
	assert_string_equal(at_time(d, 0x1000, 150), "");
	buf_free(&b);
}

/* Larger than what is read at once, with records that are larger as well. */
static void large(void **state)
{
	struct dump_file *d = *state;
	struct buf b = {0};
	char name[32];

	put_header(&b, 0, 7, 0);
	for (uint64_t i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "f%u", (unsigned int)i);
		put_load(&b, i, 0x100000 * i, i % 100 ? 300 : 200000, i, name);
	}
	append(d, &b);
	assert_int_equal(read_it(d, 5000), 0);
	assert_int_equal(d->dump.code.entries.count, 1000);
	for (uint64_t i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "f%u", (unsigned int)i);
		assert_string_equal(at_time(d, 0x100000 * i + 299, 5000), name);
	}
}

/* Times of another clock say nothing: those of reading are taken, as for a perf map. */
static void other_clocks(void **state)
{
	struct dump_file *d = *state;
	struct buf b = {0};

	put_header(&b, 0, 7, 1);
	put_load(&b, 1ull << 60, 0x1000, 0x10, 1, "one");
	append(d, &b);
	assert_int_equal(read_it(d, 100), 0);
	put_load(&b, 5, 0x1000, 0x10, 2, "two");
	append(d, &b);
	assert_int_equal(read_it(d, 200), 0);
	assert_string_equal(at_time(d, 0x1000, 50), "one");
	assert_string_equal(at_time(d, 0x1000, 150), "two");
}

/* A child sees the dump of its parent, which goes on without it. */
static void of_the_parent(void **state)
{
	struct dump_file *d = *state;
	struct buf b = {0};

	d->dump.reader = 8;
	d->dump.reader_began = 150;
	put_header(&b, 0, 7, 0);
	put_load(&b, 100, 0x1000, 0x10, 1, "inherited");
	put_load(&b, 200, 0x1000, 0x10, 2, "not in the child");
	put_move(&b, 200, 0x1000, 0x2000, 1);
	append(d, &b);
	assert_int_equal(read_it(d, 1000), 0);
	assert_string_equal(at_time(d, 0x1000, 999), "inherited");
	assert_string_equal(at_time(d, 0x2000, 999), "");
}

static void no_dump(void **state)
{
	static const struct {
		size_t offset;
		uint32_t value;
	} changes[] = {{0, 0x4454694a}, {4, 2}, {8, 39}, {8, 1u << 30}, {12, 183}};

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct dump_file *d = *state;
		struct buf b = {0};

		rewind(d->file);
		put_header(&b, 0, 7, 0);
		put_load(&b, 100, 0x1000, 0x10, 1, "f");
		memcpy(b.at + changes[i].offset, &changes[i].value, 4);
		append(d, &b);
		assert_int_equal(read_it(d, 1000), -ENOEXEC);
		assert_int_equal(read_it(d, 1001), -ENOEXEC);
		assert_int_equal(d->dump.code.entries.count, 0);
		jitdump_free(&d->dump);
		d->dump = (struct jitdump){0};
	}
}

/* Sizes that lie: nothing is read beyond a record, and what came before stands. */
static void hostile(void **state)
{
	struct dump_file *d = *state;
	struct buf b = {0};
	uint64_t many = UINT64_MAX;
	uint32_t small = 3;
	size_t at;

	put_header(&b, 0, 7, 0);
	at = b.count;
	put_load(&b, 100, 0x1000, 0x10, 1, "name without an end");
	memset(b.at + at + 56, 'x', 19 + 1 + 0x10);
	put_load(&b, 100, UINT64_MAX - 5, 0x10, 1, "wraps");
	put_load(&b, 100, 0x3000, 0x10, 1, "");
	at = begin_record(&b, 2, 90); /* more lines than there is room for */
	put_u64(&b, 0x4000);
	put_u64(&b, many);
	put_line(&b, 0x4000, 1, "a.js");
	end_record(&b, at);
	put_load(&b, 100, 0x4000, 0x10, 3, "many lines");
	at = begin_record(&b, 2, 90); /* lines of another place */
	put_u64(&b, 0x9999);
	put_u64(&b, 1);
	put_line(&b, 0x5000, 1, "a.js");
	end_record(&b, at);
	put_load(&b, 100, 0x5000, 0x10, 4, "other lines");
	at = begin_record(&b, 2, 90); /* a name was longer when the size was counted */
	put_u64(&b, 0x8000);
	put_u64(&b, 1);
	put_line(&b, 0x8000, 1, "x");
	buf_put(&b, "0123456789", 10);
	end_record(&b, at);
	put_load(&b, 100, 0x8000, 0x10, 8, "lost lines");
	at = begin_record(&b, 0, 100); /* too short for what it is */
	put_u32(&b, 1);
	end_record(&b, at);
	at = begin_record(&b, 77, 100); /* of a later version */
	put_u64(&b, 1);
	end_record(&b, at);
	put_load(&b, 100, 0x6000, 0x10, 5, "good");
	at = b.count;
	put_load(&b, 100, 0x7000, 0x10, 6, "behind it");
	memcpy(b.at + at + 4, &small, 4);
	append(d, &b);
	assert_int_equal(read_it(d, 1000), -ENOEXEC);
	assert_string_equal(at_time(d, 0x1000, 999), "");
	assert_string_equal(at_time(d, UINT64_MAX - 4, 999), "");
	assert_string_equal(at_time(d, 0x3000, 999), "");
	assert_string_equal(at_time(d, 0x4005, 999), "many lines");
	assert_string_equal(at_time(d, 0x5005, 999), "other lines");
	assert_string_equal(at_time(d, 0x8005, 999), "lost lines");
	assert_string_equal(at_time(d, 0x6000, 999), "good");
	assert_string_equal(at_time(d, 0x7000, 999), "");
}

/* What is reported when the file has become shorter since: nothing. */
static void cut_short(void **state)
{
	struct dump_file *d = *state;
	struct buf b = {0};

	put_header(&b, 0, 7, 0);
	put_load(&b, 100, 0x1000, 0x10, 1, "one");
	append(d, &b);
	assert_int_equal(read_it(d, 1000), 0);
	for (off_t size = 40 + 56 + 3; size >= 0; size--) {
		assert_int_equal(ftruncate(fileno(d->file), size), 0);
		assert_string_equal(at_time(d, 0x1000, 999), "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(loads, set_up, tear_down),
		cmocka_unit_test_setup_teardown(moves, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lines, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lines_of_v8, set_up, tear_down),
		cmocka_unit_test_setup_teardown(growing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(large, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_clocks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(of_the_parent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_dump, set_up, tear_down),
		cmocka_unit_test_setup_teardown(hostile, set_up, tear_down),
		cmocka_unit_test_setup_teardown(cut_short, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("symbol-jitdump", tests, NULL, NULL);
}
