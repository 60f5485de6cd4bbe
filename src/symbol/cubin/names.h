/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_CUBIN_NAMES_H
#define SYMBOL_CUBIN_NAMES_H

#include "symbol/cubin/lines.h"
#include "symbol/symbols.h"

/*
 * The functions and lines of an instruction, as frames have them: the innermost function that was
 * inlined there first, and the one that holds the instruction last.
 */
struct cubin_names {
	struct symbol_name at[CUBIN_PLACES_MAX];
	size_t count;
	/* behind them: */
	char *owned[CUBIN_PLACES_MAX];
	char paths[CUBIN_PLACES_MAX][256];
};

/*
 * function: the name of the one that holds it, which must outlive the names. Returns the count; 0:
 * no line is known. Call cubin_names_free() in both cases.
 */
size_t cubin_names_find(struct cubin_names *names, const struct cubin_lines *lines,
			const struct cubin *cubin, uint64_t address, const char *function);
void cubin_names_free(struct cubin_names *names);

/* A cubin in memory, with its lines, and what they need. */
struct cubin_loaded {
	void *bytes;
	struct cubin cubin;
	struct cubin_lines lines;
};

/*
 * Reads a file. Returns 0 or a negative errno with *why filled; call cubin_unload() after success
 * only. A file without lines, or with damaged ones, is loaded.
 */
int cubin_load(struct cubin_loaded **loaded, const char *path, struct fail *why);
void cubin_unload(struct cubin_loaded *loaded);

#endif
