/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNWIND_GO_MADE_H
#define TESTS_UNWIND_GO_MADE_H

#include <string.h>

#include "unwind/go_pclntab.h"

/*
 * A small image with a table of Go's functions in each layout, made by hand from what Go's source
 * says of them. Two functions, 64 bytes each:
 *
 *	main.outer  a.go, line 10; at 16 .. 32 main.inner was inlined, from b.go:57, called in line
 *		    12; rsp is 24 below the return address from 4 to 60, rbp is saved there
 *	main.last   b.go, line 20; a top frame
 */
#define MADE_TABLE  0x1000
#define MADE_MODULE 0x2000
#define MADE_TREE   0x2400
#define MADE_TEXT   0x3000
#define MADE_SIZE   0x4000

enum {
	MADE_NAMES = 72,
	MADE_UNITS = 128,
	MADE_FILES = 160,
	MADE_VALUES = 192,
	MADE_LIST = 320,
};

struct go_made {
	uint8_t bytes[MADE_SIZE];
};

static inline void made_u32(struct go_made *m, uint32_t at, uint32_t value)
{
	memcpy(m->bytes + at, &value, 4);
}

static inline void made_u64(struct go_made *m, uint32_t at, uint64_t value)
{
	memcpy(m->bytes + at, &value, 8);
}

/* One of the tables of values: pairs of a signed difference and a length. Returns its offset. */
static inline uint32_t made_values(struct go_made *m, uint32_t *end, const int (*pairs)[2],
				   size_t count)
{
	uint32_t start = *end;

	for (size_t i = 0; i < count; i++) {
		int d = pairs[i][0];

		m->bytes[MADE_TABLE + MADE_VALUES + (*end)++] =
			(uint8_t)(d < 0 ? -2 * d - 1 : 2 * d);
		m->bytes[MADE_TABLE + MADE_VALUES + (*end)++] = (uint8_t)pairs[i][1];
	}
	m->bytes[MADE_TABLE + MADE_VALUES + (*end)++] = 0;
	return start;
}

struct made_function {
	uint32_t start, name, pcsp, pcfile, pcln, tree_index;
	uint8_t flags;
};

static inline void made_record(struct go_made *m, enum go_layout layout, uint32_t at,
			       const struct made_function *f)
{
	uint32_t r = at + (layout == GO_1_16 ? 8 : 4), size;

	if (layout == GO_1_16)
		made_u64(m, at, MADE_TEXT + f->start);
	else
		made_u32(m, at, f->start);
	made_u32(m, r, f->name);
	made_u32(m, r + 12, f->pcsp);
	made_u32(m, r + 16, f->pcfile);
	made_u32(m, r + 20, f->pcln);
	made_u32(m, r + 24, 3); /* tables besides these */
	made_u32(m, r + 28, 0); /* compilation unit */
	size = r + 32 - at;
	if (layout == GO_1_20)
		size += 4; /* startLine */
	m->bytes[at + size + 1] = f->flags;
	m->bytes[at + size + 3] = 4; /* of data */
	size += 4;
	made_u32(m, at + size + 8, f->tree_index);
	size += 12;
	if (layout == GO_1_16) {
		size = ((at + size + 7) & ~7u) - at;
		made_u64(m, at + size + 24, f->tree_index ? MADE_TREE : 0);
	} else {
		made_u32(m, at + size + 12, f->tree_index ? 16 : UINT32_MAX);
	}
}

static inline void made_tree(struct go_made *m, enum go_layout layout, uint32_t inner)
{
	if (layout == GO_1_20) { /* funcID, name, parentPc, startLine */
		made_u32(m, MADE_TREE + 4, inner);
		made_u32(m, MADE_TREE + 8, 8);
		made_u32(m, MADE_TREE + 12, 70);
		return;
	}
	made_u32(m, MADE_TREE, 0xffff); /* no parent */
	made_u32(m, MADE_TREE + 4, 0);	/* a.go */
	made_u32(m, MADE_TREE + 8, 12);
	made_u32(m, MADE_TREE + 12, inner);
	made_u32(m, MADE_TREE + 16, 8);
}

static inline void made_module(struct go_made *m, enum go_layout layout)
{
	made_u64(m, MADE_MODULE, MADE_TABLE);
	made_u64(m, MADE_MODULE + 8, MADE_TABLE + MADE_NAMES);
	made_u64(m, MADE_MODULE + 128, MADE_TABLE + MADE_LIST);
	made_u64(m, MADE_MODULE + 160, MADE_TEXT);
	made_u64(m, MADE_MODULE + 168, MADE_TEXT + 128);
	made_u64(m, MADE_MODULE + 176, MADE_TEXT);
	if (layout == GO_1_16)
		return;
	made_u64(m, MADE_MODULE + (layout == GO_1_18 ? 296 : 312), MADE_TREE - 0x100);
	made_u64(m, MADE_MODULE + (layout == GO_1_18 ? 304 : 320), MADE_TREE - 16);
}

