// SPDX-License-Identifier: Apache-2.0
#include "sources/sched/lock_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/file.h"
#include "symbol/symbols.h"

#define SYMBOLS_MAX (4u << 20)

/* No image is larger: what is farther from its code is another's. */
#define IMAGE_BYTES_MAX (4ull << 30)

/* Data, or the zeros behind it. */
static bool is_data(const struct elf_file *file, uint64_t address)
{
	Elf64_Phdr segment;

	for (uint32_t i = 0; elf_file_segment(file, i, &segment); i++)
		if (segment.p_type == PT_LOAD && !(segment.p_flags & PF_X) &&
		    address - segment.p_vaddr < segment.p_memsz)
			return true;
	return false;
}

static void set_name(struct lock_place *place, const char *name)
{
	char *demangled = symbol_demangle_short(name);

	snprintf(place->name, sizeof(place->name), "%s", demangled ? demangled : name);
	free(demangled);
}

/* Is it the variable that holds the address? */
static bool match_symbol(void *context, const Elf64_Sym *symbol, struct elf_strings *names)
{
	struct lock_place *place = context;

	if (ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_shndx != SHN_UNDEF &&
	    place->address - symbol->st_value < symbol->st_size)
		set_name(place, elf_strings_get(names, symbol->st_name));
	return !*place->name;
}

static bool look_into(const struct image *image, struct lock_place *place)
{
	struct elf_file file;
	bool has;

	if (image->fd < 0 || elf_file_open(&file, image->fd))
		return false;
	has = is_data(&file, place->address);
	/* without memory it has no name */
	if (has)
		(void)!elf_each_symbol(&file, SHT_SYMTAB, SYMBOLS_MAX, match_symbol, place);
	if (has && !*place->name)
		(void)!elf_each_symbol(&file, SHT_DYNSYM, SYMBOLS_MAX, match_symbol, place);
	elf_file_close(&file);
	return has;
}

bool lock_place_find(const struct process *process, uint64_t address, struct lock_place *place)
{
	const struct image *last = NULL;

	for (size_t i = 0; i < process->mapping_count; i++) {
		const struct mapping *code = &process->mappings[i];

		/* all parts of an image are as far from where its file has them */
		if (code->image->kind != IMAGE_FILE || code->image == last ||
		    address - code->bias > IMAGE_BYTES_MAX)
			continue;
		last = code->image;
		*place = (struct lock_place){.image = last, .address = address - code->bias};
		if (look_into(last, place))
			return true;
	}
	return false;
}
