// SPDX-License-Identifier: Apache-2.0
#include "symbol/elf_plt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/elf.h"
#include "base/search.h"
#include "base/vec.h"

/* A file has three such sections at most: .plt, .plt.sec and .plt.got. */
#define SECTION_MAX	3
#define RELOCATIONS_MAX ((uint64_t)128 << 20) /* bytes */

/* More than any file has that a linker made. */
#define STUBS_MAX (1u << 18)

/* A stub, perhaps with a question that lies in it, and what its relocation is known by. */
struct stub {
	struct question *question;
	uint64_t address;
	struct arch_stub by;
	uint64_t symbol; /* of the relocation; 0: not found */
};

struct stubs {
	vec(struct stub) list;
};

static bool is_stub_section(const struct elf_file *f, const struct elf_section *s)
{
	const char *name = elf_file_section_name(f, s);

	return s->type == SHT_PROGBITS && s->flags & SHF_EXECINSTR && s->size &&
	       (!strcmp(name, ".plt") || !strcmp(name, ".plt.sec") || !strcmp(name, ".plt.got"));
}

static uint64_t entry_size_of(const struct elf_section *s)
{
	return s->entry_size == ARCH_STUB_BYTES_SHORT ? ARCH_STUB_BYTES_SHORT : ARCH_STUB_BYTES;
}

static int find_stubs(const struct elf_file *f, const struct elf_section *s, struct batch *b,
		      struct stubs *stubs)
{
	uint64_t entry = entry_size_of(s);
	uint8_t code[ARCH_STUB_BYTES];

	for (size_t i = batch_find(b, s->address); i < b->count; i++) {
		struct question *q = &b->at[i];
		struct stub stub = {.question = q};
		uint64_t within = (q->address - s->address) / entry * entry;

		if (q->address - s->address >= s->size)
			break;
		if (q->settled || q->name || s->size - within < entry)
			continue;
		if (elf_file_read(f, s->offset + within, code, (size_t)entry) &&
		    arch_stub_read(code, (size_t)entry, s->address + within, &stub.by) &&
		    !vec_push(&stubs->list, stub))
			return -ENOMEM;
	}
	return 0;
}

static int compare_stubs(const void *a, const void *b)
{
	const struct stub *x = a, *y = b;

	if (x->by.by_number != y->by.by_number)
		return x->by.by_number ? 1 : -1;
	return x->by.key < y->by.key ? -1 : x->by.key > y->by.key;
}

/* Sets the relocation's symbol for all stubs that are known by that key. */
static void set_relocation(struct stubs *stubs, bool by_number, uint64_t key, uint64_t symbol)
{
	const struct stub wanted = {.by = {by_number, key}};
	size_t low =
		search_first(stubs->list.count, i, compare_stubs(&stubs->list.at[i], &wanted) < 0);

	for (; low < stubs->list.count && !compare_stubs(&stubs->list.at[low], &wanted); low++)
		stubs->list.at[low].symbol = symbol;
}

static int find_relocations(const struct elf_file *f, struct stubs *stubs)
{
	struct elf_walk *w = malloc(sizeof(*w));
	/*
	 * sections that lie over each other, or in a file full of holes, could be walked for ever
	 */
	uint64_t left = f->size < RELOCATIONS_MAX ? f->size : RELOCATIONS_MAX;

	if (!w)
		return -ENOMEM;
	qsort(stubs->list.at, stubs->list.count, sizeof(*stubs->list.at), compare_stubs);
	for (uint32_t i = 0; i < f->section_count; i++) {
		const struct elf_section *s = &f->sections[i];
		bool is_plt = !strcmp(elf_file_section_name(f, s), ".rela.plt");
		uint64_t number = 0;
		Elf64_Rela r;

		if (s->type != SHT_RELA || !(s->flags & SHF_ALLOC) || s->size > left)
			continue;
		left -= s->size;
		for (elf_walk_begin(w, f, s); elf_walk_relocation(w, &r); number++) {
			uint32_t type = ELF64_R_TYPE(r.r_info);

			if (type != ARCH_RELOCATION_JUMP_SLOT && type != ARCH_RELOCATION_GLOB_DAT)
				continue;
			set_relocation(stubs, false, r.r_offset, ELF64_R_SYM(r.r_info));
			if (is_plt)
				set_relocation(stubs, true, number, ELF64_R_SYM(r.r_info));
		}
	}
	free(w);
	return 0;
}

