// SPDX-License-Identifier: Apache-2.0
/* Sections made byte by byte, for what an assembler would not write. */
#include "../prelude.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "unwind/cfi.h"

static void put_u32(struct buf *b, uint32_t value)
{
	buf_put(b, &value, 4);
}

static void put_u64(struct buf *b, uint64_t value)
{
	buf_put(b, &value, 8);
}

/* A body with its length before it; wide: 64-bit DWARF. */
static void put_entry(struct buf *section, const struct buf *body, bool wide)
{
	assert_false(body->failed);
	if (wide) {
		put_u32(section, UINT32_MAX);
		put_u64(section, body->count);
	} else {
		put_u32(section, (uint32_t)body->count);
	}
	buf_put(section, body->at, body->count);
}

/* def_cfa rsp + 8, RA at CFA - 8 */
#define USUAL 0x0c, 7, 8, 0x90, 1

struct cie {
	uint8_t version, column, encoding;
	const char *letters;
	const uint8_t *instructions;
	size_t count;
};

static const uint8_t usual[] = {USUAL};

static void put_cie(struct buf *section, const struct cie *cie, bool debug_frame, bool wide)
{
	struct buf body = {0};

	if (wide)
		put_u64(&body, debug_frame ? UINT64_MAX : 0);
	else
		put_u32(&body, debug_frame ? UINT32_MAX : 0);
	buf_put_u8(&body, cie->version);
	buf_put(&body, cie->letters, strlen(cie->letters) + 1);
	if (!strcmp(cie->letters, "eh"))
		put_u64(&body, 0);
	if (cie->version == 4)
		buf_put(&body, "\x08\x00", 2);
	buf_put_u8(&body, 1);	 /* code */
	buf_put_u8(&body, 0x78); /* data: -8 */
	buf_put_u8(&body, cie->column);
	if (!strcmp(cie->letters, "zR")) {
		buf_put_u8(&body, 1);
		buf_put_u8(&body, cie->encoding);
	} else if (!strcmp(cie->letters, "zPLR")) {
		buf_put(&body, "\x07\x1b....\x1b", 7);
		buf_put_u8(&body, cie->encoding);
	} else if (!strcmp(cie->letters, "zRSBx")) {
		buf_put_u8(&body, 3);
		buf_put_u8(&body, cie->encoding);
		buf_put(&body, "??", 2);
	}
	buf_put(&body, cie->instructions, cie->count);
	put_entry(section, &body, wide);
	buf_free(&body);
}

/* An FDE of the CIE at offset 0, with addresses as they are. */
static void put_fde(struct buf *section, bool debug_frame, bool wide, bool augmented,
		    uint64_t start, uint64_t size, const uint8_t *instructions, size_t count)
{
	struct buf body = {0};
	uint64_t id_at = section->count + (wide ? 12 : 4);

	if (wide)
		put_u64(&body, debug_frame ? 0 : id_at);
	else
		put_u32(&body, debug_frame ? 0 : (uint32_t)id_at);
	put_u64(&body, start);
	put_u64(&body, size);
	if (augmented)
		buf_put_u8(&body, 0);
	buf_put(&body, instructions, count);
	put_entry(section, &body, wide);
	buf_free(&body);
}

struct decoded {
	struct cfi_section section;
	struct cfi_cies cies;
	struct cfi_fde fde;
	struct cfi_rows rows;
	int err;
};

/* The first FDE of the section and its rows. */
static struct decoded *decode(const struct buf *section, bool debug_frame)
{
	struct decoded *d = calloc(1, sizeof(*d));
	uint64_t offset = 0, fde;

	assert_non_null(d);
	assert_false(section->failed);
	d->section = (struct cfi_section){
		.at = section->at, .size = section->count, .debug_frame = debug_frame};
	assert_int_equal(cfi_next(&d->section, &offset, &fde), 1);
	d->err = cfi_read_fde(&d->section, &d->cies, fde, &d->fde);
	if (!d->err)
		d->err = cfi_run(&d->fde, &d->rows);
	return d;
}

static void decoded_free(struct decoded *d)
{
	free(d->rows.at);
	free(d);
}

static void assert_row(const struct decoded *d, size_t i, uint32_t offset, uint8_t cfa,
		       int32_t cfa_offset)
{
	assert_true(i < d->rows.count);
	assert_int_equal(d->rows.at[i].offset, offset);
	assert_int_equal(d->rows.at[i].rule.cfa, cfa);
	assert_int_equal(d->rows.at[i].rule.cfa_offset, cfa_offset);
	assert_int_equal(d->rows.at[i].rule.until, 0);
}

static struct decoded *one_function(const uint8_t *instructions, size_t count, uint64_t size)
{
	const struct cie cie = {1, 16, 0, "", usual, sizeof(usual)};
	struct buf section = {0};
	struct decoded *d;

