// SPDX-License-Identifier: Apache-2.0
/*
 * Objects and strings of V8. A string has its number of the type in its Map: the low three bits say
 * how it is kept (characters behind the head; two strings one behind the other; a piece of another
 * one; memory outside of the heap; the same as another one), the next one whether its characters
 * have one byte or two.
 */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "runtime/v8/internal.h"

int v8_read_word(const struct v8_reader *r, uint64_t *word, uint64_t pointer, uint32_t offset)
{
	return v8_is_pointer(pointer) ? runtime_read_u64(r->at, word, pointer - 1 + offset)
				      : -ESTALE;
}

int v8_read_u32(const struct v8_reader *r, uint32_t *number, uint64_t pointer, uint32_t offset)
{
	return v8_is_pointer(pointer) ? runtime_read_u32(r->at, number, pointer - 1 + offset)
				      : -ESTALE;
}

int v8_type_of(const struct v8_reader *r, uint32_t *type, uint64_t pointer)
{
	uint64_t map;
	uint16_t is;
	int err = v8_read_word(r, &map, pointer, 0);

	if (err)
		return err;
	if (!v8_is_pointer(map))
		return -ESTALE;
	err = runtime_read(r->at, &is, sizeof(is), map - 1 + r->facts->map_type);
	*type = is;
	return err;
}

int v8_expect(const struct v8_reader *r, uint64_t pointer, uint32_t type)
{
	uint32_t is = 0;
	int err = v8_type_of(r, &is, pointer);

	return err ? err : is == type ? 0 : -ESTALE;
}

enum {
	STRINGS = 0x80, /* types of strings are less */
	KIND = 7,
	ONE_BYTE = 8,
	UNCACHED = 16, /* outside of the heap, and where is only known to a virtual function */
};

enum {
	SEQUENTIAL = 0,
	CONS = 1,
	EXTERNAL = 2,
	SLICED = 3,
	THIN = 5,
};

/* Of strings that refer to others: more are no string. */
#define HOPS_MAX   8
#define LENGTH_MAX (1u << 29)

/*
 * One step towards the characters. 0: c is filled; 1: *string is the next one to be asked; or an
 * error.
 */
static int follow(const struct v8_reader *r, uint64_t *string, uint64_t *skipped,
		  struct v8_characters *c)
{
	const struct v8_facts *f = r->facts;
	uint32_t type = 0;
	uint64_t word;
	int err = v8_type_of(r, &type, *string);

	if (err)
		return err;
	if (type >= STRINGS)
		return -ESTALE;
	c->wide = !(type & ONE_BYTE);
	switch (type & KIND) {
	case SEQUENTIAL:
		c->at = *string - 1 + f->string_chars;
		return 0;
	case EXTERNAL:
		return type & UNCACHED ? -EINVAL
				       : v8_read_word(r, &c->at, *string, f->external_data);
	case CONS:
		/* flattened once: then the second one is empty */
		err = v8_read_word(r, &word, *string, f->cons_second);
		if (!err)
			err = v8_read_u32(r, &type, word, f->string_length);
		if (!err && type)
			err = -ENOTSUP;
		return err ? err : v8_read_word(r, string, *string, f->cons_first) ?: 1;
	case SLICED:
		err = v8_read_word(r, &word, *string, f->sliced_offset);
		if (err)
			return err;
		*skipped += word >> 32;
		return v8_read_word(r, string, *string, f->sliced_parent) ?: 1;
	case THIN:
		return v8_read_word(r, string, *string, f->thin_actual) ?: 1;
	}
	return -ESTALE;
}

int v8_string_characters(const struct v8_reader *r, uint64_t string, struct v8_characters *c)
{
	uint64_t skipped = 0;
	uint32_t hops;
	int err = v8_read_u32(r, &c->length, string, r->facts->string_length);

	if (!err && c->length > LENGTH_MAX)
		err = -ESTALE;
	for (hops = 0; !err && hops < HOPS_MAX; hops++) {
		err = follow(r, &string, &skipped, c);
		if (err < 0)
			return err;
		if (!err) {
			if (skipped > LENGTH_MAX)
				return -ESTALE;
			c->at += skipped << c->wide;
			return 0;
		}
		err = 0;
	}
	return err ? err : -ESTALE;
}

/* Text in the making. */
struct text {
	char *to;
	size_t size, used;
};

/* False: it is full. */
static bool put_point(struct text *t, uint32_t point)
{
	char bytes[4];
	size_t count = text_put_utf8(bytes, point);

	if (count >= t->size - t->used)
		return false;
	memcpy(t->to + t->used, bytes, count);
	t->used += count;
	return true;
}

/* Characters read at once. */
#define PIECE 256

static int put_characters(const struct v8_reader *r, struct text *t, const struct v8_characters *c)
{
	union {
		uint8_t narrow[PIECE];
		uint16_t wide[PIECE];
	} piece;
	uint32_t done, i, count, high = 0;

	for (done = 0; done < c->length; done += count) {
		int err;

		count = c->length - done < PIECE ? c->length - done : PIECE;
		err = runtime_read(r->at, &piece, (size_t)count << c->wide,
				   c->at + ((uint64_t)done << c->wide));
		if (err)
			return err;
		for (i = 0; i < count; i++) {
			uint32_t point = c->wide ? piece.wide[i] : piece.narrow[i];

			if (c->wide && point >> 10 == 0xd800 >> 10) {
				high = point;
				continue;
			}
			if (c->wide && point >> 10 == 0xdc00 >> 10)
				point = high ? 0x10000 + ((high & 0x3ff) << 10 | (point & 0x3ff))
					     : 0xfffd;
			high = 0;
			if (!put_point(t, point))
				return 0;
		}
	}
	return 0;
}

/*
 * Strings that wait to be read, while one of several pieces is: a.b.c is made of five, the first
 * one deepest.
 */
#define WAITING_MAX 64
#define PIECES_MAX  256

int v8_string_text(const struct v8_reader *r, uint64_t string, char *to, size_t size)
{
	uint64_t waiting[WAITING_MAX] = {string};
	struct text t = {to, size, 0};
	uint32_t count = 1, pieces;
	struct v8_characters c;
	int err = 0;

	for (pieces = 0; count && !err && pieces < PIECES_MAX; pieces++) {
		string = waiting[--count];
		err = v8_string_characters(r, string, &c);
		if (!err) {
			err = put_characters(r, &t, &c);
		} else if (err == -ENOTSUP && count + 2 <= WAITING_MAX) {
			err = v8_read_word(r, &waiting[count + 1], string, r->facts->cons_first);
			if (!err)
				err = v8_read_word(r, &waiting[count], string,
						   r->facts->cons_second);
			count += 2;
		}
	}
	to[t.used] = 0;
	return err;
}
