// SPDX-License-Identifier: Apache-2.0
#include "symbol/elf_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Several times what the largest programs have; a table with more, or one whose names lie so that
 * each needs a system call of its own, was made to waste time.
 */
#define SYMBOLS_MAX	 (12u << 20)
#define STRING_READS_MAX (1u << 17)

/*
 * borders: for the question at the same place in the batch, the last address at which a symbol
 * begins or one with a size ends, of those between the question before it (exclusive) and itself.
 * Carrying the maximum from left to right afterwards gives the last border before each address
 * without having sorted the table.
 */
struct pass {
	struct batch *batch;
	uint64_t *borders;
	struct elf_strings strings;
	struct elf_walk walk;
	bool starts; /* only symbols without a size are asked for */
};

static bool claim_of(const struct elf_file *f, const Elf64_Sym *s, struct symbol_claim *claim,
		     uint64_t *section_end)
{
	const struct elf_section *section;

	section = elf_file_code_of(f, s);
	if (!section)
		return false;
	*section_end = section->address + section->size;

	*claim = (struct symbol_claim){.start = s->st_value};
	switch (ELF64_ST_TYPE(s->st_info)) {
	case STT_FUNC:
		claim->kind = SYMBOL_FUNCTION;
		break;
	case STT_GNU_IFUNC:
		claim->kind = SYMBOL_FUNCTION;
		claim->resolver = true;
		break;
	case STT_NOTYPE:
	case STT_OBJECT: /* GHC's functions, too */
		claim->kind = SYMBOL_LABEL;
		break;
	default:
		return false;
	}
	claim->binding = elf_symbol_binding(s);
	claim->sizeless = !s->st_size;
	return true;
}

/* Labels that assemblers and linkers leave behind and that name no function. */
static bool is_marker(const char *name)
{
	static const char *const ends[] = {"etext", "_etext", "__etext"};

	if (name[0] == '$' && name[1]) /* mapping symbols of arm64: "$x", "$d.1" */
		return true;
	if (!strncmp(name, ".L", 2) || !strncmp(name, ".annobin", 8))
		return true;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!strcmp(name, ends[i]))
			return true;
	return false;
}

/*
 * The name without its default version: "f@@V2" is what everyone means by "f"; "f@V1" is another,
 * older function of that name and stays so. Null: no name for code, or no memory (*no_memory).
 */
static char *read_name(struct pass *p, const Elf64_Sym *s, enum symbol_kind kind, bool *no_memory)
{
	const char *name = elf_strings_get(&p->strings, s->st_name);
	const char *version = strstr(name, "@@");
	size_t length = version && version != name ? (size_t)(version - name) : strlen(name);
	char *copy;

	if (!length || (kind == SYMBOL_LABEL && is_marker(name)))
		return NULL;
	/*
	 * names without an end, for all that is asked: the shorter ones that follow may have room
	 */
	if (length > p->batch->text)
		return NULL;
	copy = strndup(name, length);
	if (copy)
		p->batch->text -= length;
	else
		*no_memory = true;
	return copy;
}

static int match_symbol(struct pass *p, const Elf64_Sym *s, const struct symbol_claim *claim,
			size_t i)
{
	struct question *q = &p->batch->at[i];
	bool no_memory = false;
	char *name;

	if (!batch_wants(q, claim))
		return 0;
	name = read_name(p, s, claim->kind, &no_memory);
	if (name)
		batch_set_name(q, claim, name);
	return no_memory ? -ENOMEM : 0;
}

static bool work(struct batch *b)
{
	if (!b->work)
		return false;
	b->work--;
	return true;
}

static int match_sized(struct pass *p, const Elf64_Sym *s, const struct symbol_claim *claim,
		       uint64_t end, size_t first)
{
	struct batch *b = p->batch;
	int err = 0;

	for (size_t i = first; i < b->count && b->at[i].address < end && !err; i++)
		err = work(b) ? match_symbol(p, s, claim, i) : -E2BIG;
	return err;
}

/* Questions whose functions begin at the symbol. */
static int match_sizeless(struct pass *p, const Elf64_Sym *s, const struct symbol_claim *claim,
			  size_t first)
{
	struct batch *b = p->batch;
	int err = 0;

	for (size_t i = first; i < b->count && b->at[i].start <= s->st_value && !err; i++) {
		if (!work(b))
			err = -E2BIG;
		else if (b->at[i].start == s->st_value)
			err = match_symbol(p, s, claim, i);
	}
	return err;
}

static void put_border(struct pass *p, uint64_t address)
{
	size_t at = batch_find(p->batch, address);

	if (at < p->batch->count && p->borders[at] < address)
		p->borders[at] = address;
}

/* What a symbol without a size names ends where another symbol begins, or one with a size ends. */
static void drop_beyond_borders(struct pass *p)
{
	uint64_t border = 0;

	for (size_t i = 0; i < p->batch->count; i++) {
		struct question *q = &p->batch->at[i];

		border = p->borders[i] > border ? p->borders[i] : border;
		q->border = border > q->border ? border : q->border;
		if (q->settled || !q->name || !q->claim.sizeless || q->border <= q->claim.start)
			continue;
		free(q->name);
		q->name = NULL;
	}
}

static int walk_table(struct pass *p, const struct elf_file *file)
{
	uint32_t seen = 0;
	Elf64_Sym s;
	int err = 0;

	while (!err && elf_walk_symbol(&p->walk, &s)) {
		struct symbol_claim claim;
		uint64_t end;
		size_t first;

		if (seen++ == SYMBOLS_MAX || p->strings.reads > STRING_READS_MAX)
			return -E2BIG;
		if (!claim_of(file, &s, &claim, &end))
			continue;
		if (s.st_size < end - s.st_value)
			end = s.st_value + s.st_size;
		first = batch_find(p->batch, s.st_value);
		if (first == p->batch->count)
			continue;
		put_border(p, s.st_value);
		if (!s.st_size)
			err = match_sizeless(p, &s, &claim, first);
		else if (p->starts)
			put_border(p, end);
		else
			err = match_sized(p, &s, &claim, end, first);
	}
	return err;
}

int elf_symbols_answer(const struct elf_file *file, uint32_t type, bool starts, struct batch *batch,
		       struct fail *why)
{
	const struct elf_section *table = elf_file_section_of_type(file, type);
	struct pass *p;
	int err = -ENOMEM;

	if (!file->has_addresses || !table || table->link >= file->section_count)
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p)
		goto out;
	p->batch = batch;
	p->starts = starts;
	p->borders = calloc(batch->count + 1, sizeof(*p->borders));
	if (!p->borders)
		goto out;
	elf_strings_begin(&p->strings, file, &file->sections[table->link]);
	elf_walk_begin(&p->walk, file, table);
	err = walk_table(p, file);
	drop_beyond_borders(p);
out:
	if (p)
		free(p->borders);
	free(p);
	if (err == -E2BIG)
		return fail(why, err, "the file is broken or made to mislead",
			    "its table of symbols is beyond all measure");
	if (err)
		return fail_errno(why, err, NULL, "reading symbols");
	return 1;
}
