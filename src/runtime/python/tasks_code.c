// SPDX-License-Identifier: Apache-2.0
/*
 * A step is run by a function of its own, task_step(), which the compiler has put into its callers,
 * or which they call, or to which they jump as their last deed. It calls task_step_impl(), which
 * runs the coroutine on, by PyIter_Send() or, before 3.10, _PyGen_Send().
 */
#include "runtime/python/tasks_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/file.h"
#include "arch/elf.h"
#include "arch/insn.h"
#include "arch/isa.h"
#include "unwind/functions.h"

/* The most bytes of a function. */
#define CODE_MAX (32u << 10)

/* Functions, and parts of such, that belong together; what they call, and jump to; symbols. */
#define PIECES_MAX  96
#define TARGETS_MAX 96
#define SYMBOLS_MAX (1u << 20)

/* Names of what runs a coroutine, and places for them in one file. */
#define SENDERS_MAX 8

/* Instructions between a call and the jump behind it. */
#define BEHIND_MAX 4

struct piece {
	uint64_t start, size;
};

struct targets {
	uint64_t at[TARGETS_MAX];
	size_t count;
};

/* An instruction, at an address. */
struct read {
	struct insn insn;
	struct isa_insn isa;
	uint64_t address;
};

struct code {
	const struct elf_image *elf;
	int fd;
	struct elf_file file;
	struct read at; /* the one that was read last */
	struct piece pieces[PIECES_MAX];
	size_t count;
	struct targets jumps, calls;   /* out of the pieces */
	uint64_t senders[SENDERS_MAX]; /* functions, or pointers to them */
	size_t sender_count;
	struct tasks_code_places *places;
	size_t old;	 /* pieces of a function that was looked at before, */
	bool enters_old; /* to which others lead */
};

static int open_code(struct code *c, const struct elf_image *elf, int fd,
		     struct tasks_code_places *places)
{
	*c = (struct code){.elf = elf, .fd = fd, .places = places};
	return elf_file_open(&c->file, fd);
}

static void close_code(struct code *c)
{
	elf_file_close(&c->file);
}

static bool read_at(struct read *at, const uint8_t *code, size_t left, uint64_t address)
{
	at->address = address;
	return isa_read(&at->isa, code, left) && insn_read(&at->insn, code, left, address);
}

static bool has_piece(const struct code *c, uint64_t address)
{
	for (size_t i = 0; i < c->count; i++)
		if (address - c->pieces[i].start < c->pieces[i].size)
			return true;
	return false;
}

static void add_target(struct targets *targets, uint64_t address)
{
	for (size_t i = 0; i < targets->count; i++)
		if (targets->at[i] == address)
			return;
	if (targets->count < TARGETS_MAX)
		targets->at[targets->count++] = address;
}

static void add_piece(void *context, size_t index, uint64_t start, uint64_t size)
{
	struct code *c = context;

	(void)index;
	if (size && size <= CODE_MAX && c->count < PIECES_MAX && !has_piece(c, start))
		c->pieces[c->count++] = (struct piece){start, size};
}

static bool drop_exported(void *context, const Elf64_Sym *symbol, struct elf_strings *names)
{
	struct targets *targets = context;

	(void)names;
	for (size_t i = 0; i < targets->count; i++)
		if (targets->at[i] == symbol->st_value)
			targets->at[i--] = targets->at[--targets->count];
	return true;
}

/*
 * The functions and parts there become pieces. What others may call, too, does not: an interpreter
 * that has asyncio within itself jumps to functions of which it has many calls.
 */
static void follow(struct code *c, struct targets *targets)
{
	if (targets->count)
		elf_each_symbol(&c->file, SHT_DYNSYM, SYMBOLS_MAX, drop_exported, targets);
	if (targets->count)
		unwind_functions_of_file(c->fd, targets->at, targets->count, add_piece, c, NULL);
	targets->count = 0;
}

/*
 * Calls emit() with each instruction of a piece, until it returns another value than 0, which is
 * returned. What is not read has nothing that is found.
 */
