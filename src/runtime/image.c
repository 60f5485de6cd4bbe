// SPDX-License-Identifier: Apache-2.0
/* What files of runtimes ask of an image's file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "elf/file.h"

/* A program that was not stripped has some hundred thousand. */
#define SYMBOLS_MAX (8u << 20)

static int open_elf(const struct image *image, struct elf_file *file)
{
	if (image->memory)
		return elf_file_open_memory(file, image->memory, image->memory_size);
	return image->fd >= 0 ? elf_file_open(file, image->fd) : -ENOEXEC;
}

/*
 * The hash table by which the dynamic loader finds exported symbols ("GNU hash"): a filter that
 * says for most names at once that they are not there, buckets, and for each bucket a run of
 * hashes, beside the symbols from `first` on.
 */
struct hash_table {
	const struct elf_file *file;
	const struct elf_section *symbols;
	struct elf_strings strings;
	struct budget *budget;
	uint64_t filter, buckets, chains; /* offsets in the file */
	uint32_t bucket_count, first, filter_words, shift;
};

static bool open_hash_table(const struct elf_file *file, struct budget *budget,
			    struct hash_table *table)
{
	const struct elf_section *s = elf_file_section_of_type(file, SHT_GNU_HASH);
	uint32_t head[4];

	if (!s || !file->is_64 || s->link >= file->section_count || s->size < sizeof(head) ||
	    !elf_file_read(file, s->offset, head, sizeof(head)))
		return false;
	table->file = file;
	table->budget = budget;
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

/* A link of a run is read by system calls. */
#define LINK_STEPS 256

static bool find_exported(struct hash_table *table, const char *name, Elf64_Sym *symbol)
{
	uint32_t hash = gnu_hash(name), number, other, i;

	if (!may_be_there(table, hash) ||
	    !elf_file_read(table->file, table->buckets + 4ull * (hash % table->bucket_count),
			   &number, sizeof(number)) ||
	    number < table->first)
		return false;
	for (i = 0; i < CHAIN_MAX; i++, number++) {
		if (!budget_step(table->budget, LINK_STEPS) ||
		    !elf_file_read(table->file, table->chains + 4ull * (number - table->first),
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

/*
 * Names are looked for where strings end, since one can be the end of another: so the table of
 * strings is read once, a piece at a time, and then the table of symbols, for the places that were
 * found. Neither is held.
 */
#define PLACES_MAX 8 /* of one name: a linker has it once */
#define PIECE	   ((size_t)64 << 10)
#define NAME_BYTES 256 /* the names that are looked for are shorter */
#define NAMES_MAX  128

/* What may be read for it: the largest programs have 100 MB of strings, and a million symbols. */
#define STRING_BYTES_MAX ((uint64_t)256 << 20)

/*
 * Comparing a name is less than a step: a whole table of strings is compared with all that are
 * looked for.
 */
#define NAMES_PER_STEP 256

struct places {
	uint32_t at[PLACES_MAX];
	uint32_t count;
};

struct name_search {
	struct runtime_symbol *symbols;
	size_t count;
	size_t lengths[NAMES_MAX];
	struct places places[NAMES_MAX];
	size_t compared; /* names, of which no step was taken yet */
	struct budget *budget;
	char piece[NAME_BYTES + PIECE];
};

/* A string ends before piece[end]; the piece begins at `base` of the table. */
static void match_string(struct name_search *s, size_t end, uint64_t base)
{
	size_t i;

	for (i = 0; i < s->count; i++) {
		struct places *p = &s->places[i];
		size_t length = s->lengths[i];

		if (s->symbols[i].address || !length || length > end || p->count == PLACES_MAX ||
		    s->piece[end - 1] != s->symbols[i].name[length - 1] ||
		    memcmp(s->piece + end - length, s->symbols[i].name, length) != 0)
			continue;
		p->at[p->count++] = (uint32_t)(base + end - length);
	}
}

/* Takes what comparing one string or symbol with all names costs. */
static bool compare_step(struct name_search *s)
{
	s->compared += s->count;
	if (s->compared < NAMES_PER_STEP)
		return true;
	s->compared -= NAMES_PER_STEP;
	return budget_step(s->budget, 1);
}

static void find_names(struct name_search *s, const struct elf_file *file,
		       const struct elf_section *strings)
{
	uint64_t size = strings->size < STRING_BYTES_MAX ? strings->size : STRING_BYTES_MAX, at, n;
	size_t kept = 0, from, held;
	char *zero;

	for (at = 0; at < size; at += n) {
		n = size - at < PIECE ? size - at : PIECE;
		if (!elf_file_read(file, strings->offset + at, s->piece + kept, n))
			return;
		held = kept + n;
		for (from = kept; (zero = memchr(s->piece + from, 0, held - from));
		     from = (size_t)(zero - s->piece) + 1) {
			if (!compare_step(s))
				return;
			match_string(s, (size_t)(zero - s->piece), at - kept);
		}
		/* the next piece may have the end of a name that began in this one */
		kept = held < NAME_BYTES ? held : NAME_BYTES;
		memmove(s->piece, s->piece + held - kept, kept);
	}
}

static bool has_place(const struct places *p, uint32_t at)
{
	uint32_t i;

	for (i = 0; i < p->count; i++)
		if (p->at[i] == at)
			return true;
	return false;
}

static size_t find_places(struct name_search *s, const struct elf_file *file,
			  const struct elf_section *table)
{
	struct elf_walk walk;
	Elf64_Sym symbol;
	size_t found = 0, i;
	uint32_t n;

	elf_walk_begin(&walk, file, table);
	for (n = 0; n < SYMBOLS_MAX && elf_walk_symbol(&walk, &symbol); n++) {
		if (symbol.st_shndx == SHN_UNDEF)
			continue;
		if (!compare_step(s))
			break;
		for (i = 0; i < s->count; i++) {
			if (s->symbols[i].address || !has_place(&s->places[i], symbol.st_name))
				continue;
			s->symbols[i].address = symbol.st_value;
			s->symbols[i].size = symbol.st_size;
			found += symbol.st_value != 0;
		}
	}
	return found;
}

/* .symtab, for those that are not found yet. */
static size_t find_in_symtab(const struct elf_file *file, struct budget *budget,
			     struct runtime_symbol *symbols, size_t count)
{
	const struct elf_section *table = elf_file_section_of_type(file, SHT_SYMTAB);
	struct name_search *s;
	size_t found, i;

	if (!table || table->link >= file->section_count || count > NAMES_MAX)
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return 0;
	s->symbols = symbols;
	s->count = count;
	for (i = 0; i < count; i++)
		s->lengths[i] = strnlen(symbols[i].name, NAME_BYTES);
	s->budget = budget;
	find_names(s, file, &file->sections[table->link]);
	found = find_places(s, file, table);
	free(s);
	return found;
}

size_t runtime_find_symbols(const struct image *image, struct budget *budget,
			    struct runtime_symbol *symbols, size_t count)
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
	has_table = open_hash_table(&file, budget, &table);
	for (i = 0; has_table && i < count; i++) {
		if (!find_exported(&table, symbols[i].name, &symbol) || !symbol.st_value)
			continue;
		symbols[i].address = symbol.st_value;
		symbols[i].size = symbol.st_size;
		found++;
	}
	if (found < count)
		found += find_in_symtab(&file, budget, symbols, count);
	elf_file_close(&file);
	return found;
}

uint32_t runtime_suspects(const struct image *image, struct budget *budget)
{
	struct hash_table table = {0};
	uint32_t suspects = 0, i;
	const char *const *name;
	Elf64_Sym symbol;
	struct elf_file file;
	bool has_table;

	if (!image->is_elf || open_elf(image, &file))
		return 0;
	has_table = open_hash_table(&file, budget, &table);
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

bool runtime_is_suspect(const struct runtime_type *type, const struct image *image,
			struct budget *budget)
{
	uint32_t suspects = runtime_suspects(image, budget);

	for (size_t i = 0; runtime_types[i]; i++)
		if (runtime_types[i] == type)
			return suspects >> i & 1;
	return false;
}

static int read_at(const struct elf_file *file, void *to, size_t size, uint64_t address)
{
	uint32_t i;

	for (i = 0; i < file->section_count; i++) {
		const struct elf_section *s = &file->sections[i];

		if (!(s->flags & SHF_ALLOC) || s->type == SHT_NOBITS || address < s->address ||
		    address - s->address > s->size || size > s->size - (address - s->address))
			continue;
		return elf_file_read(file, s->offset + (address - s->address), to, size) ? 0
											 : -EFAULT;
	}
	return -EFAULT;
}

int runtime_read_image(const struct image *image, void *to, size_t size, uint64_t address)
{
	struct elf_file file;
	int err;

	if (open_elf(image, &file))
		return -EFAULT;
	err = read_at(&file, to, size, address);
	elf_file_close(&file);
	return err;
}

void runtime_read_numbers(const struct image *image, const struct runtime_symbol *symbols,
			  size_t count, uint32_t missing, uint32_t *numbers)
{
	struct elf_file file = {.fd = -1};
	bool is_open = !open_elf(image, &file);
	size_t i;

	for (i = 0; i < count; i++) {
		numbers[i] = symbols[i].address ? 0 : missing;
		if (is_open && symbols[i].address &&
		    read_at(&file, &numbers[i], sizeof(numbers[i]), symbols[i].address))
			numbers[i] = 0;
	}
	if (is_open)
		elf_file_close(&file);
}
