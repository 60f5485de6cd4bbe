// SPDX-License-Identifier: Apache-2.0
#include "symbol/elf_jumps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/elf.h"
#include "arch/isa.h"
#include "base/search.h"
#include "base/vec.h"

#define SYMBOLS_MAX	(1u << 20)	      /* of .dynsym, that are looked at */
#define JUMPS_MAX	(1u << 16)	      /* small functions whose code is read */
#define SMALL_MAX	64		      /* bytes of such a function */
#define BEFORE_MAX	6		      /* instructions before its jump */
#define RELOCATIONS_MAX ((uint64_t)128 << 20) /* bytes */

/* An exported function that leaves through a word. */
struct jump {
	uint64_t word;	 /* its virtual address */
	uint64_t target; /* what the file's relocation puts there; 0: not known */
	char *name;	 /* owned */
};

struct jumps {
	const struct elf_file *file;
	struct batch *batch;
	vec(struct jump) list; /* sorted by word in find_targets(), then by target */
	size_t read;	       /* functions whose code was read */
	int err;
};

/*
 * The word that code, which begins at an address, jumps through after few instructions that go
 * straight on but for branches. False: it does something else.
 */
static bool read_jump(const uint8_t *code, size_t size, uint64_t address, uint64_t *word)
{
	struct isa_insn insn;
	size_t at = 0;

	for (int i = 0; i <= BEFORE_MAX && at < size; i++) {
		enum isa_flow flow;

		if (!isa_read(&insn, code + at, size - at))
			return false;
		at += insn.length;
		flow = isa_flow(&insn);
		if (flow == ISA_FLOW_JUMP_INDIRECT)
			return isa_word(&insn, address + at, word);
		if (flow != ISA_FLOW_NEXT && flow != ISA_FLOW_BRANCH)
			return false;
	}
	return false;
}

/* The same of an exported symbol. */
static bool read_export(const struct elf_file *file, const Elf64_Sym *s, uint64_t *word)
{
	const struct elf_section *section = elf_file_code_of(file, s);
	uint8_t code[SMALL_MAX];

	return section && s->st_size <= section->address + section->size - s->st_value &&
	       elf_file_read(file, section->offset + (s->st_value - section->address), code,
			     (size_t)s->st_size) &&
	       read_jump(code, (size_t)s->st_size, s->st_value, word);
}

static bool is_small(const Elf64_Sym *s)
{
	return ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_size && s->st_size <= SMALL_MAX;
}

static bool add_export(void *context, const Elf64_Sym *s, struct elf_strings *names)
{
	struct jumps *jumps = context;
	struct jump jump = {0};
	const char *name;

	if (!is_small(s))
		return true;
	if (jumps->read++ == JUMPS_MAX)
		return false;
	if (!read_export(jumps->file, s, &jump.word))
		return true;
	name = elf_strings_get(names, s->st_name);
	if (!name[0] || strlen(name) > jumps->batch->text)
		return true;
	jump.name = strdup(name);
	if (!jump.name || !vec_push(&jumps->list, jump)) {
		free(jump.name);
		jumps->err = -ENOMEM;
		return false;
	}
	jumps->batch->text -= strlen(name);
	return true;
}

struct walk {
	const struct elf_file *file;
	void (*each)(void *context, const char *name, uint64_t word);
	void *context;
	size_t read;
};

static bool show_export(void *context, const Elf64_Sym *s, struct elf_strings *names)
{
	struct walk *walk = context;
	uint64_t word;

	if (!is_small(s))
		return true;
	if (walk->read++ == JUMPS_MAX)
		return false;
	if (read_export(walk->file, s, &word))
		walk->each(walk->context, elf_strings_get(names, s->st_name), word);
	return true;
}

int elf_jumps_each(const struct elf_file *file,
		   void (*each)(void *context, const char *name, uint64_t word), void *context)
{
	struct walk walk = {.file = file, .each = each, .context = context};

	if (file->machine != ARCH_ELF_MACHINE || !file->is_64)
		return 0;
	return elf_each_symbol(file, SHT_DYNSYM, SYMBOLS_MAX, show_export, &walk);
}