static int each_instruction(struct code *c, const struct piece *piece,
			    int (*emit)(struct code *c, void *context), void *context)
{
	uint8_t *code = malloc(piece->size);
	int err = code ? 0 : -ENOMEM;

	if (!err && !elf_image_read(c->elf, piece->start, code, piece->size))
		err = -ENODATA;
	for (uint64_t at = 0; !err && at < piece->size; at += c->at.insn.size) {
		if (!read_at(&c->at, code + at, piece->size - at, piece->start + at))
			break;
		err = emit(c, context);
	}
	free(code);
	return err;
}

static int add_place(struct tasks_code_places *places, uint64_t address)
{
	if (places->count == TASKS_CODE_PLACES_MAX)
		return -E2BIG;
	places->at[places->count++] = address;
	return 0;
}

static bool is_call(const struct read *at)
{
	return at->insn.kind == INSN_CALL;
}

static bool is_jump(const struct read *at)
{
	return at->insn.kind == INSN_JUMP || at->insn.kind == INSN_BRANCH;
}

/* Where it leads to as it stands there; 0: nowhere, or it is not known. */
static uint64_t target_of(const struct read *at)
{
	return at->insn.has_target ? at->insn.target : 0;
}

/* The places of a jump out, and of a call, are kept. */
static void add_targets(struct code *c)
{
	uint64_t target = target_of(&c->at);

	for (size_t i = 0; i < c->old; i++)
		c->enters_old |= target - c->pieces[i].start < c->pieces[i].size;
	if (!target || has_piece(c, target))
		return;
	add_target(is_call(&c->at) ? &c->calls : &c->jumps, target);
}

static int follow_flow(struct code *c, void *context)
{
	(void)context;
	add_targets(c);
	return 0;
}

static int add_return(struct code *c, void *context)
{
	(void)context;
	add_targets(c);
	return c->at.insn.kind == INSN_RETURN ? add_place(c->places, c->at.address) : 0;
}

/* Looks at a function, its parts, and what it jumps to, from a piece on. */
static int walk(struct code *c, size_t from, int (*emit)(struct code *c, void *context))
{
	int err = 0;

	for (size_t i = from; !err && i < c->count; i++) {
		const struct piece piece = c->pieces[i];

		err = each_instruction(c, &piece, emit, NULL);
		follow(c, &c->jumps);
	}
	return err;
}

int tasks_code_returns(const struct elf_image *elf, int fd, uint64_t function,
		       struct tasks_code_places *places)
{
	struct code c;
	int err = open_code(&c, elf, fd, places);

	if (err)
		return err == -ENOMEM ? err : -ENODATA;
	unwind_functions_of_file(fd, &function, 1, add_piece, &c, NULL);
	err = c.count ? walk(&c, 0, add_return) : -ENODATA;
	close_code(&c);
	return err;
}

/* -- behind steps ------------------------------------------------------------------------------ */

static bool is_sender(const char *name)
{
	return !strcmp(name, "PyIter_Send") || !strcmp(name, "_PyIter_Send") ||
	       !strcmp(name, "_PyGen_Send");
}

static void add_sender(struct code *c, uint64_t address)
{
	if (c->sender_count < SENDERS_MAX)
		c->senders[c->sender_count++] = address;
}

static bool add_symbol(void *context, const Elf64_Sym *symbol, struct elf_strings *names)
{
	if (symbol->st_shndx != SHN_UNDEF && symbol->st_value &&
	    is_sender(elf_strings_get(names, symbol->st_name)))
		add_sender(context, symbol->st_value);
	return true;
}

/* Pointers that the dynamic linker sets to what runs a coroutine. */
static void find_pointers(struct code *c, const struct elf_section *section, struct elf_walk *walk,
			  struct elf_strings *names)
{
	const struct elf_section *symbols = &c->file.sections[section->link];
	Elf64_Rela relocation;
	Elf64_Sym symbol;

