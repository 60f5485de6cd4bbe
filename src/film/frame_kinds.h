/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_FRAME_KINDS_H
#define FILM_FRAME_KINDS_H

#include <stdbool.h>

/* Kinds of frames; runtimes append theirs. frame_kinds.c has what is true of each. */
enum film_frame_kind {
	FILM_FRAME_NATIVE = 1,
	FILM_FRAME_KERNEL,
	FILM_FRAME_JIT, /* code that no file backs, named by a perf map or not at all */
	/*
	 * A mark, which is not code. At the root it says why the stack ends: "[truncated: …]".
	 * FILM_GAP replaces frames that are missing between its neighbours. Marks at the leaf
	 * describe the stack: "[chan receive]".
	 */
	FILM_FRAME_MARK,
	/*
	 * the next ones were found through a language runtime's data; their addresses are only ids
	 */
	FILM_FRAME_PYTHON,
	FILM_FRAME_JAVA,
	FILM_FRAME_LUA,
	FILM_FRAME_JAVASCRIPT,
	/* not code, at the root: the program's own label for its work, "endpoint=/buy" */
	FILM_FRAME_LABEL,
	FILM_FRAME_DEVICE, /* code of a GPU; its address counts through the image's code */
};

/* What is true of a kind of frame. */
struct film_frame_kind_row {
	const char *name; /* "native" */
	/* it is code of an image, and its address says where in it; else that is just a number */
	bool has_address;
	/* a language's runtime called it so: it was found by the runtime's own structures */
	bool is_language;
	/* how files of its language end, null-terminated; null: none */
	const char *const *endings;
};

/* The kind of what a source file has, by how its name ends; 0: it is compiled, or not known. */
unsigned int film_frame_kind_of_file(const char *path);

/* The row of a kind; of one of a later version, "unknown". Never null. */
const struct film_frame_kind_row *film_frame_kind_of(unsigned int kind);

#endif
