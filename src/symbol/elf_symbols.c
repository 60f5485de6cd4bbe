// SPDX-License-Identifier: Apache-2.0
#include "symbol/elf_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Assembly functions without a size are seldom longer; a name is not worth a lie. */
#define SIZELESS_REACH (64u << 10)

/*
 * Several times what the largest programs have; a table with more, or one whose names lie so that
 * each needs a system call of its own, was made to waste time.
 */
#define SYMBOLS_MAX	 (12u << 20)
#define STRING_READS_MAX (1u << 17)

/*
 * For the question at the same place in the batch: the nearest symbol that begins between the
 * question before it (exclusive) and itself. Carrying the maximum from left to right afterwards
 * gives the nearest symbol before each address without having sorted the table.
 */
struct before {
	bool any, sizeless;
	uint64_t sized_start;	   /* of any symbol with a size, if any */
	struct symbol_claim claim; /* of the symbol without a size, if sizeless */
	uint64_t section_end;
	char *name;
};

struct pass {
	struct batch *batch;
	struct before *before;
	struct elf_strings strings;
	struct elf_walk walk;
	bool complete;
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
		claim->kind = SYMBOL_LABEL;
		break;
	default:
		return false;
	}
	claim->binding = elf_symbol_binding(s);
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

static int take_sized(struct pass *p, const Elf64_Sym *s, const struct symbol_claim *claim,
		      uint64_t end, size_t first)
{
	struct before *before = &p->before[first];
	struct batch *b = p->batch;
	bool no_memory = false;

	if (s->st_size < end - s->st_value)
		end = s->st_value + s->st_size;
	for (size_t i = first; i < b->count && b->at[i].address < end; i++) {
		char *name;

		if (!b->work)
			return -E2BIG;
		b->work--;
		if (!batch_wants(&b->at[i], claim))
			continue;
		name = read_name(p, s, claim->kind, &no_memory);
		if (no_memory)
			return -ENOMEM;
		if (name)
			batch_take(&b->at[i], claim, name);
	}
	if (!before->any || before->sized_start < s->st_value)
		before->sized_start = s->st_value;
	before->any = true;
	return 0;
}

static int take_sizeless(struct pass *p, const Elf64_Sym *s, const struct symbol_claim *claim,
			 uint64_t section_end, size_t first)
{
	struct before *before = &p->before[first];
	/* the question that holds the best symbol for this place */
	struct question best = {.name = before->name, .claim = before->claim};
	bool no_memory = false;
	char *name;

	if (before->sizeless && before->claim.start > s->st_value)
		return 0;
	name = read_name(p, s, claim->kind, &no_memory);
	if (!name)
		return no_memory ? -ENOMEM : 0;
	if (before->sizeless && before->claim.start < s->st_value) {
		free(best.name);
		best.name = NULL;
	}
	batch_take(&best, claim, name);
	before->name = best.name;
	before->claim = best.claim;
	before->section_end = section_end;
	before->sizeless = true;
	return 0;
}

/* Gives what no symbol with a size holds to the nearest one without, as far as that reaches. */
static int settle_sizeless(struct pass *p)
{
	struct batch *b = p->batch;
	struct before last = {0};

	for (size_t i = 0; i < b->count; i++) {
		const struct before *before = &p->before[i];
		struct question *q = &b->at[i];
		uint64_t reach = p->complete ? SIZELESS_REACH : 1;
		char *name;

		if (before->any && (!last.any || before->sized_start > last.sized_start)) {
			last.any = true;
			last.sized_start = before->sized_start;
		}
		if (before->sizeless) {
			last.sizeless = true;
			last.claim = before->claim;
			last.section_end = before->section_end;
			last.name = before->name;
		}
		if (q->settled || q->name || !last.sizeless ||
		    (last.any && last.sized_start >= last.claim.start) ||
		    q->address >= last.section_end || q->address - last.claim.start >= reach)
			continue;
		name = strdup(last.name);
		if (!name)
			return -ENOMEM;
		batch_take(q, &last.claim, name);
	}
	return 0;
}

static int walk_table(struct pass *p, const struct elf_file *file)
{
	uint32_t seen = 0;
	Elf64_Sym s;
	int err = 0;

	while (!err && elf_walk_symbol(&p->walk, &s)) {
		struct symbol_claim claim;
		uint64_t section_end;
		size_t first;

		if (seen++ == SYMBOLS_MAX || p->strings.reads > STRING_READS_MAX)
			return -E2BIG;
		if (!claim_of(file, &s, &claim, &section_end))
			continue;
		first = batch_find(p->batch, s.st_value);
		if (first == p->batch->count)
			continue;
		if (s.st_size)
			err = take_sized(p, &s, &claim, section_end, first);
		else
			err = take_sizeless(p, &s, &claim, section_end, first);
	}
	return err;
}

int elf_symbols_answer(const struct elf_file *file, uint32_t type, bool complete,
		       struct batch *batch, struct fail *why)
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
	p->complete = complete;
	p->before = calloc(batch->count + 1, sizeof(*p->before));
	if (!p->before)
		goto out;
	elf_strings_begin(&p->strings, file, &file->sections[table->link]);
	elf_walk_begin(&p->walk, file, table);
	err = walk_table(p, file);
	if (!err)
		err = settle_sizeless(p);
out:
	if (p && p->before)
		for (size_t i = 0; i < batch->count; i++)
			free(p->before[i].name);
	if (p)
		free(p->before);
	free(p);
	if (err == -E2BIG)
		return fail(why, err, "the file is broken or made to mislead",
			    "its table of symbols is beyond all measure");
	if (err)
		return fail_errno(why, err, NULL, "reading symbols");
	return 1;
}
