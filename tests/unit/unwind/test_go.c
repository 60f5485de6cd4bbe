// SPDX-License-Identifier: Apache-2.0
/* Go's own table of functions: in all its layouts, made by hand, and damaged. */
#include "../prelude.h"

#include <errno.h>
#include <stdlib.h>

#include "go_made.h"
#include "unwind/go_rules.h"

static const enum go_layout layouts[] = {GO_1_16, GO_1_18, GO_1_20};

static void check_places(struct go_table *t)
{
	struct go_function f;
	struct go_place places[4];

	assert_true(go_table_function(t, 0, &f));
	assert_int_equal(go_table_places(t, &f, f.start + 1, places, 4), 1);
	assert_string_equal(places[0].function, "main.outer");
	assert_string_equal(places[0].file, "a.go");
	assert_int_equal(places[0].line, 10);

	assert_int_equal(go_table_places(t, &f, f.start + 20, places, 4), 2);
	assert_string_equal(places[0].function, "main.inner");
	assert_string_equal(places[0].file, "b.go");
	assert_int_equal(places[0].line, 57);
	assert_string_equal(places[1].function, "main.outer");
	assert_string_equal(places[1].file, "a.go");
	assert_int_equal(places[1].line, 12);
	/* with room for one, the function that is really there */
	assert_int_equal(go_table_places(t, &f, f.start + 20, places, 1), 1);
	assert_string_equal(places[0].function, "main.outer");

	assert_int_equal(go_table_places(t, &f, f.start + 40, places, 4), 1);
	assert_int_equal(places[0].line, 10);
}

static void test_layouts(void **state)
{
	static struct go_made made;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct elf_image image;
		struct go_function f;
		struct go_table t;

		go_make(&made, layouts[i]);
		image = go_made_image(made.bytes, sizeof(made.bytes));
		assert_int_equal(go_table_open(&t, &image), 0);
		assert_int_equal(t.layout, layouts[i]);
		assert_int_equal(t.text, MADE_TEXT);
		assert_int_equal(t.count, 2);
		assert_int_equal(go_table_find(&t, MADE_TEXT - 1), 2);
		assert_int_equal(go_table_find(&t, MADE_TEXT), 0);
		assert_int_equal(go_table_find(&t, MADE_TEXT + 63), 0);
		assert_int_equal(go_table_find(&t, MADE_TEXT + 127), 1);
		assert_int_equal(go_table_find(&t, MADE_TEXT + 128), 2);
		assert_true(go_table_function(&t, 1, &f));
		assert_string_equal(go_table_name(&t, f.name), "main.last");
		assert_int_equal(f.flags, GO_TOP_FRAME);
		assert_false(go_table_function(&t, 2, &f));
		check_places(&t);
		elf_image_close(&image);
	}
}

static void test_rules(void **state)
{
	static struct go_made made;
	static struct go_code code;
	struct cfi_rows rows = {0};
	struct elf_image image;
	struct go_function f;
	struct go_table t;

	(void)state;
	go_make(&made, GO_1_20);
	image = go_made_image(made.bytes, sizeof(made.bytes));
	assert_int_equal(go_table_open(&t, &image), 0);
	assert_true(go_table_function(&t, 0, &f));
	assert_int_equal(go_rules(&t, &f, &code, &rows), 0);
	assert_int_equal(rows.count, 4);
	for (size_t i = 0; i < 4; i++) {
		static const struct {
			uint32_t offset;
			int32_t cfa;
			uint8_t fp;
		} wanted[] = {{0, 8, UNWIND_FP_SAME},
			      {4, 16, UNWIND_FP_CFA},
			      {8, 32, UNWIND_FP_CFA},
			      {60, 8, UNWIND_FP_SAME}};
		const struct unwind_rule *r = &rows.at[i].rule;

		assert_int_equal(rows.at[i].offset, wanted[i].offset);
		assert_int_equal(r->cfa, UNWIND_CFA_SP);
		assert_int_equal(r->cfa_offset, wanted[i].cfa);
		assert_int_equal(r->fp, wanted[i].fp);
		assert_int_equal(r->fp_offset, wanted[i].fp ? -16 : 0);
		assert_int_equal(r->guess, 0);
	}
	assert_true(go_table_function(&t, 1, &f));
	assert_int_equal(go_rules(&t, &f, &code, &rows), 0);
	assert_int_equal(rows.count, 1);
	assert_int_equal(rows.at[0].rule.cfa, UNWIND_CFA_END);
	free(rows.at);
	elf_image_close(&image);
}

/*
 * Where the header does not say where the code begins (1.26), and no section says where the table
 * is.
 */
static void test_search(void **state)
{
	static struct go_made made;
	struct elf_image image;
	struct go_table t;

	(void)state;
	go_make(&made, GO_1_20);
	image = go_made_image(made.bytes, sizeof(made.bytes));
	image.go_pclntab = (struct elf_range){0};
	assert_int_equal(go_table_open(&t, &image), -ENOENT);
	image.has_sections = false;
	assert_int_equal(go_table_open(&t, &image), 0);
	assert_int_equal(t.address, MADE_TABLE);
	assert_int_equal(t.text, MADE_TEXT);
	assert_int_equal(t.module, MADE_MODULE);
	elf_image_close(&image);

	/* without moduledata nothing says it */
	made_u64(&made, MADE_MODULE, 0);
	image = go_made_image(made.bytes, sizeof(made.bytes));
	assert_int_equal(go_table_open(&t, &image), -EBADMSG);
	elf_image_close(&image);
	made_u64(&made, MADE_TABLE + 24, MADE_TEXT);
	image = go_made_image(made.bytes, sizeof(made.bytes));
	assert_int_equal(go_table_open(&t, &image), 0);
	elf_image_close(&image);
}

/* Each byte of the table set to something else: never more than a wrong answer. */
static void test_damage(void **state)
{
	static struct go_made made;
	static struct go_code code;
	struct cfi_rows rows = {0};
	size_t opened = 0;

	(void)state;
	for (uint32_t at = 0; at < 3 * (MADE_LIST + 384); at++) {
		struct elf_image image;
		struct go_table t;

		go_make(&made, GO_1_20);
		made.bytes[MADE_TABLE + at / 3] ^= at % 3 == 0 ? 0x01 : at % 3 == 1 ? 0x80 : 0xff;
		image = go_made_image(made.bytes, sizeof(made.bytes));
		if (!go_table_open(&t, &image)) {
			opened++;
			for (uint64_t i = 0; i < t.count && i < 10; i++) {
				struct go_place places[3];
				struct go_function f;

				if (!go_table_function(&t, i, &f))
					continue;
				go_table_places(&t, &f, f.start + 20, places, 3);
				assert_int_equal(go_rules(&t, &f, &code, &rows), 0);
			}
		}
		elf_image_close(&image);
	}
	assert_true(opened > MADE_LIST);
	free(rows.at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
