// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/go_pclntab.h"

/*
 * Go's linker names the section of the table, but other linkers put it into their own .data.rel.ro,
 * and the headers of sections can be taken away. Then it is searched for by its first bytes. What
 * the table does not say about itself (where the code begins, since 1.26, and where inline trees
 * are) is in runtime.moduledata, which has no name in a stripped program, but begins with the
 * table's address.
 */

/*
 * How many bytes are searched, of read-only and of writable memory, and steps through tables taken.
 */
#define SEARCH_MAX (512u << 20)
#define WORK_MAX   (256u << 20)

#define PIECE	   65536u

/* The table's header; each field behind the first 8 bytes is a word. */
enum {
	HEADER_MAGIC = 0,
	HEADER_COUNT = 8,
	HEADER_TEXT =
		24, /* since 1.18: where the code begins, and all others 8 bytes further on; */
	HEADER_OFFSETS = 24, /* five of them: names, units, files, values, functions */
	HEADER_MAX = 72,
};

/* What is used of runtime.moduledata: its begin is the same in all versions. */
enum {
	MODULE_TABLE = 0,
	MODULE_NAMES = 8, /* a slice: address, length, capacity */
	MODULE_FUNCTIONS = 128,
	MODULE_FIRST = 160, /* minpc, maxpc */
	MODULE_TEXT = 176,
	MODULE_RODATA_118 = 296, /* followed by gofunc */
	MODULE_RODATA_120 = 312,
	MODULE_MAX = 328,
};

static uint64_t word(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, 8);
	return value;
}

static enum go_layout layout_of(const uint8_t *header)
{
	uint32_t magic;

	memcpy(&magic, header, 4);
	/* two bytes of padding, the smallest length of an instruction, the size of a pointer */
	if (header[4] || header[5] || header[6] != 1 || header[7] != 8)
		return 0;
	switch (magic) {
	case 0xfffffffa:
		return GO_1_16;
	case 0xfffffff0:
		return GO_1_18;
	case 0xfffffff1:
		return GO_1_20;
	default:
		return 0;
	}
}

/* Takes a header apart; false: no table of left bytes begins with it. */
static bool read_header(struct go_table *t, const uint8_t *header, uint64_t left)
{
	const uint8_t *offsets = header + HEADER_OFFSETS;
	uint64_t entry, end;

	t->layout = layout_of(header);
	if (!t->layout)
		return false;
	if (t->layout != GO_1_16) {
		t->text = word(header + HEADER_TEXT);
		offsets += 8;
	}
	t->count = word(header + HEADER_COUNT);
	t->names = word(offsets);
	t->units = word(offsets + 8);
	t->files = word(offsets + 16);
	t->pcs = word(offsets + 24);
	t->list = word(offsets + 32);
	entry = t->layout == GO_1_16 ? 16 : 8;
	if (!t->count || t->count > UINT32_MAX || t->list > left || t->names > t->units ||
	    t->units > t->files || t->files > t->pcs || t->pcs > t->list || t->names < 64)
		return false;
	end = t->list + (t->count + 1) * entry;
	return end <= left;
}

