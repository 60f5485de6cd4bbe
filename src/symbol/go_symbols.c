// SPDX-License-Identifier: Apache-2.0
#include "symbol/go_symbols.h"

#include <errno.h>

/*
 * Whether it is worth a closer look: Go's linker names its sections, unless someone took the names
 * away.
 */
static bool may_be_go(const struct elf_file *f)
{
	return f->is_64 && (!f->section_count || elf_file_section(f, ".gopclntab") ||
			    elf_file_section(f, ".data.rel.ro.gopclntab") ||
			    elf_file_section(f, ".go.buildinfo"));
}

int go_symbols_open(struct go_symbols *go, const struct elf_file *main)
{
	struct fail why;
	int err;

	*go = (struct go_symbols){0};
	if (!may_be_go(main))
		return -ENOENT;
	err = elf_image_open_bare(&go->image, main->fd, main->memory, main->size, &why);
	if (!err)
		err = go_table_open(&go->table, &go->image);
	if (err)
		go_symbols_close(go);
	return err && err != -ENOMEM ? -ENOENT : err;
}

void go_symbols_close(struct go_symbols *go)
{
	elf_image_close(&go->image);
	*go = (struct go_symbols){0};
}

size_t go_symbols_places(struct go_symbols *go, uint64_t address, struct go_place *places,
			 size_t room)
{
	struct go_function f;
	size_t count, i;

	if (!go_table_function(&go->table, go_table_find(&go->table, address), &f) || !f.pcln)
		return 0;
	count = go_table_places(&go->table, &f, address, places, room);
	for (i = 0; i < count; i++)
		if (!places[i].function[0])
			return 0;
	return count;
}

const char *go_symbols_name(const struct go_symbols *go, uint64_t address)
{
	struct go_function f;
	const char *name;

	if (!go_table_function(&go->table, go_table_find(&go->table, address), &f))
		return NULL;
	name = go_table_name(&go->table, f.name);
	return name[0] ? name : NULL;
}

int go_symbols_each(const struct go_symbols *go,
		    int (*emit)(void *context, const struct symbol_function *function,
				const char *name),
		    void *context)
{
	struct go_function f;
	int err = 0;

	for (uint64_t i = 0; i < go->table.count && !err; i++) {
		struct symbol_function function = {.kind = SYMBOL_FUNCTION_CODE, .binding = 2};
		const char *name;

		if (!go_table_function(&go->table, i, &f))
			continue;
		name = go_table_name(&go->table, f.name);
		function.address = f.start;
		function.size = f.end - f.start;
		if (name[0])
			err = emit(context, &function, name);
	}
	return err;
}
