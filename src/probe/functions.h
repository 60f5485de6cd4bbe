/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_FUNCTIONS_H
#define PROBE_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "probe/choose.h"
#include "symbol/symbols.h"

/*
 * The functions of an image that can be traced: where probes are to be put, what they will cost,
 * and what must be left alone, and why. Files are hostile input. Nothing is probed here.
 */

/* What the entry probe costs, by the instruction under it (x86: measured, 6.18). */
enum probe_cost {
	PROBE_COST_FAST, /* an instruction that the kernel emulates: push, nop, jmp, call, jcc */
	PROBE_COST_SLOW, /* it is single-stepped out of line: several times as dear */
};

/* How its end is seen. */
enum probe_exit {
	/* the kernel's return probe: cheap; deadly if the stack is unwound or changed */
	PROBE_EXIT_RETURN,
	PROBE_EXIT_RET,	     /* probes on each "ret" and each jump out of the function */
	PROBE_EXIT_INFERRED, /* none: later events show that it has ended */
};

/* Why a function must not, or cannot, be traced. */
enum probe_refusal {
	PROBE_ALLOWED,
	/* _start, __libc_start_main …: they never return, or run before all else */
	PROBE_REFUSED_START,
	PROBE_REFUSED_LOADER,	/* part of the dynamic loader */
	PROBE_REFUSED_RESOLVER, /* an IFUNC resolver: what it chose is traced instead */
	PROBE_REFUSED_TWICE, /* returns twice or changes stacks: setjmp, vfork, swapcontext … */
	PROBE_REFUSED_UNWINDER, /* the exception machinery itself */
	PROBE_REFUSED_HELPER,	/* compiler's helpers: get_pc_thunk, __stack_chk_fail, mcount */
	PROBE_REFUSED_PART,	/* not a whole function: ".cold" */
	PROBE_REFUSED_OVERLAP,	/* lies within another function, or is its alias */
	PROBE_REFUSED_NO_SIZE,	/* where it ends is not known */
	/* its first instruction cannot be probed: prefixes, no instruction, data */
	PROBE_REFUSED_CODE,
	/* a library function that is called without a stub: only it can be probed */
	PROBE_REFUSED_NO_STUB,
	PROBE_REFUSED_BORDER, /* outside of the executable segments */
};

/* "starts the program", "part of the dynamic loader": for lists */
const char *probe_refusal_words(enum probe_refusal refusal);

/*
 * An offset in the file, and what the stack pointer has moved since the function's entry, in words.
 */
struct probe_site {
	uint64_t offset;
	uint16_t words;
	bool leaves; /* of an exit: it jumps to another function, and does not return itself */
};

/* What a function does with its first instruction: where it begins, it ends. */
enum probe_ends_at_once {
	PROBE_GOES_ON,
	PROBE_RETURNS_AT_ONCE,
	PROBE_LEAVES_AT_ONCE,
};

struct probe_function {
	const char *name; /* demangled, without parameters; of a library that is called: "fn@lib" */
	const char *symbol; /* as in the symbol table */
	const char
		*library; /* what is called: file name of its library, "" if not known; null: own */
	uint64_t address, size; /* virtual address in the image's file; size 0: a stub of the PLT */
	struct probe_site entry;
	uint32_t slide; /* bytes from the beginning of the function to there */
	enum probe_cost cost;
	enum probe_exit exit;
	uint32_t first_exit, exits;	 /* PROBE_EXIT_RET: sites of the list, from first_exit on */
	enum probe_ends_at_once at_once; /* PROBE_EXIT_RET: then it has no other exits */
	enum probe_refusal refusal;
	bool is_go;
	bool begins_again; /* Go: without room on its stack it comes to the entry's probe again */
	/* where all it ends was not to be found: perhaps by a jump to another one */
	bool may_leave;
};

/* What was meant, is a function of the image's own, and is not listed. */
struct probe_left_out {
	size_t count;
	const char *name; /* of the first one, */
	enum probe_refusal why;
};

struct probe_functions {
	struct probe_function *at;
	size_t count;
	struct probe_left_out left_out;
	struct probe_site *exits;
	size_t exit_count;
	struct probe_private *private; /* the strings */
};

/* How exits are to be seen: --exit. */
enum probe_exit_wish {
	PROBE_WISH_AUTO,
	PROBE_WISH_RETURN,
	PROBE_WISH_RET,
	PROBE_WISH_INFERRED,
};

struct probe_question {
	const struct symbol_image *image;
	struct symbols *symbols; /* names, debug files */
	const struct choice *choice;
	bool own; /* functions that the image defines */
	/*
	 * functions of libraries, where the image calls them: PLT stubs; and those without, as
	 * refused
	 */
	bool called;
	const char *
		/* the image is a library, --inside: its file name, for choice_has(); else null */
		inside;
	enum probe_exit_wish exit;
	/*
	 * Functions that call nothing may have return probes (PROBE_WISH_AUTO), since a guard looks
	 * at each call whether a signal handler could run on top, which seldom happens
	 * (probe_is_calm()).
	 */
	bool calm;
	/*
	 * Probes of entries stay where functions begin: arguments are where the convention puts
	 * them
	 */
	bool stays;
	bool refused_too; /* list what was meant but refused, for --list */
	bool unwinders;	  /* and what is part of the exception machinery: for its entries alone */
};

/*
 * All functions that are meant, sorted by address. Returns 0 or a negative errno with *why filled:
 * -ENOEXEC: no ELF file for this machine.
 */
int probe_functions_of(const struct probe_question *question, struct probe_functions *functions,
		       struct fail *why);
void probe_functions_free(struct probe_functions *functions);

/*
 * Does the image leave alone what would make its process one of several threads, or one with
 * handlers of signals? It imports nothing of that kind. An image without a dynamic symbol table is
 * not known to.
 */
bool probe_is_calm(const struct symbol_image *image);

/* Can the image execute other programs? */
bool probe_executes(const struct symbol_image *image);

/* Is it a Go program (.go.buildinfo, .gopclntab)? */
bool probe_is_go(const struct symbol_image *image);

/*
 * Up to count names of functions nearest to a pattern that matched none: "did you mean". near is
 * filled with strings that live as long as functions_of_all, a list made with an empty choice.
 * Returns how many.
 */
size_t probe_near(const struct probe_functions *functions_of_all, const char *pattern,
		  const char **near, size_t count);

#endif