static int name_stubs(const struct elf_file *f, struct stubs *stubs)
{
	const struct elf_section *table = elf_file_section_of_type(f, SHT_DYNSYM);
	const struct symbol_claim claim = {.kind = SYMBOL_FUNCTION};
	struct elf_strings *strings;
	int err = 0;

	if (!table || table->link >= f->section_count)
		return 0;
	strings = malloc(sizeof(*strings));
	if (!strings)
		return -ENOMEM;
	elf_strings_begin(strings, f, &f->sections[table->link]);
	vec_foreach (&stubs->list, stub) {
		const char *name;
		char *text;
		Elf64_Sym s;

		if (!stub->symbol || !elf_file_symbol(f, table, stub->symbol, &s))
			continue;
		name = elf_strings_get(strings, s.st_name);
		if (!name[0])
			continue;
		if (asprintf(&text, "%s@plt", name) < 0) {
			err = -ENOMEM;
			break;
		}
		batch_set_name(stub->question, &claim, text);
	}
	free(strings);
	return err;
}

int elf_plt_answer(const struct elf_file *file, struct batch *batch)
{
	struct stubs stubs = {0};
	int err = 0, sections = 0;

	if (file->machine != ARCH_ELF_MACHINE || !file->is_64)
		return 0;
	for (uint32_t i = 0; i < file->section_count && !err && sections < SECTION_MAX; i++)
		if (is_stub_section(file, &file->sections[i]) && ++sections)
			err = find_stubs(file, &file->sections[i], batch, &stubs);
	if (!err && stubs.list.count)
		err = find_relocations(file, &stubs);
	if (!err && stubs.list.count)
		err = name_stubs(file, &stubs);
	vec_free(&stubs.list);
	return err;
}

static int list_section(const struct elf_file *f, const struct elf_section *s, struct stubs *stubs)
{
	uint64_t entry = entry_size_of(s);
	uint8_t code[ARCH_STUB_BYTES];

	for (uint64_t at = 0; at + entry <= s->size && stubs->list.count < STUBS_MAX; at += entry) {
		struct stub stub = {.address = s->address + at};

		if (!elf_file_read(f, s->offset + at, code, (size_t)entry))
			break;
		if (arch_stub_read(code, (size_t)entry, stub.address, &stub.by) &&
		    !vec_push(&stubs->list, stub))
			return -ENOMEM;
	}
	return 0;
}

static int steal_list(const struct stubs *stubs, struct elf_plt_stub **list, size_t *count)
{
	*list = calloc(stubs->list.count + 1, sizeof(**list));
	if (!*list)
		return -ENOMEM;
	vec_foreach (&stubs->list, stub)
		if (stub->symbol)
			(*list)[(*count)++] = (struct elf_plt_stub){stub->address, stub->symbol};
	return 0;
}

int elf_plt_list(const struct elf_file *file, struct elf_plt_stub **list, size_t *count)
{
	const struct elf_section *second = elf_file_section(file, ".plt.sec");
	struct stubs stubs = {0};
	int err = 0, sections = 0;

	*list = NULL;
	*count = 0;
	if (file->machine != ARCH_ELF_MACHINE || !file->is_64)
		return 0;
	for (uint32_t i = 0; i < file->section_count && !err && sections < SECTION_MAX; i++) {
		const struct elf_section *s = &file->sections[i];

		if (!is_stub_section(file, s) ||
		    (second && !strcmp(elf_file_section_name(file, s), ".plt")))
			continue;
		sections++;
		err = list_section(file, s, &stubs);
	}
	if (!err && stubs.list.count)
		err = find_relocations(file, &stubs);
	if (!err)
		err = steal_list(&stubs, list, count);
	vec_free(&stubs.list);
	return err;
}