/* The first place of a header in [from, from + size), 8 bytes aligned; UINT64_MAX: none. */
static uint64_t search_header(const struct elf_image *image, uint64_t from, uint64_t size,
			      uint8_t *piece)
{
	uint64_t at = (from + 7) & ~7ull, end = from + size, i, n;
	struct go_table t = {0};

	for (; at + HEADER_MAX <= end; at += n - HEADER_MAX + 8) {
		n = end - at < PIECE ? (end - at) & ~7ull : PIECE;
		if (n < HEADER_MAX || !elf_image_read(image, at, piece, n))
			break;
		for (i = 0; i + HEADER_MAX <= n; i += 8)
			if (read_header(&t, piece + i, end - at - i))
				return at + i;
	}
	return UINT64_MAX;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Where the table is and how large it is at most. 0, -ENOENT or -ENOMEM. */
static int locate(const struct elf_image *image, uint64_t *address, uint64_t *size)
{
	uint64_t budget = SEARCH_MAX;
	int err = -ENOENT;
	uint8_t *piece;

	if (image->go_pclntab.in_file) {
		*address = image->go_pclntab.start;
		*size = least(image->go_pclntab.in_file, elf_image_left(image, *address));
		return *size ? 0 : -ENOENT;
	}
	/* other programs are not searched for what they do not have */
	if (image->has_sections && !image->go_buildinfo.in_file)
		return -ENOENT;
	piece = malloc(PIECE);
	if (!piece)
		return -ENOMEM;
	for (unsigned int i = 0; i < image->loads && err && budget; i++) {
		const struct elf_range *l = &image->load[i];
		uint64_t left = elf_image_left(image, l->start);

		*address = search_header(image, l->start, least(left, budget), piece);
		budget -= least(left, budget);
		if (*address != UINT64_MAX) {
			*size = elf_image_left(image, *address);
			err = 0;
		}
	}
	free(piece);
	return err;
}

/* "go1.19.8" from .go.buildinfo (debug/buildinfo in Go's source): the 19, or 0. */
static uint32_t minor_version(const struct elf_image *image)
{
	static const char magic[] = "\xff Go buildinf:";
	uint8_t header[64] = {0};
	uint64_t at = image->go_buildinfo.start, pointers[2];
	uint32_t minor = 0;
	const char *text;

	if (image->go_buildinfo.in_file < 32 || !elf_image_read(image, at, header, 32) ||
	    memcmp(header, magic, sizeof(magic) - 1))
		return 0;
	if (header[15] & 2) { /* since 1.18: a length and the text */
		if (!elf_image_read(image, at + 32, header, 16))
			return 0;
		text = (const char *)header + 1;
	} else { /* a pointer to a string's pointer and length */
		if (!elf_image_read(image, word(header + 16), pointers, sizeof(pointers)) ||
		    !elf_image_read(image, pointers[0], header, 16))
			return 0;
		text = (const char *)header;
	}
	header[17] = 0;
	if (strncmp(text, "go1.", 4))
		return 0;
	for (text += 4; *text >= '0' && *text <= '9' && minor < 1000; text++)
		minor = minor * 10 + (uint32_t)(*text - '0');
	return minor;
}

/* Whether runtime.moduledata of this table lies at address, by what it must agree with. */
static bool is_module(const struct go_table *t, const uint8_t *m)
{
	return word(m + MODULE_TABLE) == t->address &&
	       word(m + MODULE_NAMES) == t->address + t->names &&
	       word(m + MODULE_FUNCTIONS) == t->address + t->list &&
	       word(m + MODULE_FIRST) < word(m + MODULE_FIRST + 8) &&
	       word(m + MODULE_TEXT) <= word(m + MODULE_FIRST) &&
	       elf_image_is_code(t->image, word(m + MODULE_TEXT), 1);
}

static bool try_module(struct go_table *t, struct elf_image *image, uint64_t address)
{
	unsigned int owns = image->owns;
	uint64_t rodata, inlined;
	struct elf_part part;
	bool good;

	if (elf_image_load(image, address, MODULE_MAX, &part))
		return false;
	good = is_module(t, part.at);
	if (good) {
		const uint8_t *m = part.at;

		t->module = address;
		t->text = word(m + MODULE_TEXT);
		m += t->layout == GO_1_20 ? MODULE_RODATA_120 : MODULE_RODATA_118;
		rodata = word(m);
		inlined = word(m + 8);
		if (t->layout != GO_1_16 && inlined >= rodata && elf_image_left(image, inlined))
			t->inlined = inlined;
	}
	/* it is not needed any more */
	elf_image_disown(image, owns);
	return good;
}

/* The next word in [*at, end) that is value; false: there is none. */
static bool search_word(const struct elf_image *image, uint64_t *at, uint64_t end, uint64_t value,
			uint8_t *piece)
{
	uint64_t i, n;

	for (*at = (*at + 7) & ~7ull; *at + 8 <= end; *at += n) {
		n = end - *at < PIECE ? (end - *at) & ~7ull : PIECE;
		if (!elf_image_read(image, *at, piece, n))
			return false;
		for (i = 0; i < n; i += 8) {
			if (word(piece + i) == value) {
				*at += i;
				return true;
			}
		}
	}
	return false;
}

/* Tries this often at most: a segment full of the table's address does not belong to a program. */
#define TRIES_MAX 16

static int find_module(struct go_table *t, struct elf_image *image)
{
	uint64_t place = elf_image_relocated_to(image, t->address), budget = SEARCH_MAX;
	unsigned int tries = 0;
	uint8_t *piece;

	if (place && try_module(t, image, place))
		return 0;
	piece = malloc(PIECE);
	if (!piece)
		return -ENOMEM;
	/* data mostly lie behind all else */
	for (unsigned int i = image->loads; i-- && !t->module && budget;) {
		uint64_t at = image->load[i].start;
		uint64_t size = least(elf_image_left(image, at), budget), end = at + size;

		budget -= size;
		if (elf_image_is_code(image, at, 1))
			continue;
		while (tries < TRIES_MAX && search_word(image, &at, end, t->address, piece)) {
			tries++;
			if (try_module(t, image, at))
				break;
			at += 8;
		}
	}
	free(piece);
	return 0;
}

/* Where all functions lie must be code, and their order that of their addresses at both ends. */
static bool is_sound(const struct go_table *t)
{
	struct go_function first, last;

	return go_table_function(t, 0, &first) && go_table_function(t, t->count - 1, &last) &&
	       last.end > first.start &&
	       elf_image_is_code(t->image, first.start, last.end - first.start);
}

int go_table_open(struct go_table *t, struct elf_image *image)
{
	struct elf_part part;
	uint64_t address, size;
	int err;

	*t = (struct go_table){.image = image, .work = WORK_MAX};
	err = locate(image, &address, &size);
	if (err)
		return err;
	err = elf_image_load(image, address, size, &part);
	if (err)
		return err == -ENOMEM ? err : -EBADMSG;
	t->at = part.at;
	t->size = part.size;
	t->address = address;
	if (t->size < HEADER_MAX || !read_header(t, t->at, t->size))
		return -EBADMSG;
	t->minor = minor_version(image);
	err = find_module(t, image);
	if (err)
		return err;
	return is_sound(t) ? 0 : -EBADMSG;
}
