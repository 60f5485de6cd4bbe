// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as the table of Go's functions, at the place where it is in go_made.h's image; the rest
 * is from there.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "go_made.h"
#include "unwind/go_rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct go_code code;
static struct cfi_rows rows;

static void check_rules(struct go_table *t, const struct go_function *f)
{
	if (go_rules(t, f, &code, &rows))
		abort();
	for (size_t i = 0; i < rows.count; i++) {
		if (!i && rows.at[0].offset)
			abort();
		if (i && rows.at[i].offset <= rows.at[i - 1].offset)
			abort();
		if (rows.at[i].rule.until)
			abort();
	}
}

static void check_function(struct go_table *t, uint64_t number)
{
	struct go_place places[8];
	struct go_function f;
	size_t count;

	if (!go_table_function(t, number, &f))
		return;
	if (f.end <= f.start)
		abort();
	count = go_table_places(t, &f, f.start + (f.end - f.start) / 2, places, 8);
	if (!count || count > 8)
		abort();
	for (size_t i = 0; i < count; i++)
		if (strlen(places[i].function) > t->size)
			abort();
	if (f.end - f.start <= UINT32_MAX)
		check_rules(t, &f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct go_made made;
	struct elf_image image;
	struct go_table t;

	go_make(&made, GO_1_20);
	memcpy(made.bytes + MADE_TABLE, data,
	       size < MADE_TEXT - MADE_TABLE ? size : MADE_TEXT - MADE_TABLE);
	image = go_made_image(made.bytes, sizeof(made.bytes));
	if (!go_table_open(&t, &image))
		for (uint64_t i = 0; i < t.count && i < 100; i++)
			check_function(&t, i);
	elf_image_close(&image);
	return 0;
}
