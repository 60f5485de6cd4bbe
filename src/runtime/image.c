// SPDX-License-Identifier: Apache-2.0
/* What files of runtimes ask of an image's file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "symbol/elf_file.h"

/* A program that was not stripped has some hundred thousand. */
#define SYMBOLS_MAX (8u << 20)

static int open_elf(const struct image *image, struct elf_file *file)
{
	if (image->memory)
		return elf_file_open_memory(file, image->memory, image->memory_size);
	return image->fd >= 0 ? elf_file_open(file, image->fd) : -ENOEXEC;
}

/*
 * The hash table by which the dynamic loader finds exported symbols ("GNU hash"): a filter that says for most names
 * at once that they are not there, buckets, and for each bucket a run of hashes, beside the symbols from `first` on.
 */
struct hash_table {
	const struct elf_file *file;
	const struct elf_section *symbols;
	struct elf_strings strings;
	uint64_t filter, buckets, chains; /* offsets in the file */
	uint32_t bucket_count, first, filter_words, shift;
};

static bool open_hash_table(const struct elf_file *file, struct hash_table *table)
{
	const struct elf_section *s = elf_file_section_of_type(file, SHT_GNU_HASH);
	uint32_t head[4];

	if (!s || !file->is_64 || s->link >= file->section_count || s->size < sizeof(head) ||
	    !elf_file_read(file, s->offset, head, sizeof(head)))
		return false;
	table->file = file;
	table->symbols = &file->sections[s->link];
	table->bucket_count = head[0];
	table->first = head[1];
	table->filter_words = head[2];
	table->shift = head[3] & 31;
	table->filter = s->offset + sizeof(head);
	table->buckets = table->filter + 8ull * table->filter_words;
	table->chains = table->buckets + 4ull * table->bucket_count;
	if (!table->bucket_count || !table->filter_words ||
	    table->symbols->link >= file->section_count)
		return false;
	elf_strings_begin(&table->strings, file, &file->sections[table->symbols->link]);
	return true;
}

/* The hash function of that table (DJB's, as the ELF files have it). */
static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;

	while (*name)
		hash = hash * 33 + (uint8_t)*name++;
	return hash;
}

static bool may_be_there(const struct hash_table *table, uint32_t hash)
{
	uint64_t word, bits = 1ull << (hash & 63) | 1ull << (hash >> table->shift & 63);

	return elf_file_read(table->file, table->filter + 8ull * (hash / 64 % table->filter_words),
			     &word, sizeof(word)) &&
	       (word & bits) == bits;
}

/* Longer runs are no table of a linker. */
#define CHAIN_MAX 4096

static bool find_exported(struct hash_table *table, const char *name, Elf64_Sym *symbol)
{
	uint32_t hash = gnu_hash(name), number, other, i;

	if (!may_be_there(table, hash) ||
	    !elf_file_read(table->file, table->buckets + 4ull * (hash % table->bucket_count),
			   &number, sizeof(number)) ||
	    number < table->first)
		return false;
	for (i = 0; i < CHAIN_MAX; i++, number++) {
		if (!elf_file_read(table->file, table->chains + 4ull * (number - table->first),
				   &other, sizeof(other)))
			return false;
		if ((other | 1) == (hash | 1) &&
		    elf_file_symbol(table->file, table->symbols, number, symbol) &&
		    symbol->st_shndx != SHN_UNDEF &&
		    !strcmp(elf_strings_get(&table->strings, symbol->st_name), name))
			return true;
		/* the last one of its bucket */
		if (other & 1)
			return false;
	}
	return false;
}

/* More than the string tables of the largest programs have. */
#define STRINGS_MAX (256u << 20)

/* One pass over .symtab for those that are not found yet. */
static size_t find_in_symtab(const struct elf_file *file, struct runtime_symbol *symbols,
			     size_t count)
{
	const struct elf_section *table = elf_file_section_of_type(file, SHT_SYMTAB), *names;
	struct elf_walk walk;
	Elf64_Sym symbol;
	size_t found = 0, i;
	uint32_t n;
	char *text;

	if (!table || table->link >= file->section_count)
		return 0;
	names = &file->sections[table->link];
	/* symbols do not stand in the order of their names: a window on them would be read anew for each */
	text = elf_file_section_contents(file, names, STRINGS_MAX);
	elf_walk_begin(&walk, file, table);
	for (n = 0; text && n < SYMBOLS_MAX && elf_walk_symbol(&walk, &symbol); n++) {
		if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names->size)
			continue;
		for (i = 0; i < count; i++) {
			struct runtime_symbol *s = &symbols[i];

			if (s->address || strncmp(s->name, text + symbol.st_name,
						  names->size - symbol.st_name) != 0)
				continue;
			s->address = symbol.st_value;
			s->size = symbol.st_size;
			found += s->address != 0;
		}
	}
	free(text);
	return found;
}

size_t runtime_find_symbols(const struct image *image, struct runtime_symbol *symbols, size_t count)
{
	struct hash_table table = {0};
	struct elf_file file;
	size_t found = 0, i;
	Elf64_Sym symbol;
	bool has_table;

	for (i = 0; i < count; i++)
		symbols[i].address = symbols[i].size = 0;
	if (open_elf(image, &file))
		return 0;
	has_table = open_hash_table(&file, &table);
	for (i = 0; has_table && i < count; i++) {
		if (!find_exported(&table, symbols[i].name, &symbol) || !symbol.st_value)
			continue;
		symbols[i].address = symbol.st_value;
		symbols[i].size = symbol.st_size;
		found++;
	}
	if (found < count)
		found += find_in_symtab(&file, symbols, count);
	elf_file_close(&file);
	return found;
}

uint32_t runtime_suspects(const struct image *image)
{
	struct hash_table table = {0};
	uint32_t suspects = 0, i;
	const char *const *name;
	Elf64_Sym symbol;
	struct elf_file file;
	bool has_table;

	if (!image->is_elf || open_elf(image, &file))
		return 0;
	has_table = open_hash_table(&file, &table);
	for (i = 0; runtime_types[i]; i++) {
		for (name = runtime_types[i]->exports; has_table && name && *name; name++)
			if (find_exported(&table, *name, &symbol))
				suspects |= 1u << i;
		for (name = runtime_types[i]->sections; name && *name; name++)
			if (elf_file_section(&file, *name))
				suspects |= 1u << i;
	}
	elf_file_close(&file);
	return suspects;
}

int runtime_read_image(const struct image *image, void *to, size_t size, uint64_t address)
{
	struct elf_file file;
	uint32_t i;
	int err = -EFAULT;

	if (open_elf(image, &file))
		return -EFAULT;
	for (i = 0; i < file.section_count; i++) {
		const struct elf_section *s = &file.sections[i];

		if (!(s->flags & SHF_ALLOC) || s->type == SHT_NOBITS || address < s->address ||
		    address - s->address > s->size || size > s->size - (address - s->address))
			continue;
		if (elf_file_read(&file, s->offset + (address - s->address), to, size))
			err = 0;
		break;
	}
	elf_file_close(&file);
	return err;
}
