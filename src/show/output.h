/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_OUTPUT_H
#define SHOW_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/fail.h"

/*
 * Where an answer goes: standard output, or a file that appears only when it is whole. Nothing
 * stays behind if the program dies before.
 */
struct output {
	FILE *file;
	const char *name; /* the path that was asked for, for words */
	int fd;
	int err; /* the first write that failed: a negative errno */
	bool is_terminal;
	unsigned int width; /* columns of the terminal; 0 where it is none */
	char *path;	    /* the file to appear, or null: written where it stands */
	char *temporary; /* what holds it until then, where the file system needs a name for it */
};

/*
 * o must stay where it is, and path must live as long. path null or "-": standard output. What
 * exists and is not a regular file (a pipe, /dev/null) is written as it stands; a film is not
 * replaced. Returns 0 or a negative errno with *why filled.
 */
int output_open(struct output *o, const char *path, struct fail *why);

/*
 * The file gets at most the permissions of that one, which the answer is made from: no user may
 * read in the answer what the user may not read there. After output_open(); may be called again.
 */
void output_like(struct output *o, const char *path);

/*
 * Writes out the rest and lets the file appear, or, when it is not wanted, drops it. Returns 0 or a
 * negative errno with *why filled: -EPIPE when standard output has no reader any more, which needs
 * no message (see output_broken_pipe()).
 */
int output_close(struct output *o, bool wanted, struct fail *why);

/* Ends the program as the signal for a broken pipe would. */
_Noreturn void output_broken_pipe(void);

#endif