	if (symbols->type != SHT_DYNSYM || symbols->link >= c->file.section_count)
		return;
	elf_strings_begin(names, &c->file, &c->file.sections[symbols->link]);
	elf_walk_begin(walk, &c->file, section);
	for (uint32_t i = 0; i < SYMBOLS_MAX && elf_walk_relocation(walk, &relocation); i++) {
		uint64_t type = ELF64_R_TYPE(relocation.r_info);

		if ((type == ARCH_RELOCATION_JUMP_SLOT || type == ARCH_RELOCATION_GLOB_DAT) &&
		    elf_file_symbol(&c->file, symbols, ELF64_R_SYM(relocation.r_info), &symbol) &&
		    is_sender(elf_strings_get(names, symbol.st_name)))
			add_sender(c, relocation.r_offset);
	}
}

static int find_senders(struct code *c)
{
	struct elf_walk *walk = malloc(sizeof(*walk));
	struct elf_strings *names = malloc(sizeof(*names));

	for (uint32_t i = 0; walk && names && i < c->file.section_count; i++)
		if (c->file.sections[i].type == SHT_RELA &&
		    c->file.sections[i].link < c->file.section_count)
			find_pointers(c, &c->file.sections[i], walk, names);
	free(walk);
	free(names);
	if (!walk || !names)
		return -ENOMEM;
	elf_each_symbol(&c->file, SHT_DYNSYM, SYMBOLS_MAX, add_symbol, c);
	return c->sender_count ? 0 : -ENODATA;
}

static bool is_one_of_senders(const struct code *c, uint64_t address)
{
	for (size_t i = 0; i < c->sender_count; i++)
		if (address && c->senders[i] == address)
			return true;
	return false;
}

/* The place in memory that a jump or a call goes through; 0: it does not, or it is not known. */
static uint64_t through(const struct read *at)
{
	uint64_t word;

	return (is_jump(at) || is_call(at)) && !at->insn.has_target &&
			       isa_word(&at->isa, at->address + at->insn.size, &word)
		       ? word
		       : 0;
}

/* Whether a stub of the procedure linkage table leads to what runs a coroutine. */
static bool is_stub(const struct code *c, uint64_t address)
{
	struct read stub;
	uint8_t bytes[24];
	size_t size = elf_image_read_code(c->elf, address, bytes, sizeof(bytes)), at = 0;

	for (unsigned int i = 0; i < 3 && at < size; i++) {
		if (!read_at(&stub, bytes + at, size - at, address + at))
			return false;
		if (is_jump(&stub))
			return is_one_of_senders(c, through(&stub));
		at += stub.insn.size;
	}
	return false;
}

static int match_call(struct code *c, void *context)
{
	bool *calls = context; /* what runs a coroutine */
	uint64_t target = target_of(&c->at);

	if (is_call(&c->at))
		*calls |= is_one_of_senders(c, target) || is_one_of_senders(c, through(&c->at)) ||
			  (target && is_stub(c, target));
	return *calls;
}

/* Which of the functions that are called there runs a coroutine; 0: none, or several. */
static int find_impl(struct code *c, uint64_t *impl)
{
	bool calls;
	int err = 0;

	*impl = 0;
	for (size_t i = 0; err >= 0 && i < c->calls.count; i++) {
		struct code one = {.count = 0};

		unwind_functions_of_file(c->fd, &c->calls.at[i], 1, add_piece, &one, NULL);
		calls = false;
		if (!one.count || one.pieces[0].start != c->calls.at[i])
			continue;
		err = each_instruction(c, &one.pieces[0], match_call, &calls);
		if (calls && *impl)
			err = -ENODATA;
		if (calls)
			*impl = c->calls.at[i];
	}
	return err < 0 ? err : *impl ? 0 : -ENODATA;
}

/* Looking for what is behind calls of one function. */
struct behind {
	uint64_t impl;
	struct tasks_code_places *calls; /* of that; null: they are not wanted */
	unsigned int left; /* instructions in which the jump must come; 0: none is awaited */
};

