// SPDX-License-Identifier: Apache-2.0
#include "film/column.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/map.h"

enum {
	CONSTANT,
	PLAIN,
	DELTA,
	DICTIONARY,
};

/*
 * Higher levels find next to nothing more in planes and cost the recorder time (doc/film.md); of
 * long columns the lowest one leaves 1 % more.
 */
#define ZSTD_LEVEL	3
#define ZSTD_LEVEL_FAST 1

/*
 * Tables of zstd at a level that was asked for: 5 MB instead of 16, for blocks that are 1 % larger.
 */
#define HASH_LOG  17
#define CHAIN_LOG 20

/*
 * Shorter planes share a zstd block: its header and entropy table would cost more than they save.
 */
#define CUT_MIN 256

/* No column needs more, in any encoding: a dictionary as long as the column, and headers. */
#define COLUMN_MAX(count) (16 * (count) + 64)

/* A column as numbers from 0 on, to be cut into planes. */
struct planes {
	const uint64_t *values;
	size_t count;
	unsigned int width; /* bytes of the largest number */
	double cost;	    /* about how many bytes they take compressed */
};

static unsigned int width_of(uint64_t max)
{
	unsigned int width = 0;

	for (; max; max >>= 8)
		width++;
	return width;
}

/* This many numbers of a column show well enough what all of them cost. */
#define SAMPLE 1024

/*
 * Bytes of one plane after entropy coding: Shannon's bound, and what the table of symbols takes.
 * Of a long one some are looked at: at odd distances, as threads that take turns make every second
 * number alike.
 */
static double plane_cost(const uint64_t *values, size_t count, unsigned int shift)
{
	uint32_t counts[256] = {0}, seen = 0;
	size_t step = (count / SAMPLE) | 1, i;
	double bits = 0, symbols = 0;

	for (i = 0; i < count; i += step, seen++)
		counts[values[i] >> shift & 0xff]++;
	for (i = 0; i < 256; i++) {
		if (!counts[i])
			continue;
		bits += (double)((float)counts[i] * log2f((float)seen / (float)counts[i]));
		symbols++;
	}
	bits *= (double)count / (double)seen;
	return fmin(bits / 8 + symbols / 2, (double)count) + 4;
}

/* all: the bits that any of the numbers has. */
static struct planes planes_of(const uint64_t *values, size_t count, uint64_t all)
{
	struct planes p = {.values = values, .count = count, .width = width_of(all)};

	for (unsigned int k = 0; k < p.width; k++)
		p.cost += plane_cost(values, count, 8 * k);
	return p;
}

static void cut_here(struct columns *c)
{
	if (!vec_push(&c->cuts, c->plain.count))
		c->failed = true;
}

/* Makes room for count bytes after the end of b, to be written by someone else. */
static uint8_t *room_for(struct buf *b, size_t count)
{
	if (count > b->room - b->count &&
	    !vec_grow_raw((void **)&b->at, &b->room, b->count + count, 1))
		return NULL;
	return b->at + b->count;
}

static void put_planes(struct columns *c, const struct planes *p)
{
	unsigned int k;
	size_t i;

	buf_put_u8(&c->plain, (uint8_t)p->width);
	for (k = 0; k < p->width; k++) {
		uint8_t *plane = room_for(&c->plain, p->count);

		if (!plane) {
			c->failed = true;
			return;
		}
		if (p->count >= CUT_MIN)
			cut_here(c);
		for (i = 0; i < p->count; i++)
			plane[i] = (uint8_t)(p->values[i] >> (8 * k));
		c->plain.count += p->count;
	}
	if (p->count >= CUT_MIN)
		cut_here(c);
}

/* A column in the encodings other than a dictionary, of which the cheapest is put. */
struct numbers {
	uint64_t first, base;
	int64_t step;
	bool is_constant, are_bytes; /* a byte holds each, less the least */
	struct planes plain, deltas;
	double cost;
};

