// SPDX-License-Identifier: Apache-2.0
#include "excerpt.h"

#include <elf.h>
#include <string.h>

#include "base/file.h"
#include "elf/file.h"

/* A symbol that someone asked for. */
struct found {
	struct stored_image *image;
	char *name;
	uint64_t address, size;
};

/*
 * Images that are watched. The functions that are replaced have no place for a context, so this is
 * one of the program.
 */
static struct {
	vec(struct stored_image *) images;
	vec(struct found) found;
	bool apart; /* what is read now is kept in another form */
	bool failed;
} watched;

bool __real_file_read_at(int fd, uint64_t offset, void *to, size_t count);
bool __wrap_file_read_at(int fd, uint64_t offset, void *to, size_t count);
size_t __real_runtime_find_symbols(const struct image *image, struct budget *budget,
				   struct runtime_symbol *symbols, size_t count);
size_t __wrap_runtime_find_symbols(const struct image *image, struct budget *budget,
				   struct runtime_symbol *symbols, size_t count);

bool __wrap_file_read_at(int fd, uint64_t offset, void *to, size_t count)
{
	bool done = __real_file_read_at(fd, offset, to, count);

	if (!done || watched.apart)
		return done;
	vec_foreach (&watched.images, image)
		if ((*image)->image.fd == fd)
			watched.failed |= !pieces_put(&(*image)->file, offset, to, count);
	return done;
}

size_t __wrap_runtime_find_symbols(const struct image *image, struct budget *budget,
				   struct runtime_symbol *symbols, size_t count)
{
	size_t number, i;

	watched.apart = true;
	number = __real_runtime_find_symbols(image, budget, symbols, count);
	watched.apart = false;
	vec_foreach (&watched.images, to) {
		if ((*to)->image.fd != image->fd)
			continue;
		for (i = 0; i < count; i++) {
			struct found found = {*to, strdup(symbols[i].name), symbols[i].address,
					      symbols[i].size};

			if (symbols[i].address)
				watched.failed |= !found.name || !vec_push(&watched.found, found);
			else
				free(found.name);
		}
	}
	return number;
}

void excerpt_begin(struct stored_image *to)
{
	struct elf_file file;

	watched.failed |= !vec_push(&watched.images, to);
	/* its headers */
	if (!elf_file_open(&file, to->image.fd)) {
		to->file_size = file.size;
		elf_file_close(&file);
	}
}

/* The tables of this image's symbols, as ELF has them. */
static void make_tables(const struct stored_image *image, struct buf *symbols, struct buf *names)
{
	Elf64_Sym symbol = {0};

	buf_put(symbols, &symbol, sizeof(symbol));
	buf_put_u8(names, 0);
	vec_foreach (&watched.found, found) {
		if (found->image != image)
			continue;
		symbol.st_name = (uint32_t)names->count;
		symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
		symbol.st_shndx = 1;
		symbol.st_value = found->address;
		symbol.st_size = found->size;
		buf_put(symbols, &symbol, sizeof(symbol));
		buf_put(names, found->name, strlen(found->name) + 1);
	}
}

/* Has a section's header say that its contents are others. */
static void replace(struct stored_image *image, uint64_t header, uint32_t type, uint64_t offset,
		    uint64_t size)
{
	pieces_put(&image->file, header + offsetof(Elf64_Shdr, sh_type), &type, sizeof(type));
	pieces_put(&image->file, header + offsetof(Elf64_Shdr, sh_offset), &offset, sizeof(offset));
	pieces_put(&image->file, header + offsetof(Elf64_Shdr, sh_size), &size, sizeof(size));
}

static bool put_symbols(struct stored_image *image)
{
	struct buf symbols = {0}, names = {0};
	bool placed = false; /* all in one table, which needs no hashes */
	Elf64_Ehdr header;
	uint32_t i;

	make_tables(image, &symbols, &names);
	if (!pieces_get(&image->file, 0, &header, sizeof(header)))
		goto done;
	for (i = 0; i < header.e_shnum; i++) {
		uint64_t at = header.e_shoff + i * sizeof(Elf64_Shdr);
		Elf64_Shdr section;

		if (!pieces_get(&image->file, at, &section, sizeof(section)) ||
		    (section.sh_type != SHT_DYNSYM && section.sh_type != SHT_SYMTAB &&
		     section.sh_type != SHT_GNU_HASH))
			continue;
		if (placed || section.sh_type == SHT_GNU_HASH ||
		    symbols.count == sizeof(Elf64_Sym)) {
			replace(image, at, SHT_NULL, 0, 0);
			continue;
		}
		pieces_put(&image->file, image->file_size, symbols.at, symbols.count);
		replace(image, at, SHT_SYMTAB, image->file_size, symbols.count);
		image->file_size += symbols.count;
		pieces_put(&image->file, image->file_size, names.at, names.count);
		replace(image, header.e_shoff + section.sh_link * sizeof(Elf64_Shdr), SHT_STRTAB,
			image->file_size, names.count);
		image->file_size += names.count;
		placed = true;
	}
done:
	watched.failed |= symbols.failed || names.failed;
	buf_free(&symbols);
	buf_free(&names);
	return !watched.failed;
}

bool excerpt_end(struct stored_image *to)
{
	size_t i;

	for (i = 0; i < watched.images.count; i++)
		if (watched.images.at[i] == to)
			watched.images.at[i] = watched.images.at[--watched.images.count];
	return put_symbols(to);
}
