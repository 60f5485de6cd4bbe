// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/wasm_names.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A longer section is left out, and so are those behind that many. */
#define SECTION_MAX  (16u << 20)
#define SECTIONS_MAX 4096

/* Of all names of a module, and of one. */
#define TEXT_MAX (8u << 20)
#define NAME_MAX 1024

enum section {
	SECTION_CUSTOM = 0,
	SECTION_IMPORT = 2,
	SECTION_EXPORT = 7,
};

enum external {
	EXTERNAL_FUNCTION,
	EXTERNAL_TABLE,
	EXTERNAL_MEMORY,
	EXTERNAL_GLOBAL,
	EXTERNAL_TAG,
};

/* The subsection of "name" with the names of functions. */
#define NAMES_OF_FUNCTIONS 1

/* Bytes that are taken from the front; what goes wrong leaves nothing. */
struct bytes {
	const uint8_t *at, *end;
	bool failed;
};

static uint8_t read_byte(struct bytes *b)
{
	if (b->at == b->end) {
		b->failed = true;
		return 0;
	}
	return *b->at++;
}

/* An integer in LEB128; the sign of one that has some does not matter here. */
static uint64_t read_number(struct bytes *b)
{
	uint64_t number = 0;
	unsigned int shift;
	uint8_t byte;

	for (shift = 0; shift < 70; shift += 7) {
		byte = read_byte(b);
		if (shift < 64)
			number |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return number;
	}
	b->failed = true;
	return 0;
}

/* The next size bytes, which are not there if it has failed. */
static struct bytes read_bytes(struct bytes *b, uint64_t size)
{
	struct bytes taken = {b->at, b->at, true};

	if (b->failed || size > (uint64_t)(b->end - b->at)) {
		b->failed = true;
		b->at = b->end;
		return taken;
	}
	b->at += size;
	return (struct bytes){taken.at, b->at, false};
}

static struct bytes read_name(struct bytes *b)
{
	return read_bytes(b, read_number(b));
}

static bool append(struct wasm_names *names, const struct bytes *text, char end)
{
	size_t size = (size_t)(text->end - text->at), i;

	if (size > NAME_MAX)
		size = NAME_MAX;
	if (names->text.count + size + 1 > TEXT_MAX ||
	    !vec_reserve(&names->text, names->text.count + size + 1))
		return false;
	for (i = 0; i < size; i++)
		/* a zero would end it */
		names->text.at[names->text.count++] = text->at[i] ? (char)text->at[i] : ' ';
	names->text.at[names->text.count++] = end;
	return true;
}

/* module: null, or what stands before the name. */
static void add(struct wasm_names *names, uint64_t function, const struct bytes *module,
		const struct bytes *name)
{
	size_t begin = names->text.count;

	if (function >= WASM_FUNCTIONS_MAX || (module && !append(names, module, '.')) ||
	    !append(names, name, 0) || !map_put(&names->by_function, function, begin))
		names->text.count = begin;
}

/* A type that is one byte, or a reference to a type by its number (0x63, 0x64). */
static void skip_type(struct bytes *b)
{
	uint8_t type = read_byte(b);

	if (type == 0x63 || type == 0x64)
		read_number(b);
}

/* What a table or a memory has at least and, if the lowest bit says so, at most. */
static void skip_limits(struct bytes *b)
{
	uint8_t flags = read_byte(b);

	read_number(b);
	if (flags & 1)
		read_number(b);
}

static void read_imports(struct wasm_names *names, struct bytes *b)
{
	uint64_t count = read_number(b), function = 0;

	while (count-- && !b->failed) {
		struct bytes module = read_name(b), name = read_name(b);

		switch (read_byte(b)) {
		case EXTERNAL_FUNCTION:
			read_number(b);
			if (!b->failed)
				add(names, function++, &module, &name);
			break;
		case EXTERNAL_TABLE:
			skip_type(b);
			skip_limits(b);
			break;
		case EXTERNAL_MEMORY:
			skip_limits(b);
			break;
		case EXTERNAL_GLOBAL:
			skip_type(b);
			read_byte(b);
			break;
		case EXTERNAL_TAG:
			read_byte(b);
			read_number(b);
			break;
		default:
			return;
		}
	}
}