	put_cie(&section, &cie, false, false);
	put_fde(&section, false, false, false, 0x1000, size, instructions, count);
	d = decode(&section, false);
	assert_int_equal(d->fde.start, 0x1000);
	assert_int_equal(d->fde.size, size);
	buf_free(&section);
	return d;
}

static void test_layouts(void **state)
{
	static const uint8_t push[] = {0x41, 0x0e, 16};
	static const struct cie cies[] = {
		{1, 16, 0, "", usual, sizeof(usual)},	  {3, 16, 0, "", usual, sizeof(usual)},
		{4, 16, 0, "", usual, sizeof(usual)},	  {1, 16, 0, "zR", usual, sizeof(usual)},
		{1, 16, 0, "zPLR", usual, sizeof(usual)}, {1, 16, 0, "eh", usual, sizeof(usual)},
	};
	size_t i;
	int form;

	(void)state;
	for (i = 0; i < sizeof(cies) / sizeof(*cies); i++) {
		for (form = 0; form < 4; form++) {
			bool debug_frame = form & 1, wide = form & 2;
			struct buf section = {0};
			struct decoded *d;

			put_cie(&section, &cies[i], debug_frame, wide);
			put_fde(&section, debug_frame, wide, *cies[i].letters == 'z', 0x5000, 64,
				push, sizeof(push));
			d = decode(&section, debug_frame);
			assert_int_equal(d->err, 0);
			assert_int_equal(d->fde.start, 0x5000);
			assert_int_equal(d->fde.size, 64);
			assert_int_equal(d->rows.count, 2);
			assert_row(d, 0, 0, UNWIND_CFA_SP, 8);
			assert_row(d, 1, 1, UNWIND_CFA_SP, 16);
			decoded_free(d);
			buf_free(&section);
		}
	}
}

static void test_refused_cies(void **state)
{
	static const uint8_t advance[] = {USUAL, 0x41};
	static const uint8_t nops[2000] = {0};
	static const struct cie cies[] = {
		{2, 16, 0, "", usual, sizeof(usual)},
		{5, 16, 0, "", usual, sizeof(usual)},
		{1, 15, 0, "", usual, sizeof(usual)},
		{1, 16, 0, "armcc", usual, sizeof(usual)},
		{1, 16, 0x80, "zR", usual, sizeof(usual)},
		{1, 16, 0x30, "zR", usual, sizeof(usual)},
		{1, 16, 0x50, "zR", usual, sizeof(usual)},
		{1, 16, 0xff, "zR", usual, sizeof(usual)},
		{1, 16, 0, "", advance, sizeof(advance)},
		{1, 16, 0, "", nops, sizeof(nops)},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cies) / sizeof(*cies); i++) {
		struct buf section = {0};
		struct decoded *d;

		put_cie(&section, &cies[i], false, false);
		put_fde(&section, false, false, *cies[i].letters == 'z', 0x5000, 64, NULL, 0);
		d = decode(&section, false);
		assert_int_equal(d->err, -EINVAL);
		decoded_free(d);
		buf_free(&section);
	}
}

/* Unknown letters behind a z have a length, and what was before them counts. */
static void test_signal(void **state)
{
	const struct cie cie = {1, 16, 0, "zRSBx", usual, sizeof(usual)};
	struct buf section = {0};
	struct decoded *d;

	(void)state;
	put_cie(&section, &cie, false, false);
	put_fde(&section, false, false, true, 0x5000, 64, NULL, 0);
	d = decode(&section, false);
	assert_int_equal(d->err, 0);
	assert_int_equal(d->rows.count, 1);
	assert_row(d, 0, 0, UNWIND_CFA_SIGNAL, 0);
	decoded_free(d);
	buf_free(&section);
}