static inline void made_header(struct go_made *m, enum go_layout layout)
{
	static const uint32_t magic[] = {0, 0xfffffffa, 0xfffffff0, 0xfffffff1};
	static const uint32_t offsets[] = {MADE_NAMES, MADE_UNITS, MADE_FILES, MADE_VALUES,
					   MADE_LIST};
	uint32_t at = MADE_TABLE + (layout == GO_1_16 ? 24 : 32);

	made_u32(m, MADE_TABLE, magic[layout]);
	m->bytes[MADE_TABLE + 6] = 1;
	m->bytes[MADE_TABLE + 7] = 8;
	made_u64(m, MADE_TABLE + 8, 2);
	made_u64(m, MADE_TABLE + 16, 2);
	for (size_t i = 0; i < 5; i++)
		made_u64(m, at + 8 * (uint32_t)i, offsets[i]);
}

static inline void made_list(struct go_made *m, enum go_layout layout, const uint32_t *records)
{
	uint32_t at = MADE_TABLE + MADE_LIST;

	for (uint32_t i = 0; i < 3; i++) {
		if (layout == GO_1_16) {
			made_u64(m, at + 16 * i, MADE_TEXT + 64 * i);
			made_u64(m, at + 16 * i + 8, records[i]);
		} else {
			made_u32(m, at + 8 * i, 64 * i);
			made_u32(m, at + 8 * i + 4, records[i]);
		}
	}
}

/* push %rbp; mov %rsp, %rbp at 3, which is where the distance becomes 8. */
static inline void made_code(struct go_made *m)
{
	memset(m->bytes + MADE_TEXT, 0x90, 128);
	memcpy(m->bytes + MADE_TEXT + 3, "\x55\x48\x89\xe5", 4);
}

static inline void go_make(struct go_made *m, enum go_layout layout)
{
	static const char names[] = "main.outer\0main.inner\0main.last";
	static const char files[] = "a.go\0b.go";
	static const uint32_t records[3] = {128, 256, 0};
	/* 0 below the return address, then 8, 24, and 0 again; the first difference is from -1 */
	static const int distance[][2] = {{1, 4}, {8, 4}, {16, 52}, {-24, 4}};
	static const int none[][2] = {{1, 64}}, lines[][2] = {{11, 8}, {2, 8}, {45, 16}, {-47, 32}};
	static const int file[][2] = {{1, 16}, {1, 16}, {-1, 32}}, second[][2] = {{2, 64}};
	static const int tree[][2] = {{0, 16}, {1, 16}, {-1, 32}}, line[][2] = {{21, 64}};
	uint32_t end = 1; /* 0 would be no table */
	struct made_function outer = {.start = 0}, last = {.start = 64, .flags = GO_TOP_FRAME};

	memset(m, 0, sizeof(*m));
	made_header(m, layout);
	memcpy(m->bytes + MADE_TABLE + MADE_NAMES, names, sizeof(names));
	memcpy(m->bytes + MADE_TABLE + MADE_FILES, files, sizeof(files));
	made_u32(m, MADE_TABLE + MADE_UNITS, 0);
	made_u32(m, MADE_TABLE + MADE_UNITS + 4, 5);
	outer.pcsp = made_values(m, &end, distance, 4);
	outer.pcfile = made_values(m, &end, file, 3);
	outer.pcln = made_values(m, &end, lines, 4);
	outer.tree_index = made_values(m, &end, tree, 3);
	last.name = 22;
	last.pcsp = made_values(m, &end, none, 1);
	last.pcfile = made_values(m, &end, second, 1);
	last.pcln = made_values(m, &end, line, 1);
	made_list(m, layout, records);
	made_record(m, layout, MADE_TABLE + MADE_LIST + records[0], &outer);
	made_record(m, layout, MADE_TABLE + MADE_LIST + records[1], &last);
	made_tree(m, layout, 11);
	made_module(m, layout);
	made_code(m);
}

/* The image around it, as elf_image_open_memory() would fill it. */
static inline struct elf_image go_made_image(const void *bytes, uint64_t size)
{
	struct elf_image image = {.fd = -1, .memory = bytes, .size = size, .has_sections = true};
	const uint64_t borders[] = {MADE_TABLE, MADE_MODULE, MADE_TEXT, MADE_SIZE};

	budget_begin(&image.budget, ELF_IMAGE_MEMORY, ELF_IMAGE_BYTES, ELF_IMAGE_STEPS,
		     ELF_IMAGE_CPU_NS);
	for (int i = 0; i < 3; i++) {
		struct elf_range range = {.start = borders[i],
					  .end = borders[i + 1],
					  .offset = borders[i],
					  .in_file = borders[i + 1] - borders[i]};

		image.load[image.loads++] = range;
		if (i == 0)
			image.go_pclntab = range;
		if (i == 2)
			image.code[image.codes++] = range;
	}
	return image;
}

#endif
