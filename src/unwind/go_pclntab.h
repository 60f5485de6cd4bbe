/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNWIND_GO_PCLNTAB_H
#define UNWIND_GO_PCLNTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/budget.h"
#include "base/buf.h"
#include "elf/image.h"

/*
 * Go's own table of its functions (Go 1.16 and newer): where each begins, its name, how far the
 * stack pointer is below the return address, files, lines, and what was inlined where. The runtime
 * cannot live without it, so no way of stripping takes it away. Its layout is in Go's source,
 * runtime/symtab.go and runtime/runtime2.go; it changed with 1.18 and with 1.20. The table is
 * hostile input.
 */

enum go_layout {
	GO_1_16 = 1, /* 1.16, 1.17: addresses are absolute */
	GO_1_18,     /* 1.18, 1.19: they count from the start of Go's code */
	GO_1_20,     /* 1.20 and newer */
};

struct go_table {
	const struct elf_image *image;
	const uint8_t *at;
	uint64_t size, address;
	enum go_layout layout;
	uint32_t minor; /* of the version, 1.x; 0: the image does not say */
	uint64_t text;	/* virtual address that functions count from */
	uint64_t count; /* of functions */
	uint64_t names, units, files, pcs, list; /* where these begin in the table */
	uint64_t module;			 /* address of runtime.moduledata; 0: not found */
	uint64_t inlined; /* what offsets of inline trees count from; 0: not known */
	uint64_t work;	  /* steps through tables that are left */
};

/*
 * Finds the table of an image, also where no section names it. It lives as long as the image.
 * Returns 0; -ENOENT: the image is not Go's; -EBADMSG: it is, but its table is damaged or unlike
 * any that is known; -ENOMEM.
 */
int go_table_open(struct go_table *table, struct elf_image *image);

struct go_function {
	uint64_t start, end;	     /* with the padding behind it */
	uint64_t record;	     /* where struct _func lies in the table */
	uint32_t name;		     /* offset for go_table_name() */
	uint32_t width;		     /* of what it has on its caller's stack; 2^31 and more: no */
	uint32_t pcsp, pcfile, pcln; /* 0: it has none, being C code, for example */
	uint32_t unit, pcdatas;
	uint8_t funcdatas, flags;
};

/* The runtime's funcFlag: nothing lies below it; it loads the stack pointer with something else. */
#define GO_TOP_FRAME 1
#define GO_SP_WRITE  2

/* The function of that number, in the order of addresses; false: it is damaged. */
bool go_table_function(const struct go_table *table, uint64_t number, struct go_function *function);

/* A walk through all functions, in the order of addresses, at the cost of the image's budget. */
struct go_table_walk {
	const struct go_table *table;
	struct budget *budget;
	uint64_t next;
};

/* The next one that is not damaged, and its name; false: there is none, or the budget is spent. */
bool go_table_next(struct go_table_walk *walk, struct go_function *function, const char **name);

/* The number of the function that address lies in; table->count: none. */
uint64_t go_table_find(const struct go_table *table, uint64_t address);

/* The name at that offset: "net/http.(*conn).serve"; "" if there is none. */
const char *go_table_name(const struct go_table *table, uint32_t offset);

/*
 * A table from addresses to values: each value holds for the bytes [from, until) of the function.
 */
struct go_values {
	struct go_table *table;
	struct bytes in;
	uint64_t from, until;
	int32_t value;
};

/* offset: one of a function's tables (pcsp …). */
void go_values_begin(struct go_values *values, struct go_table *table, uint32_t offset);

/* Goes to the next value; false: there is none, or it is damaged. */
bool go_values_next(struct go_values *values);

/* A place in a source. */
struct go_place {
	const char *function; /* "": not known */
	const char *file;     /* null: not known */
	uint32_t line;	      /* 0: not known */
};

/*
 * Where the code at address, which lies in *function, comes from: the innermost function that was
 * inlined there, what that was inlined into, and at last *function itself. Writes at most room
 * (more than 0) places, leaving out the outer ones before the last; returns how many.
 */
size_t go_table_places(struct go_table *table, const struct go_function *function, uint64_t address,
		       struct go_place *places, size_t room);

#endif
