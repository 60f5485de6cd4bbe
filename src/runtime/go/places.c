// SPDX-License-Identifier: Apache-2.0
#include "runtime/go/places.h"

#include <errno.h>
#include <string.h>

#include "unwind/go_pclntab.h"

uint64_t go_place_behind_border(const struct elf_image *image, uint64_t start)
{
	static const uint8_t compare[] = {0x49, 0x3b, 0x66, 0x10};
	uint8_t code[6];

	if (!elf_image_read(image, start, code, sizeof(code)) ||
	    memcmp(code, compare, sizeof(compare)))
		return start;
	return code[4] == 0x76 || (code[4] == 0x0f && code[5] == 0x86) ? start + sizeof(compare)
								       : start;
}

static int find(struct elf_image *image, const char *const *functions, size_t count,
		uint64_t *offsets, struct fail *why)
{
	struct go_table table;
	struct go_table_walk walk = {&table, &image->budget, 0};
	struct go_function f;
	const char *name;
	int err = go_table_open(&table, image);

	while (!err && go_table_next(&walk, &f, &name))
		for (size_t n = 0; n < count; n++)
			if (!strcmp(name, functions[n]))
				elf_image_code_offset(image, go_place_behind_border(image, f.start),
						      &offsets[n]);
	return err || !image->budget.spent
		       ? err
		       : budget_refuse(&image->budget, why, "the table of Go's functions");
}

int go_places_find(const struct image *image, const char *const *functions, size_t count,
		   uint64_t *offsets, struct fail *why)
{
	struct elf_image elf;
	int err = elf_image_open_bare(&elf, image->fd, image->memory, image->memory_size, why);

	memset(offsets, 0, count * sizeof(*offsets));
	if (!err)
		err = elf.go_pclntab.in_file || elf.go_buildinfo.in_file
			      ? find(&elf, functions, count, offsets, why)
			      : -ENOENT;
	elf_image_close(&elf);
	return err;
}