static bool is_harmless(const struct insn *insn)
{
	return insn->kind == INSN_MOVE || insn->kind == INSN_TEST || insn->kind == INSN_COMPARE ||
	       insn->kind == INSN_LEA || insn->kind == INSN_XOR;
}

static int match_behind(struct code *c, void *context)
{
	struct behind *behind = context;
	uint64_t target = target_of(&c->at);

	if (behind->left && c->at.insn.kind == INSN_BRANCH) {
		behind->left = 0;
		return add_place(c->places, c->at.address);
	}
	/* a step would end unseen */
	if ((behind->left && (!is_harmless(&c->at.insn) || !--behind->left)) ||
	    (target == behind->impl && !is_call(&c->at)))
		return -ENODATA;
	if (target != behind->impl)
		return 0;
	behind->left = BEHIND_MAX;
	return behind->calls ? add_place(behind->calls, c->at.address) : 0;
}

/* In pieces from a number on. 0: all that is there is found; -ENODATA: it is not sure. */
static int find_behind(struct code *c, size_t from, uint64_t impl, struct tasks_code_places *calls)
{
	struct behind behind = {.impl = impl, .calls = calls};
	int err = 0;

	for (size_t i = from; !err && i < c->count; i++) {
		const struct piece piece = c->pieces[i];

		if (piece.start != impl)
			err = each_instruction(c, &piece, match_behind, &behind);
		if (behind.left)
			err = -ENODATA;
	}
	return err;
}

static int behind_first(struct code *c, uint64_t function, uint64_t *impl)
{
	int err;

	unwind_functions_of_file(c->fd, &function, 1, add_piece, c, NULL);
	err = walk(c, 0, follow_flow);
	if (!err)
		err = find_impl(c, impl);
	if (!err)
		err = find_behind(c, 0, *impl, NULL);
	return !err && !c->places->count ? -ENODATA : err;
}

/* It may have places of its own, in what it calls, or lead to those of the first one. */
static int behind_second(struct code *c, uint64_t function, uint64_t impl)
{
	size_t known = c->places->count;
	int err;

	c->old = c->count;
	c->calls.count = 0;
	unwind_functions_of_file(c->fd, &function, 1, add_piece, c, NULL);
	if (c->count == c->old)
		return -ENODATA;
	err = walk(c, c->old, follow_flow);
	follow(c, &c->calls);
	if (!err)
		err = find_behind(c, c->old, impl, NULL);
	return !err && c->places->count == known && !c->enters_old ? -ENODATA : err;
}

int tasks_code_behind_steps(const struct elf_image *elf, int fd, const uint64_t functions[2],
			    uint64_t *impl, struct tasks_code_places *places)
{
	struct code *c = malloc(sizeof(*c));
	int err = c ? open_code(c, elf, fd, places) : -ENOMEM;

	if (!err) {
		err = find_senders(c);
		if (!err)
			err = behind_first(c, functions[0], impl);
		if (!err)
			err = behind_second(c, functions[1], *impl);
		close_code(c);
	}
	free(c);
	if (err)
		places->count = 0;
	return !err || err == -ENOMEM ? err : -ENODATA;
}

/* Its own code, what that calls, and what this calls. */
#define MAKING_DEPTH 2

int tasks_code_behind_making(const struct elf_image *elf, int fd, uint64_t function, uint64_t impl,
			     struct tasks_code_places *calls, struct tasks_code_places *places)
{
	struct code *c = malloc(sizeof(*c));
	int err = c ? open_code(c, elf, fd, places) : -ENOMEM;

	if (!err) {
		size_t from = 0;

		unwind_functions_of_file(fd, &function, 1, add_piece, c, NULL);
		for (unsigned int i = 0; !err && i <= MAKING_DEPTH; i++) {
			err = walk(c, from, follow_flow);
			from = c->count;
			if (i < MAKING_DEPTH)
				follow(c, &c->calls);
		}
		if (!err)
			err = find_behind(c, 0, impl, calls);
		close_code(c);
	}
	free(c);
	return err == -ENOMEM ? err : err || !calls->count ? -ENODATA : 0;
}
