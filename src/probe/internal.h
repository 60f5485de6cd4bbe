/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_INTERNAL_H
#define PROBE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "probe/functions.h"
#include "arch/isa.h"
#include "symbol/functions.h"
#include "elf/image.h"

/* The code of one function. */
struct body {
	const uint8_t *code;
	size_t size;
	uint64_t address;
};

/* A function larger than this is none. */
#define BODY_MAX ((uint64_t)16 << 20)

/* A piece of the image's code in memory; bodies that were read before end with the next one. */
struct window {
	const struct elf_image *image;
	uint8_t *at;
	size_t held, room;
	uint64_t address;
};

/* 1: read; 0: it is not in the file; -ENOMEM. */
int window_read(struct window *window, uint64_t address, uint64_t size, struct body *body);
void window_free(struct window *window);

/* The probe at a function's entry. */
struct entry {
	uint32_t at; /* offset in the body */
	uint16_t words;
	enum probe_cost cost;
};

struct entry_wish {
	bool moves; /* the stack pointer may have moved */
	bool is_go;
	bool stays;	/* at the function's beginning, at any cost */
	uint64_t limit; /* of at: behind it something else begins, such as another symbol */
};

/* false: the function's first instruction can not be probed. */
bool place_entry(const struct body *body, const struct entry_wish *wish, struct entry *entry);

/* Functions of the image by address, once each. */
struct span {
	uint64_t address, size;
	uint32_t symbol; /* place in the list of symbols */
	uint8_t kind;	 /* enum symbol_function_kind; a label: it has no name (add_unnamed()) */
	uint8_t leaf;	 /* enum leaf, as far as known */
	bool is_part;	 /* ".cold" */
	uint32_t chosen; /* number of its choice, from 1 on; 0: it is not meant */
};

struct spans {
	vec(struct span) list; /* sorted by address */
	const struct symbol_functions *names;
	struct window window; /* for a look at other functions */
	uint64_t budget;      /* bytes of code that may still be looked at */
};

enum leaf {
	LEAF_NOT_ASKED,
	LEAF_BEING_ASKED,
	LEAF_YES,
	LEAF_NO
};

/* The function that begins there or, if it may be within, the one around it; null: none. */
struct span *spans_find(const struct spans *spans, uint64_t address, bool within);

/* A function of a library, at the place from where the image calls it. */
static inline bool is_called(enum symbol_function_kind kind)
{
	return kind == SYMBOL_FUNCTION_STUB || kind == SYMBOL_FUNCTION_IMPORT;
}

/* A function's name that is meant, with its best demangled form. */
struct chosen {
	const struct symbol_function *symbol;
	const char *symbol_name, *library;
	char *name; /* owned; null: none is meant */
};

/* 0 or -ENOMEM. */
int choose_name(const struct probe_question *question, const struct symbol_functions *listed,
		const struct span *span, struct chosen *chosen);

/* Whose code is read for functions and parts without a name. */
enum unnamed_of {
	UNNAMED_OF_NONE,
	UNNAMED_OF_CHOSEN, /* and of parts, which may be theirs: what they jump to */
	UNNAMED_OF_ALL,	   /* what they call or jump to */
};

/*
 * Adds what only the unwind information knows: sizes of functions that have none, and functions
 * without a name, or parts of functions, that are called or jumped to. 0 or -ENOMEM.
 */
int add_unnamed(struct spans *spans, const struct symbol_image *image, enum unnamed_of of);

/*
 * Whether nothing is called there but functions that call nothing, and no way leads to the return
 * addresses of these: none that the function's own instructions, or those of what it calls, go. 1,
 * 0, or -ENOMEM.
 */
int is_leaf(struct spans *spans, struct span *span);

/* The last few instructions, to tell what an indirect jump jumps through. */
#define RECENT_MAX 12

struct recent {
	struct isa_insn insns[RECENT_MAX];
	unsigned int count; /* of all; the newest is at count - 1, modulo */
};

void recent_add(struct recent *recent, const struct isa_insn *insn);

enum indirect {
	INDIRECT_TABLE, /* cases of a switch: it stays within the function */
	INDIRECT_CALL,	/* to a function, as its last deed */
	INDIRECT_UNCLEAR,
};

/* What a jump is that comes right after those. */
enum indirect classify_indirect(const struct recent *recent, const struct isa_insn *jump);

/* Where a function ends. */
struct exit_at {
	uint64_t address;
	uint16_t words; /* that the stack pointer is below where it was at the entry */
	bool leaves;	/* it jumps to another function, and does not return itself */
};

/* All of these; all zero is empty. */
struct exits {
	vec(struct exit_at) list;
	uint8_t *marks; /* scratch: what is known of each byte of the function and its parts */
	struct depth *depths; /* scratch: and of the stack there */
	size_t marks_room, depths_room;
	struct window window; /* for the parts */
};

/* 1: these are all; 0: there may be others; -ENOMEM. */
int find_exits(struct exits *exits, struct spans *spans, const struct body *body);
void exits_free(struct exits *exits);

#endif
