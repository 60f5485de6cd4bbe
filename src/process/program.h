/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_PROGRAM_H
#define PROCESS_PROGRAM_H

#include <stddef.h>

#include "base/fail.h"

/*
 * Which files a command will run, before it does: the program itself (for a script, its
 * interpreter) and the libraries that it is linked with. What it opens later by dlopen() is not
 * known yet.
 */
struct program {
	char *path; /* of the ELF file, absolute */
	char **libraries;
	size_t count;
};

/*
 * name: as for execvp(). The libraries are asked of the program's own dynamic loader, in our
 * environment and directory, as the command will have them; a loader that does not answer leaves
 * them unknown. Returns 0, or a negative errno with *why filled (-ENOENT: there is no such
 * command).
 */
int program_find(char *const *argv, struct program *program, struct fail *why);
void program_free(struct program *program);

/* The file that execvp() would execute, as a new string; null: there is none. */
char *program_search(const char *name);

#endif
