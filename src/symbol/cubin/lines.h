/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_CUBIN_LINES_H
#define SYMBOL_CUBIN_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "symbol/cubin/cubin.h"

/*
 * The line tables of a cubin, which are line programs of DWARF 2 with an addition: the extended
 * operation 0x90 says that the rows from here on are of an inlined function, with its name and the
 * number of the row that is the call. libdw reads neither that nor the relocations without which
 * the rows of all kernels lie over each other.
 */
#define CUBIN_LINES	".debug_line"	      /* of the source, with -lineinfo */
#define CUBIN_PTX_LINES ".nv_debug_line_sass" /* of the text in .nv_debug_ptx_txt */

/* Rows of all tables of a file that are read at most. */
#define CUBIN_ROWS_MAX (2u << 20)

struct cubin_row {
	uint64_t address;     /* of the cubin (cubin.h); 0: outside of all code */
	uint32_t file, line;  /* file: index in files; line 0: no line from here on */
	uint32_t call;	      /* row that is the call + 1; 0: not inlined */
	const char *function; /* that was inlined; "": not known. Without a call it means nothing */
};

struct cubin_file {
	const char *directory, *name; /* directory "": none */
};

struct cubin_lines {
	vec(struct cubin_row) rows;	     /* in the order of the table */
	vec(const struct cubin_row *) order; /* by address */
	vec(struct cubin_file) files;	     /* files[0]: the name is not known */
};

/*
 * Reads a table. Strings point into the cubin, which must outlive it. Returns 0, also if the file
 * does not have the table; -EBADMSG: damaged (the rows read before that stay); -E2BIG; or -ENOMEM.
 * It needs cubin_lines_free() in any case.
 */
int cubin_lines_read(struct cubin_lines *lines, const struct cubin *cubin, const char *section);
void cubin_lines_free(struct cubin_lines *lines);

/*
 * places[0] is where the instruction comes from; each next one is the call that it was inlined at.
 * function: that was inlined there, "" if not known; null for the last one, whose function is the
 * symbol's.
 */
struct cubin_place {
	const char *function;
	const struct cubin_file *file;
	uint32_t line;
};
#define CUBIN_PLACES_MAX 64

/* Returns the number of places; 0: no line is known. */
size_t cubin_lines_find(const struct cubin_lines *lines, const struct cubin *cubin,
			uint64_t address, struct cubin_place places[CUBIN_PLACES_MAX]);

/* The path of a file, truncated to size. */
const char *cubin_file_path(const struct cubin_file *file, char *to, size_t size);

#endif
