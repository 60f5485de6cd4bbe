// SPDX-License-Identifier: Apache-2.0
/* The tables in which HotSpot describes its own structures (share/runtime/vmStructs.hpp). */
#include "runtime/hotspot/hotspot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * The most bytes that an entry of each has, the most entries of a table, the most bytes of a name.
 */
#define ENTRY_MAX   256
#define ENTRIES_MAX 16384
#define WORDS_MAX   160

/* Numbers of an entry's description, in the order of hotspot_image's arrays. */
enum {
	STRIDE,
	TYPE_NAME,
	FIELD_NAME,
	IS_STATIC,
	OFFSET,
	ADDRESS,
	TYPE_STRING,
	STRUCT_NUMBERS
};

enum {
	SIZE_OF_TYPE = 2,
	VALUE_OF_CONSTANT = 2
};

struct fact_name {
	uint32_t fact;
	const char *type, *field;
};

static const struct fact_name fields[] = {
#define X(fact, type, field) {HOTSPOT_##fact, type, field},
	HOTSPOT_FACTS(X)
#undef X
};

static const struct fact_name sizes[] = {
#define X(fact, type) {HOTSPOT_##fact, type, NULL},
	HOTSPOT_SIZES(X)
#undef X
};

static const struct fact_name constants[] = {
#define X(fact, name) {HOTSPOT_##fact, name, NULL},
	HOTSPOT_CONSTANTS(X)
#undef X
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Memory is read by pages: the names of some thousand entries lie close together. */
#define PAGES 64

struct pages {
	const struct runtime_at *at;
	uint64_t address[PAGES]; /* of the page + 1; 0: none */
	uint8_t bytes[PAGES][4096];
};

static int read_cached(struct pages *pages, void *to, size_t size, uint64_t address)
{
	uint8_t *out = to;

	while (size) {
		uint64_t page = address & ~4095ull;
		size_t slot = page >> 12 & (PAGES - 1), from = address & 4095, piece = 4096 - from;
		int err;

		if (piece > size)
			piece = size;
		if (pages->address[slot] != page + 1) {
			pages->address[slot] = 0;
			err = runtime_read(pages->at, pages->bytes[slot], 4096, page);
			if (err)
				return err;
			pages->address[slot] = page + 1;
		}
		memcpy(out, pages->bytes[slot] + from, piece);
		out += piece;
		address += piece;
		size -= piece;
	}
	return 0;
}

/* A name of a table: "" if it is longer than any that is wanted. */
static int read_name(struct pages *pages, char *name, uint64_t address)
{
	size_t i;
	int err;

	name[0] = 0;
	if (!address)
		return 0;
	for (i = 0; i < WORDS_MAX; i++) {
		err = read_cached(pages, name + i, 1, address + i);
		if (err || !name[i])
			return err;
	}
	name[0] = 0;
	return 0;
}

/* A table: where its first entry is, and where in an entry its numbers are. */
struct table {
	uint64_t entry;
	uint64_t places[STRUCT_NUMBERS];
};

static int open_table(const struct runtime_at *at, struct table *table, uint64_t pointer,
		      const uint64_t *description, size_t count)
{
	size_t i;
	int err;

	err = runtime_read_u64(at, &table->entry, runtime_address(at, pointer));
	for (i = 0; i < count && !err; i++) {
		err = runtime_read_u64(at, &table->places[i], runtime_address(at, description[i]));
		if (!err && table->places[i] > ENTRY_MAX - 8)
			err = -EINVAL;
	}
	if (err)
		return err;
	/* before the loader has relocated the image and run its constructors */
	if (!table->entry || !table->places[STRIDE])
		return -EAGAIN;
	return table->places[STRIDE] >= 16 ? 0 : -EINVAL;
}

static uint64_t number_at(const uint8_t *entry, uint64_t place)
{
	uint64_t value;

	memcpy(&value, entry + place, sizeof(value));
	return value;
}

/* One entry of a table. */
struct entry {
	const struct table *table;
	uint8_t bytes[ENTRY_MAX];
	char type[WORDS_MAX + 1]; /* or the name of a constant */
};

static uint64_t entry_number(const struct entry *entry, unsigned int place)
{
	return number_at(entry->bytes, entry->table->places[place]);
}

/* What is done with each entry: 0, or an error that ends it. */
typedef int match_entry(void *context, const struct entry *entry);

static int each_entry(struct pages *pages, const struct table *table, match_entry *emit,
		      void *context)
{
	struct entry entry = {.table = table};
	uint64_t at = table->entry;
	size_t n;
	int err;

	for (n = 0; n < ENTRIES_MAX; n++, at += table->places[STRIDE]) {
		err = read_cached(pages, entry.bytes, table->places[STRIDE], at);
		if (err)
			return err;
		if (!entry_number(&entry, TYPE_NAME))
			return 0;
		err = read_name(pages, entry.type, entry_number(&entry, TYPE_NAME));
		if (!err)
			err = emit(context, &entry);
		if (err)
			return err;
	}
	return -EINVAL;
}

struct reading {
	struct pages *pages;
	struct hotspot *jvm;
	/* of a table of names and numbers */
	const struct fact_name *wanted;
	size_t count;
	uint64_t mask;
};

static int match_field(void *context, const struct entry *entry)
{
	bool is_static = entry_number(entry, IS_STATIC) & 0xffffffff;
	struct reading *reading = context;
	char field[WORDS_MAX + 1], type[WORDS_MAX + 1];
	size_t i;
	int err = read_name(reading->pages, field, entry_number(entry, FIELD_NAME));

	for (i = 0; !err && i < COUNT(fields); i++) {
		if (strcmp(entry->type, fields[i].type) || strcmp(field, fields[i].field))
			continue;
		reading->jvm->facts[fields[i].fact] =
			entry_number(entry, is_static ? ADDRESS : OFFSET);
		if (fields[i].fact != HOTSPOT_BLOB_FRAME_COMPLETE)
			continue;
		err = read_name(reading->pages, type, entry_number(entry, TYPE_STRING));
		reading->jvm->short_frame_complete = !err && !strcmp(type, "int16_t");
		if (!err && !reading->jvm->short_frame_complete && strcmp(type, "int") != 0)
			err = -EINVAL;
	}
	return err;
}

/* Sizes of types, constants. */
static int match_pair(void *context, const struct entry *entry)
{
	const struct reading *reading = context;
	size_t i;

	for (i = 0; i < reading->count; i++)
		if (!strcmp(entry->type, reading->wanted[i].type))
			reading->jvm->facts[reading->wanted[i].fact] =
				entry_number(entry, SIZE_OF_TYPE) & reading->mask;
	return 0;
}

int hotspot_read_tables(const struct runtime_at *at, struct hotspot *jvm, struct fail *why)
{
	struct pages *pages = calloc(1, sizeof(*pages));
	const struct hotspot_image *image = at->facts;
	struct table structs, types, ints;
	int err;

	if (!pages)
		return fail_errno(why, -ENOMEM, NULL, "its tables cannot be read");
	pages->at = at;
	memset(jvm->facts, 0xff, sizeof(jvm->facts));
	err = open_table(at, &structs, image->structs, image->struct_entry, STRUCT_NUMBERS);
	if (!err)
		err = open_table(at, &types, image->types, image->type_entry, 3);
	if (!err)
		err = open_table(at, &ints, image->int_constants, image->constant_entry, 3);
	if (!err)
		err = each_entry(pages, &structs, match_field, &(struct reading){pages, jvm});
	if (!err)
		err = each_entry(pages, &types, match_pair,
				 &(struct reading){pages, jvm, sizes, COUNT(sizes), ~0ull});
	if (!err)
		err = each_entry(
			pages, &ints, match_pair,
			&(struct reading){pages, jvm, constants, COUNT(constants), 0xffffffff});
	free(pages);
	if (err && err != -EAGAIN)
		return fail_errno(why, err, NULL, "its tables cannot be read");
	return err;
}