static void read_exports(struct wasm_names *names, struct bytes *b)
{
	uint64_t count = read_number(b), number;

	while (count-- && !b->failed) {
		struct bytes name = read_name(b);
		uint8_t kind = read_byte(b);

		number = read_number(b);
		/* the first one, where there are several */
		if (!b->failed && kind == EXTERNAL_FUNCTION &&
		    !map_get(&names->by_function, number))
			add(names, number, NULL, &name);
	}
}

static void read_function_names(struct wasm_names *names, struct bytes *b)
{
	uint64_t count = read_number(b), function;

	while (count-- && !b->failed) {
		struct bytes name;

		function = read_number(b);
		name = read_name(b);
		if (!b->failed && name.at < name.end)
			add(names, function, NULL, &name);
	}
}

/* The section "name": subsections, behind its title. */
static void read_subsections(struct wasm_names *names, struct bytes *b)
{
	struct bytes part;
	uint8_t id;

	read_name(b);
	while (b->at < b->end && !b->failed) {
		id = read_byte(b);
		part = read_bytes(b, read_number(b));
		if (id == NAMES_OF_FUNCTIONS && !part.failed)
			read_function_names(names, &part);
	}
}

struct section_head {
	uint8_t id;
	bool has_names;
	uint64_t begin, length; /* of what is in it */
};

/* False: none begins there, or it ends behind the module. */
static bool parse_head(struct bytes *b, uint64_t offset, uint64_t size, struct section_head *head)
{
	static const uint8_t title[] = {4, 'n', 'a', 'm', 'e'};
	const uint8_t *from = b->at;

	head->id = read_byte(b);
	head->length = read_number(b);
	head->begin = offset + (uint64_t)(b->at - from);
	head->has_names =
		head->id == SECTION_IMPORT || head->id == SECTION_EXPORT ||
		(head->id == SECTION_CUSTOM && b->end - b->at >= (ptrdiff_t)sizeof(title) &&
		 !memcmp(b->at, title, sizeof(title)));
	return !b->failed && head->length <= size - head->begin;
}

static int read_section(struct wasm_names *names, const struct section_head *head, wasm_read read,
			void *context)
{
	uint8_t *bytes;
	struct bytes b;
	int err;

	if (!head->has_names || !head->length || head->length > SECTION_MAX)
		return 0;
	bytes = malloc(head->length);
	if (!bytes)
		return -ENOMEM;
	err = read(context, bytes, head->length, head->begin);
	b = (struct bytes){bytes, bytes + head->length, false};
	if (err)
		goto out;
	if (head->id == SECTION_IMPORT)
		read_imports(names, &b);
	else if (head->id == SECTION_EXPORT)
		read_exports(names, &b);
	else
		read_subsections(names, &b);
out:
	free(bytes);
	return err;
}

/* Enough for a number of five bytes and the title of a section. */
#define HEAD_BYTES 11

static int read_sections(struct wasm_names *names, uint64_t size, wasm_read read, void *context)
{
	struct section_head head;
	uint8_t bytes[HEAD_BYTES];
	uint64_t offset = 8;
	int err = 0, i;

	for (i = 0; offset < size && i < SECTIONS_MAX && !err; i++) {
		size_t count = size - offset < HEAD_BYTES ? (size_t)(size - offset) : HEAD_BYTES;
		struct bytes b = {bytes, bytes + count, false};

		err = read(context, bytes, count, offset);
		if (err || !parse_head(&b, offset, size, &head))
			break;
		err = read_section(names, &head, read, context);
		offset = head.begin + head.length;
	}
	return err;
}

int wasm_names_read(struct wasm_names *names, uint64_t size, wasm_read read, void *context)
{
	/* the magic number, and version 1 */
	static const uint8_t magic[8] = {0, 'a', 's', 'm', 1};
	uint8_t head[sizeof(magic)];
	int err;

	if (size < sizeof(head))
		return -EINVAL;
	err = read(context, head, sizeof(head), 0);
	if (err)
		return err;
	return memcmp(head, magic, sizeof(magic)) ? -EINVAL
						  : read_sections(names, size, read, context);
}

void wasm_names_free(struct wasm_names *names)
{
	map_free(&names->by_function);
	vec_free(&names->text);
}

const char *wasm_names_of(const struct wasm_names *names, uint32_t function)
{
	const uint64_t *begin = map_get(&names->by_function, function);

	return begin ? names->text.at + *begin : NULL;
}
