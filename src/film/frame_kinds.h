/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_FRAME_KINDS_H
#define FILM_FRAME_KINDS_H

#include <stdbool.h>

/* What is true of a kind of frame (enum film_frame_kind). */
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