/* What each of them takes. scratch: for 2 * count numbers, to live until the column is put. */
static struct numbers look_at(const uint64_t *values, size_t count, uint64_t *scratch)
{
	struct numbers n = {.first = values[0], .base = values[0], .step = INT64_MAX};
	uint64_t *plain = scratch, *deltas = scratch + count;
	uint64_t most = values[0], all_plain = 0, all_deltas = 0;
	size_t i;

	for (i = 1; i < count; i++) {
		int64_t step = (int64_t)(values[i] - values[i - 1]);

		n.base = values[i] < n.base ? values[i] : n.base;
		most = values[i] > most ? values[i] : most;
		n.step = step < n.step ? step : n.step;
	}
	n.is_constant = n.base == most;
	n.are_bytes = most - n.base <= UINT8_MAX;
	if (n.is_constant)
		return n;
	plain[0] = all_plain = values[0] - n.base;
	for (i = 1; i < count; i++) {
		plain[i] = values[i] - n.base;
		deltas[i - 1] = values[i] - values[i - 1] - (uint64_t)n.step;
		all_plain |= plain[i];
		all_deltas |= deltas[i - 1];
	}
	n.plain = planes_of(plain, count, all_plain);
	n.deltas = planes_of(deltas, count - 1, all_deltas);
	n.cost = fmin(n.plain.cost, n.deltas.cost);
	return n;
}

static void put_looked_at(struct columns *c, const struct numbers *n)
{
	if (n->is_constant) {
		buf_put_u8(&c->plain, CONSTANT);
		buf_put_varint(&c->plain, n->first);
	} else if (n->deltas.cost < n->plain.cost) {
		buf_put_u8(&c->plain, DELTA);
		buf_put_varint(&c->plain, n->first);
		buf_put_varint(&c->plain, zigzag(n->step));
		put_planes(c, &n->deltas);
	} else {
		buf_put_u8(&c->plain, PLAIN);
		buf_put_varint(&c->plain, n->base);
		put_planes(c, &n->plain);
	}
}

/* Puts the cheapest encoding other than a dictionary. scratch: for 2 * count numbers. */
static void put_numbers(struct columns *c, const uint64_t *values, size_t count, uint64_t *scratch)
{
	struct numbers n = look_at(values, count, scratch);

	put_looked_at(c, &n);
}

struct entry {
	uint64_t value;
	size_t uses, index;
};

static int by_uses(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->uses != y->uses)
		return x->uses > y->uses ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/*
 * The dictionary of a column, most used value first, so that most indices are small. Fills indices
 * and values; returns its size, or 0 when it would not pay or there is no memory for it.
 */
static size_t make_dictionary(const uint64_t *values, size_t count, uint64_t *indices,
			      uint64_t *dictionary)
{
	vec(struct entry) entries = {0};
	struct map known = {0};
	uint64_t *rank = NULL;
	size_t i, size = 0;

	for (i = 0; i < count; i++) {
		const uint64_t *at = map_get(&known, values[i]);
		struct entry new = {values[i], 1, entries.count};

		indices[i] = at ? *at : entries.count;
		if (at) {
			entries.at[*at].uses++;
			continue;
		}
		if (entries.count > count / 2 || !map_put(&known, values[i], entries.count) ||
		    !vec_push(&entries, new))
			goto out;
	}
	rank = entries.count ? malloc(entries.count * sizeof(*rank)) : NULL;
	if (!rank)
		goto out;
	qsort(entries.at, entries.count, sizeof(*entries.at), by_uses);
	size = entries.count;
	for (i = 0; i < size; i++) {
		rank[entries.at[i].index] = i;
		dictionary[i] = entries.at[i].value;
	}
	for (i = 0; i < count; i++)
		indices[i] = rank[indices[i]];
out:
	free(rank);
	map_free(&known);
	vec_free(&entries);
	return size;
}

