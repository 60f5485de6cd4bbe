// SPDX-License-Identifier: Apache-2.0
#include "sources/requests/uvloop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/elf.h"
#include "base/map.h"
#include "elf/file.h"

enum {
	RELOCATIONS_MAX = 50000, /* of the file; there are some thousand */
	SEGMENTS_MAX = 16,
	TABLES_MAX = 16,
	FILES_MAX = 64, /* with probes */

	/* struct PyMethodDef */
	METHOD_SIZE = 32,
	METHOD_FUNCTION = 8,
};

/* The first ones write. */
static const char *const methods[] = {"write", "writelines", "write_eof", "can_write_eof"};
#define METHODS (sizeof(methods) / sizeof(methods[0]))
#define WRITING 2

/* -- the library ------------------------------------------------------------------------------- */

/* By its name: of what is mapped, few files are looked into. */
static bool is_uvloop(const struct image *image)
{
	const char *slash = strrchr(image->path, '/');

	return slash && !strncmp(slash, "/loop.", 6) && strstr(slash, ".so") &&
	       slash - image->path >= 7 && !strncmp(slash - 7, "/uvloop", 7);
}

/* A file of a target: all that is looked at is bounded. */
struct library {
	struct elf_file file;
	Elf64_Phdr segments[SEGMENTS_MAX];
	uint32_t segment_count;
	struct map pointers; /* what the dynamic linker writes: an address, by where it is */
};

static void read_segments(struct library *library)
{
	uint32_t *count = &library->segment_count;
	Elf64_Phdr one;

	for (uint32_t i = 0; i < SEGMENTS_MAX && elf_file_segment(&library->file, i, &one); i++)
		if (one.p_type == PT_LOAD)
			library->segments[(*count)++] = one;
}

/* Where in the file the byte lies that is loaded at an address; false: nowhere. */
static bool find_offset(const struct library *library, uint64_t address, uint64_t *offset)
{
	for (uint32_t i = 0; i < library->segment_count; i++) {
		const Elf64_Phdr *one = &library->segments[i];

		if (address - one->p_vaddr >= one->p_filesz)
			continue;
		*offset = address - one->p_vaddr + one->p_offset;
		return true;
	}
	return false;
}

static bool read_pointers(struct library *library)
{
	const struct elf_file *file = &library->file;
	const struct elf_section *section = elf_file_section(file, ".rela.dyn");
	struct elf_walk walk;
	Elf64_Rela one;

	if (!section)
		return false;
	elf_walk_begin(&walk, file, section);
	for (int left = RELOCATIONS_MAX; elf_walk_relocation(&walk, &one); left--) {
		if (!left)
			return false;
		if (ELF64_R_TYPE(one.r_info) == ARCH_RELOCATION_RELATIVE &&
		    !map_put(&library->pointers, one.r_offset, (uint64_t)one.r_addend))
			return false;
	}
	return true;
}

static bool is_name(const struct library *library, uint64_t at, const char *name)
{
	const uint64_t *address = map_get(&library->pointers, at);
	size_t size = strlen(name) + 1;
	uint64_t offset;
	char text[16];

	return address && size <= sizeof(text) && find_offset(library, *address, &offset) &&
	       elf_file_read(&library->file, offset, text, size) && !memcmp(text, name, size);
}

static bool is_table(const struct library *library, uint64_t at)
{
	for (size_t i = 0; i < METHODS; i++)
		if (!is_name(library, at + i * METHOD_SIZE, methods[i]))
			return false;
	return true;
}

static bool add_table(const struct library *library, uint64_t at,
		      struct requests_uvloop_places *places)
{
	for (size_t i = 0; i < WRITING; i++) {
		const uint64_t *address =
			map_get(&library->pointers, at + i * METHOD_SIZE + METHOD_FUNCTION);
		uint64_t offset;

		if (!address || !find_offset(library, *address, &offset))
			continue;
		if (places->offsets.count >= TABLES_MAX * WRITING ||
		    !vec_push(&places->offsets, offset))
			return false;
	}
	return true;
}

bool requests_uvloop_find(const struct image *image, struct requests_uvloop_places *places)
{
	struct library library = {0};
	uint64_t at, address;
	bool ok;

	if (elf_file_open(&library.file, image->fd))
		return false;
	read_segments(&library);
	ok = library.file.is_64 && library.file.machine == ARCH_ELF_MACHINE &&
	     read_pointers(&library);
	for (size_t i = 0; ok && map_next(&library.pointers, &i, &at, &address);)
		if (is_table(&library, at))
			ok = add_table(&library, at, places);
	map_free(&library.pointers);
	elf_file_close(&library.file);
	return ok && places->offsets.count;
}

static int look(struct probed_look *look, struct fail *why)
{
	struct requests_uvloop_places found = {0};
	bool ok;

	if (!is_uvloop(look->image))
		return -ENOENT;
	ok = requests_uvloop_find(look->image, &found);
	vec_foreach (&found.offsets, offset)
		ok = ok && probed_look_add(look, *offset, look->number, 0, false);
	vec_free(&found.offsets);
	return ok ? 0 : fail(why, -ENOTSUP, NULL, "its methods are not found");
}

const struct probed_kind requests_uvloop_kind = {
	.most = FILES_MAX,
	.too_many = "too many files of uvloop",
	.look = look,
};
