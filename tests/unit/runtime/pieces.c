// SPDX-License-Identifier: Apache-2.0
#include "pieces.h"

#include <string.h>

void pieces_free(struct pieces *pieces)
{
	vec_free(&pieces->pages);
	map_free(&pieces->by_number);
}

static struct pieces_page *page_of(const struct pieces *pieces, uint64_t address)
{
	uint64_t *place = map_get(&pieces->by_number, address >> 12);

	return place ? &pieces->pages.at[*place] : NULL;
}

static struct pieces_page *page_made(struct pieces *pieces, uint64_t address)
{
	struct pieces_page *page = page_of(pieces, address);

	if (page)
		return page;
	if (!vec_reserve(&pieces->pages, pieces->pages.count + 1) ||
	    !map_put(&pieces->by_number, address >> 12, pieces->pages.count))
		return NULL;
	page = &pieces->pages.at[pieces->pages.count++];
	memset(page, 0, sizeof(*page));
	page->number = address >> 12;
	return page;
}

/* How many of count bytes from at on one byte of known has: eight, where they fill it. */
static size_t together(size_t at, size_t count)
{
	return at & 7 || count < 8 ? 1 : 8;
}

static size_t in_page(size_t at, size_t count)
{
	return count < 4096 - at ? count : 4096 - at;
}

static void set_known(struct pieces_page *page, size_t at, size_t count)
{
	size_t n;

	for (; count; at += n, count -= n) {
		n = together(at, count);
		page->known[at >> 3] |= (uint8_t)(n == 8 ? 0xff : 1u << (at & 7));
	}
}

bool pieces_put(struct pieces *pieces, uint64_t address, const void *bytes, size_t count)
{
	const uint8_t *from = bytes;

	while (count) {
		struct pieces_page *page = page_made(pieces, address);
		size_t at = address & 4095, n = in_page(at, count);

		if (!page)
			return false;
		memcpy(page->bytes + at, from, n);
		set_known(page, at, n);
		from += n;
		address += n;
		count -= n;
	}
	return true;
}

static bool is_known(const struct pieces_page *page, size_t at)
{
	return page->known[at >> 3] >> (at & 7) & 1;
}

static bool are_known(const struct pieces_page *page, size_t at, size_t count)
{
	size_t n;

	for (; count; at += n, count -= n) {
		n = together(at, count);
		if (n == 8 ? page->known[at >> 3] != 0xff : !is_known(page, at))
			return false;
	}
	return true;
}

bool pieces_get(const struct pieces *pieces, uint64_t address, void *to, size_t count)
{
	uint8_t *into = to;

	while (count) {
		const struct pieces_page *page = page_of(pieces, address);
		size_t at = address & 4095, n = in_page(at, count);

		if (!page || !are_known(page, at, n))
			return false;
		memcpy(into, page->bytes + at, n);
		into += n;
		address += n;
		count -= n;
	}
	return true;
}

void pieces_forget(struct pieces *pieces, uint64_t address, size_t count)
{
	for (; count; count--, address++) {
		struct pieces_page *page = page_of(pieces, address);
		size_t at = address & 4095;

		if (page)
			page->known[at >> 3] &= (uint8_t) ~(1u << (at & 7));
	}
}

static int by_number(const void *a, const void *b)
{
	const struct pieces_page *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

bool pieces_list(struct pieces *pieces, pieces_runs *runs)
{
	size_t i, at;

	if (pieces->pages.count)
		qsort(pieces->pages.at, pieces->pages.count, sizeof(*pieces->pages.at), by_number);
	for (i = 0; i < pieces->pages.count; i++) {
		const struct pieces_page *page = &pieces->pages.at[i];

		map_put(&pieces->by_number, page->number, i);
		for (at = 0; at < 4096; at++) {
			uint64_t address = (page->number << 12) + at;
			struct pieces_run *last = runs->count ? vec_last(runs) : NULL;

			/* most of most pages */
			if (!(at & 7) && !page->known[at >> 3])
				at += 7;
			if (!is_known(page, at))
				continue;
			if (last && last->address + last->count == address)
				last->count++;
			else if (!vec_push(runs, (struct pieces_run){address, 1}))
				return false;
		}
	}
	return true;
}

void pieces_write(struct pieces *pieces, struct buf *to)
{
	pieces_runs runs = {0};
	uint64_t behind = 0;
	size_t i;

	to->failed |= !pieces_list(pieces, &runs);
	buf_put_varint(to, runs.count);
	vec_foreach (&runs, run) {
		buf_put_varint(to, run->address - behind);
		buf_put_varint(to, run->count);
		behind = run->address + run->count;
	}
	/* bytes apart from numbers: both compress better */
	vec_foreach (&runs, run) {
		for (i = 0; i < run->count; i++) {
			const struct pieces_page *page = page_of(pieces, run->address + i);

			buf_put_u8(to, page ? page->bytes[(run->address + i) & 4095] : 0);
		}
	}
	vec_free(&runs);
}

void pieces_read(struct pieces *pieces, struct bytes *from, size_t limit)
{
	uint64_t count = bytes_varint(from), behind = 0, total = 0, i;
	pieces_runs runs = {0};

	for (i = 0; i < count && !from->failed; i++) {
		struct pieces_run run;

		run.address = behind + bytes_varint(from);
		run.count = bytes_varint(from);
		behind = run.address + run.count;
		if (run.count > limit - total || behind < run.address || !vec_push(&runs, run))
			from->failed = true;
		else
			total += run.count;
	}
	vec_foreach (&runs, run) {
		const uint8_t *bytes = bytes_read(from, run->count);

		if (!bytes || !pieces_put(pieces, run->address, bytes, run->count)) {
			from->failed = true;
			break;
		}
	}
	vec_free(&runs);
}
