// SPDX-License-Identifier: Apache-2.0
/*
 * What a frame of CPython is called: from its code object, if that is still the one that was seen.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/python/layout.h"

/* A table of lines is not larger; a function of a million lines has 4 MB. */
#define TABLE_MAX (16u << 20)

/* Characters of a name or path that are read. */
#define CHARACTERS_MAX 1024

struct code {
	uint64_t address;
	__u64 words[PYTHON_WORDS];
};

/* A field of the code object, of 8 or 4 bytes, among the words that were read. */
static uint64_t field(const struct python_layout *layout, const struct code *code, uint16_t offset,
		      size_t size)
{
	uint64_t value = 0;

	if (offset >= layout->data.code_from &&
	    offset - layout->data.code_from + size <= sizeof(code->words))
		memcpy(&value, (const uint8_t *)code->words + (offset - layout->data.code_from),
		       size);
	return value;
}

/* Reads it, if it is the one that the sum was made of. */
static int read_code(const struct runtime_at *at, const struct python_layout *layout, uint32_t sum,
		     struct code *code)
{
	const struct python_data *data = &layout->data;
	uint64_t number, name;
	__u64 words[PYTHON_NAME_WORDS];
	int err =
		runtime_read(at, code->words, sizeof(code->words), code->address + data->code_from);

	if (err)
		return err;
	number = python_number(code->words, data->code_number);
	if (number)
		return python_sum(code->words, data->code_words, number) == sum ? 0 : -ESTALE;
	name = field(layout, code, python_shown_name(layout), 8);
	err = runtime_read_u64(at, &number, name + data->name_hash);
	if (err)
		return err;
	if (number != PYTHON_NO_HASH && python_sum(code->words, data->code_words, number) == sum)
		return 0;
	/* it may have got its hash since */
	err = runtime_read(at, words, sizeof(words), name + data->name_hash - sizeof(words[0]));
	if (err)
		return err;
	return python_sum_name(python_sum(code->words, data->code_words, PYTHON_NO_HASH), words,
			       python_text_from(data)) == sum
		       ? 0
		       : -ESTALE;
}

static size_t put_utf8(char *to, uint32_t c)
{
	/* bytes of a path that were no UTF-8 (PEP 383) */
	if (c >= 0xdc80 && c <= 0xdcff) {
		to[0] = (char)(c - 0xdc00);
		return 1;
	}
	if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		c = 0xfffd;
	return text_put_utf8(to, c);
}

/* Reads a str, as UTF-8. */
static int read_string(const struct runtime_at *at, const struct python_layout *layout,
		       uint64_t address, char to[RUNTIME_TEXT_MAX])
{
	uint8_t characters[4 * CHARACTERS_MAX];
	uint64_t length, data;
	uint32_t state, kind;
	size_t used = 0, i;
	bool is_cut;
	int err;

	if (!address || address & 7)
		return -ESTALE;
	err = runtime_read_u64(at, &length, address + layout->string_length);
	if (!err)
		err = runtime_read_u32(at, &state, address + layout->string_state);
	if (err)
		return err;
	kind = state >> PYTHON_KIND_SHIFT & PYTHON_KIND_MASK;
	if (!(state & PYTHON_COMPACT) || (kind != 1 && kind != 2 && kind != 4) ||
	    length > INT64_MAX / 4)
		return -ESTALE;
	is_cut = length > CHARACTERS_MAX;
	if (is_cut)
		length = CHARACTERS_MAX;
	data = address + (state & PYTHON_ASCII ? layout->string_ascii : layout->string_wide);
	if (length && (err = runtime_read(at, characters, length * kind, data)))
		return err;
	for (i = 0; i < length && used + 8 < RUNTIME_TEXT_MAX; i++) {
		uint32_t c = 0;

		memcpy(&c, characters + i * kind, kind);
		/* a zero would end the name early */
		used += put_utf8(to + used, c ? c : 0xfffd);
	}
	/* 3 bytes, and the end of the string */
	strcpy(to + used, is_cut || i < length ? "…" : "");
	return 0;
}

/*
 * The frame that 3.13 puts between a call of a class and its __init__() (_Py_InitCleanup,
 * Python/specialize.c). Python's own tracebacks leave it out; no function of a program begins at
 * line 0 of a file that bears its name.
 */
