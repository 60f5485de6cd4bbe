// SPDX-License-Identifier: Apache-2.0
#include "look.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void look_at(struct look *look, const char *path, const struct probe_question *question,
	     const char *pattern)
{
	const struct symbol_options options = {0};
	struct probe_question q = *question;
	struct choice *choice;
	struct fail why = {0};
	int err;

	*look = (struct look){0};
	look->image = (struct symbol_image){.fd = open(path, O_RDONLY | O_CLOEXEC), .path = path};
	assert_true(look->image.fd >= 0);
	look->image.root = "";
	assert_int_equal(symbols_new(&options, &look->symbols), 0);
	assert_int_equal(choice_new(&choice), 0);
	if (pattern)
		assert_int_equal(choice_add_function(choice, true, pattern, &why), 0);
	q.image = &look->image;
	q.symbols = look->symbols;
	q.choice = choice;
	err = probe_functions_of(&q, &look->list, &why);
	if (err)
		fail_print(&why);
	assert_int_equal(err, 0);
	assert_int_equal(elf_image_open_file(&look->elf, look->image.fd, &why), 0);
	choice_free(choice);
}

void look_away(struct look *look)
{
	probe_functions_free(&look->list);
	elf_image_close(&look->elf);
	symbols_free(look->symbols);
	close(look->image.fd);
}

const struct probe_function *look_for(const struct look *look, const char *name)
{
	for (size_t i = 0; i < look->list.count; i++)
		if (!strcmp(look->list.at[i].name, name))
			return &look->list.at[i];
	return NULL;
}

const struct probe_function *look_for_address(const struct look *look, uint64_t address)
{
	for (size_t i = 0; i < look->list.count; i++)
		if (look->list.at[i].address == address)
			return &look->list.at[i];
	return NULL;
}

uint64_t look_address(const struct look *look, uint64_t offset)
{
	for (unsigned int i = 0; i < look->elf.codes; i++) {
		const struct elf_range *c = &look->elf.code[i];

		if (offset >= c->offset && offset - c->offset < c->in_file)
			return c->start + (offset - c->offset);
	}
	fail_msg("offset %#jx is in no executable segment", (uintmax_t)offset);
	return 0;
}