static int compare_jumps(const void *a, const void *b)
{
	const struct jump *x = a, *y = b;

	return x->word < y->word ? -1 : x->word > y->word;
}

/* Sets the target of all functions that leave through the word. */
static void set_target(struct jumps *jumps, uint64_t word, uint64_t target)
{
	size_t at = search_first(jumps->list.count, i, jumps->list.at[i].word < word);

	for (; at < jumps->list.count && jumps->list.at[at].word == word; at++) {
		/* a file can relocate one word as often as it likes */
		if (!jumps->batch->work)
			return;
		jumps->batch->work--;
		jumps->list.at[at].target = target;
	}
}

static int compare_targets(const void *a, const void *b)
{
	const struct jump *x = a, *y = b;

	return x->target < y->target ? -1 : x->target > y->target;
}

/*
 * What several words lead to is none of their functions: it finds out which one was called, as a
 * library does that looks for its driver when it is called first.
 */
static void leave_out_shared(struct jumps *jumps)
{
	struct jump *all = jumps->list.at;
	size_t end;

	qsort(all, jumps->list.count, sizeof(*all), compare_targets);
	for (size_t i = 0; i < jumps->list.count; i = end) {
		const uint64_t target = all[i].target;
		bool is_shared = false;

		for (end = i; end < jumps->list.count && all[end].target == target; end++)
			is_shared |= all[end].word != all[i].word;
		for (size_t k = i; k < end && is_shared; k++)
			all[k].target = 0;
	}
}

static int find_targets(struct jumps *jumps)
{
	const struct elf_file *f = jumps->file;
	struct elf_walk *w = malloc(sizeof(*w));
	/* as in elf_plt.c: sections that lie over each other could be walked for ever */
	uint64_t left = f->size < RELOCATIONS_MAX ? f->size : RELOCATIONS_MAX;
	Elf64_Rela r;

	if (!w)
		return -ENOMEM;
	qsort(jumps->list.at, jumps->list.count, sizeof(*jumps->list.at), compare_jumps);
	for (uint32_t i = 0; i < f->section_count; i++) {
		const struct elf_section *s = &f->sections[i];

		if (s->type != SHT_RELA || !(s->flags & SHF_ALLOC) || s->size > left)
			continue;
		left -= s->size;
		for (elf_walk_begin(w, f, s); elf_walk_relocation(w, &r);)
			if (ELF64_R_TYPE(r.r_info) == ARCH_RELOCATION_RELATIVE)
				set_target(jumps, r.r_offset, (uint64_t)r.r_addend);
	}
	free(w);
	return 0;
}

/* Names the questions whose functions begin at the jump's target. */
static int set_name(struct batch *b, const struct jump *jump)
{
	const struct symbol_claim claim = {
		.start = jump->target, .kind = SYMBOL_FUNCTION, .sizeless = true};

	for (size_t i = batch_find(b, jump->target); i < b->count && b->at[i].start <= jump->target;
	     i++) {
		char *name;

		if (!b->work)
			return 0;
		b->work--;
		/* also one that another jump has named: the better name stays */
		if (b->at[i].start != jump->target || b->at[i].settled ||
		    b->at[i].border > jump->target)
			continue;
		name = strdup(jump->name);
		if (!name)
			return -ENOMEM;
		batch_set_name(&b->at[i], &claim, name);
	}
	return 0;
}

int elf_jumps_answer(const struct elf_file *file, struct batch *batch)
{
	struct jumps jumps = {.file = file, .batch = batch};
	int count;

	if (file->machine != ARCH_ELF_MACHINE || !file->is_64)
		return 0;
	jumps.err = elf_each_symbol(file, SHT_DYNSYM, SYMBOLS_MAX, add_export, &jumps);
	if (!jumps.err && jumps.list.count)
		jumps.err = find_targets(&jumps);
	if (!jumps.err && jumps.list.count)
		leave_out_shared(&jumps);
	vec_foreach (&jumps.list, jump)
		if (!jumps.err && jump->target)
			jumps.err = set_name(batch, jump);
	vec_foreach (&jumps.list, jump)
		free(jump->name);
	count = (int)jumps.list.count;
	vec_free(&jumps.list);
	return jumps.err ? jumps.err : count;
}