static bool is_cleanup(const struct python_layout *layout, const struct code *code)
{
	uint64_t name = field(layout, code, python_shown_name(layout), 8);

	return !field(layout, code, layout->code_first_line, 4) &&
	       name == field(layout, code, layout->code_name, 8) &&
	       name == field(layout, code, layout->code_filename, 8);
}

/* The line of an instruction; 0: not known. */
static int read_line(const struct runtime_at *at, const struct python_layout *layout,
		     const struct code *code, int32_t index, uint32_t *line)
{
	uint64_t table = field(layout, code, layout->code_lines, 8), size;
	uint32_t first = (uint32_t)field(layout, code, layout->code_first_line, 4);
	uint8_t *bytes;
	int err;

	err = runtime_read_u64(at, &size, table + layout->bytes_length);
	if (err)
		return err;
	if (size > TABLE_MAX)
		return -ESTALE;
	bytes = malloc(size + 1);
	if (!bytes)
		return -ENOMEM;
	err = runtime_read(at, bytes, size, table + layout->bytes_data);
	if (!err || !size)
		*line = python_line_of(layout->minor, bytes, size, first, index);
	free(bytes);
	return size ? err : 0;
}

static int read_names(const struct runtime_at *at, void *state, const uint64_t words[2],
		      struct runtime_names *names)
{
	const struct python_layout *layout = state;
	struct code code = {.address = UNWIND_WORD_VALUE(words[0])};
	char function[RUNTIME_TEXT_MAX], file[RUNTIME_TEXT_MAX];
	uint16_t name = python_shown_name(layout);
	uint32_t line = 0, sum = (uint32_t)words[1];
	int err;

	err = read_code(at, layout, sum, &code);
	if (!err)
		err = read_string(at, layout, field(layout, &code, name, 8), function);
	if (!err)
		err = read_string(at, layout, field(layout, &code, layout->code_filename, 8), file);
	if (!err)
		err = read_line(at, layout, &code, (int32_t)(words[1] >> 32), &line);
	/* was it there all the time? */
	if (!err)
		err = read_code(at, layout, sum, &code);
	if (err)
		return err;
	runtime_names_add(names, function, file, line);
	runtime_names_image(names, file);
	names->is_part = is_cleanup(layout, &code);
	return 0;
}

/* What the kernel's side has kept of a str. */
static int kept_text(const struct python_kept_text *is, const char *text, size_t size,
		     char to[RUNTIME_TEXT_MAX])
{
	size_t has = is->has < size ? is->has : size, length = is->length < has ? is->length : has;
	size_t used = 0;

	if (!has)
		return -ESTALE;
	for (size_t i = 0; i < length; i++) {
		uint32_t c = (uint8_t)text[i];

		/* as it may have been read while it changed */
		used += put_utf8(to + used, c && c < 0x80 ? c : 0xfffd);
	}
	strcpy(to + used, is->length > length ? "…" : "");
	return 0;
}

/* The name of code that is gone; the line is not known. */
static int kept_names(const void *from, struct runtime_names *names)
{
	char function[RUNTIME_TEXT_MAX], file[RUNTIME_TEXT_MAX];
	struct python_kept kept;
	int err;

	memcpy(&kept, from, sizeof(kept));
	err = kept_text(&kept.name_is, kept.name, sizeof(kept.name), function);
	if (!err)
		err = kept_text(&kept.file_is, kept.file, sizeof(kept.file), file);
	if (err)
		return err;
	runtime_names_add(names, function, file, 0);
	runtime_names_image(names, file);
	names->is_kept = true;
	return 0;
}

int python_name_of(const struct runtime_at *at, void *state, const uint64_t words[2],
		   struct runtime_names *names)
{
	int err;

	if (UNWIND_WORD_VARIANT(words[0]) != PYTHON_CHECKED)
		return -EFAULT;
	err = read_names(at, state, words, names);
	return err && at->kept ? kept_names(at->kept, names) : err;
}

uint64_t python_kept_under(const uint64_t words[2])
{
	return python_kept_key(UNWIND_WORD_VALUE(words[0]), (uint32_t)words[1]);
}