void columns_put(struct columns *c, const uint64_t *values, size_t count)
{
	uint64_t *indices, *dictionary, *scratch;
	struct numbers plain, of_indices;
	size_t size = 0;

	if (!vec_reserve(&c->scratch, 6 * count)) {
		c->failed = true;
		return;
	}
	scratch = c->scratch.at;
	indices = scratch + 4 * count;
	dictionary = scratch + 5 * count;
	plain = look_at(values, count, scratch);
	/* a dictionary of bytes has as many different ones, just others */
	if (!plain.are_bytes)
		size = make_dictionary(values, count, indices, dictionary);
	if (size) {
		double cost = look_at(dictionary, size, scratch + 2 * count).cost;

		of_indices = look_at(indices, count, scratch + 2 * count);
		if (cost + of_indices.cost < plain.cost) {
			buf_put_u8(&c->plain, DICTIONARY);
			buf_put_varint(&c->plain, size);
			put_numbers(c, dictionary, size, scratch);
			put_looked_at(c, &of_indices);
			return;
		}
	}
	put_looked_at(c, &plain);
}

void columns_put_constant(struct columns *c, uint64_t value)
{
	buf_put_u8(&c->plain, CONSTANT);
	buf_put_varint(&c->plain, value);
}

void columns_put_numbers(struct columns *c, const uint64_t *values, size_t count)
{
	if (vec_reserve(&c->scratch, 2 * count))
		put_numbers(c, values, count, c->scratch.at);
	else
		c->failed = true;
}

void columns_put_bytes(struct columns *c, const void *bytes, size_t count)
{
	buf_put(&c->plain, bytes, count);
}

void columns_begin(struct columns *c)
{
	c->plain.count = c->packed.count = 0;
	c->cuts.count = 0;
	c->failed = c->is_fast = false;
}

static int level_of(const struct columns *c)
{
	if (c->level)
		return c->level;
	return c->is_fast ? ZSTD_LEVEL_FAST : ZSTD_LEVEL;
}

int columns_end(struct columns *c)
{
	ZSTD_inBuffer in = {c->plain.at, 0, 0};
	ZSTD_outBuffer out;
	size_t i, left, room;

	cut_here(c);
	if (c->failed || c->plain.failed)
		return -ENOMEM;
	if (!c->zstd)
		c->zstd = ZSTD_createCCtx();
	/* a zstd block has a header of 3 bytes; each cut may end one early */
	room = ZSTD_compressBound(c->plain.count) + 16 * (c->cuts.count + 1);
	out = (ZSTD_outBuffer){room_for(&c->packed, room), room, 0};
	if (!c->zstd || !out.dst)
		return -ENOMEM;
	ZSTD_CCtx_reset(c->zstd, ZSTD_reset_session_and_parameters);
	ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_compressionLevel, level_of(c));
	if (c->level) {
		ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_hashLog, HASH_LOG);
		ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_chainLog, CHAIN_LOG);
	}
	ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_checksumFlag, 1);
	ZSTD_CCtx_setPledgedSrcSize(c->zstd, c->plain.count);
	for (i = 0; i < c->cuts.count; i++) {
		in.size = c->cuts.at[i];
		left = ZSTD_compressStream2(c->zstd, &out, &in,
					    i + 1 < c->cuts.count ? ZSTD_e_flush : ZSTD_e_end);
		if (ZSTD_isError(left) || left)
			return -ENOMEM;
	}
	c->packed.count = out.pos;
	return 0;
}

void columns_free(struct columns *c)
{
	buf_free(&c->plain);
	buf_free(&c->packed);
	vec_free(&c->cuts);
	vec_free(&c->scratch);
	vec_free(&c->gathered);
	ZSTD_freeCCtx(c->zstd);
	*c = (struct columns){0};
}

int column_reader_begin(struct column_reader *r, const void *data, size_t size, size_t count,
			unsigned int columns, size_t text)
{
	size_t room = columns * (size_t)COLUMN_MAX(count) + text, got;

	r->left = (struct bytes){.failed = true};
	if (r->room < room) {
		uint8_t *plain = realloc(r->plain, room);

		if (!plain)
			return -ENOMEM;
		r->plain = plain;
		r->room = room;
	}
	if (!vec_reserve(&r->scratch, 2 * count))
		return -ENOMEM;
	if (!r->zstd)
		r->zstd = ZSTD_createDCtx();
	if (!r->zstd)
		return -ENOMEM;
	got = ZSTD_decompressDCtx(r->zstd, r->plain, room, data, size);
	if (ZSTD_isError(got))
		return ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation ? -ENOMEM : -EBADMSG;
	r->left = (struct bytes){.at = r->plain, .end = r->plain + got};
	return 0;
}