static void test_advance(void **state)
{
	static const uint8_t all[] = {
		0x41, 0x0e, 16,						/* 1 */
		0x02, 0x10, 0x0e, 24,					/* 17 */
		0x03, 0x00, 0x01, 0x0e, 32,				/* 273 */
		0x04, 0x00, 0x00, 0x01, 0x00, 0x0e, 40,			/* 65809 */
		0x1d, 0x00, 0x00, 0x00, 0x01, 0x00, 0,	0, 0, 0x0e, 48, /* 16843025 */
		0x01, 0x00, 0x10, 0x00, 0x02, 0,    0,	0, 0, 0x0e, 56, /* set_loc: 0x2000000 */
		0x40, 0x0e, 64, /* not at all: takes its place */
	};
	static const uint8_t behind[] = {0x41, 0x0e, 16, 0x49, 0x0e, 24, 0x0b};
	static const uint8_t back[] = {0x48, 0x01, 0x01, 0x10, 0, 0, 0, 0, 0, 0};
	static const uint8_t last[] = {0x49, 0x0e, 16};
	struct decoded *d = one_function(all, sizeof(all), 0x10000000);

	(void)state;
	assert_int_equal(d->err, 0);
	assert_int_equal(d->rows.count, 7);
	assert_row(d, 0, 0, UNWIND_CFA_SP, 8);
	assert_row(d, 1, 1, UNWIND_CFA_SP, 16);
	assert_row(d, 2, 17, UNWIND_CFA_SP, 24);
	assert_row(d, 3, 273, UNWIND_CFA_SP, 32);
	assert_row(d, 4, 65809, UNWIND_CFA_SP, 40);
	assert_row(d, 5, 16843025, UNWIND_CFA_SP, 48);
	assert_row(d, 6, 0x2000000, UNWIND_CFA_SP, 64);
	decoded_free(d);

	/* what lies behind the end does not count, not even as damage */
	d = one_function(behind, sizeof(behind), 10);
	assert_int_equal(d->err, 0);
	assert_int_equal(d->rows.count, 2);
	decoded_free(d);

	d = one_function(back, sizeof(back), 100);
	assert_int_equal(d->err, -EINVAL);
	assert_row(d, d->rows.count - 1, 8, UNWIND_CFA_UNSUPPORTED, 0);
	decoded_free(d);

	d = one_function(last, sizeof(last), 10);
	assert_int_equal(d->rows.count, 2);
	assert_row(d, 1, 9, UNWIND_CFA_SP, 16);
	decoded_free(d);
}

static void test_damage(void **state)
{
	static const struct {
		uint8_t bytes[16];
		size_t count;
	} damaged[] = {
		{{0x0b}, 1},		 /* nothing remembered */
		{{0x3f}, 1},		 /* unknown */
		{{0x2d}, 1},		 /* of other machines */
		{{0x0e}, 1},		 /* no operand */
		{{0x0e, 0x80, 0x80}, 3}, /* half a number */
		{{0x0c, 7}, 2},		 /* half the operands */
		{{0x0f, 5, 0x77, 0}, 4}, /* an expression that ends too late */
		{{0x10, 6, 0x7f, 0}, 4}, /* the same, for a register */
		{{0x04, 1, 2, 3}, 4},	 /* advance_loc4 */
		{{0x12, 7, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0xc0, 0}, 12},
		{{0x05, 6, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 12},
	};
	uint8_t remember[40];
	struct decoded *d;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(damaged) / sizeof(*damaged); i++) {
		d = one_function(damaged[i].bytes, damaged[i].count, 100);
		assert_int_equal(d->err, -EINVAL);
		assert_int_equal(d->rows.count, 1);
		assert_row(d, 0, 0, UNWIND_CFA_UNSUPPORTED, 0);
		decoded_free(d);
	}
	memset(remember, 0x0a, sizeof(remember));
	d = one_function(remember, sizeof(remember), 100);
	assert_int_equal(d->err, -EINVAL);
	decoded_free(d);
	d = one_function(remember, 32, 100);
	assert_int_equal(d->err, 0);
	decoded_free(d);
}

/* Cut anywhere and changed anywhere, a section is decoded or refused, and nothing else happens. */
static void test_cut_and_changed(void **state)
{
	static const uint8_t some[] = {0x41, 0x0e, 16, 0x86, 2, 0x42, 0x0d, 6, 0x0a, 0x0b, 0xc6};
	const struct cie cie = {1, 16, 0, "zR", usual, sizeof(usual)};
	struct buf section = {0};
	struct cfi_rows rows = {0};
	size_t cut, at;
	int value;

	(void)state;
	put_cie(&section, &cie, false, false);
	put_fde(&section, false, false, true, 0x5000, 64, some, sizeof(some));
	put_fde(&section, false, false, true, 0x6000, 64, some, sizeof(some));
	for (cut = 0; cut <= section.count; cut++) {
		for (at = 0; at < cut; at += cut == section.count ? 1 : 7) {
			for (value = 0; value < 256; value += cut == section.count ? 1 : 51) {
				/* exactly as large, so that a sanitizer sees a byte too many */
				uint8_t *copy = malloc(cut ? cut : 1);
				struct cfi_section s = {.at = copy, .size = cut};
				struct cfi_cies cies = {0};
				struct cfi_fde fde;
				uint64_t offset = 0, fde_at;

				assert_non_null(copy);
				memcpy(copy, section.at, cut);
				copy[at] = (uint8_t)value;
				while (cfi_next(&s, &offset, &fde_at) > 0) {
					if (!cfi_read_fde(&s, &cies, fde_at, &fde) && fde.size)
						cfi_run(&fde, &rows);
				}
				free(copy);
			}
		}
	}
	free(rows.at);
	buf_free(&section);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts), cmocka_unit_test(test_refused_cies),
		cmocka_unit_test(test_signal),	cmocka_unit_test(test_advance),
		cmocka_unit_test(test_damage),	cmocka_unit_test(test_cut_and_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