/* As few numbers that they are near while all planes of them are added up. */
#define NUMBERS_AT_ONCE 1024

static void add_planes(const uint8_t *planes, unsigned int width, size_t distance, uint64_t base,
		       uint64_t *values, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		values[i] = base;
	for (unsigned int k = 0; k < width; k++, planes += distance)
		for (i = 0; i < count; i++)
			values[i] += (uint64_t)planes[i] << (8 * k);
}

/* Reads planes of numbers to each of which base is added. */
static int get_planes(struct bytes *b, uint64_t base, uint64_t *values, size_t count)
{
	unsigned int width = bytes_u8(b);
	const uint8_t *planes;

	if (width > 8)
		return -EBADMSG;
	planes = bytes_read(b, width * count);
	if (!planes || b->failed)
		return -EBADMSG;
	for (size_t from = 0; from < count; from += NUMBERS_AT_ONCE) {
		size_t some = count - from < NUMBERS_AT_ONCE ? count - from : NUMBERS_AT_ONCE;

		add_planes(planes + from, width, count, base, values + from, some);
	}
	return 0;
}

static int get_numbers(struct bytes *b, unsigned int encoding, uint64_t *values, size_t count)
{
	uint64_t base = bytes_varint(b), step;
	size_t i;

	switch (encoding) {
	case CONSTANT:
		for (i = 0; i < count; i++)
			values[i] = base;
		return b->failed ? -EBADMSG : 0;
	case PLAIN:
		return get_planes(b, base, values, count);
	case DELTA:
		step = (uint64_t)unzigzag(bytes_varint(b));
		if (!count || get_planes(b, step, values + 1, count - 1))
			return -EBADMSG;
		values[0] = base;
		for (i = 1; i < count; i++)
			values[i] += values[i - 1];
		return 0;
	default:
		return -EBADMSG;
	}
}

static int get_dictionary(struct column_reader *r, uint64_t *values, size_t count)
{
	uint64_t size = bytes_varint(&r->left);
	uint64_t *dictionary = r->scratch.at;
	size_t i;

	if (!size || size > count)
		return -EBADMSG;
	if (get_numbers(&r->left, bytes_u8(&r->left), dictionary, (size_t)size) ||
	    get_numbers(&r->left, bytes_u8(&r->left), values, count))
		return -EBADMSG;
	for (i = 0; i < count; i++) {
		if (values[i] >= size)
			return -EBADMSG;
		values[i] = dictionary[values[i]];
	}
	return 0;
}

bool column_reader_constant(struct column_reader *r, uint64_t *value)
{
	struct bytes next = r->left;

	if (bytes_u8(&next) != CONSTANT)
		return false;
	*value = bytes_varint(&next);
	if (next.failed)
		return false;
	r->left = next;
	return true;
}

int column_reader_get(struct column_reader *r, uint64_t *values, size_t count)
{
	unsigned int encoding = bytes_u8(&r->left);

	if (count * 2 > r->scratch.room)
		return -EBADMSG;
	if (encoding == DICTIONARY)
		return get_dictionary(r, values, count);
	return get_numbers(&r->left, encoding, values, count);
}

const void *column_reader_bytes(struct column_reader *r, size_t count)
{
	return bytes_read(&r->left, count);
}

int column_reader_end(const struct column_reader *r)
{
	return r->left.failed || bytes_left(&r->left) ? -EBADMSG : 0;
}

void column_reader_free(struct column_reader *r)
{
	free(r->plain);
	vec_free(&r->scratch);
	ZSTD_freeDCtx(r->zstd);
	*r = (struct column_reader){0};
}
