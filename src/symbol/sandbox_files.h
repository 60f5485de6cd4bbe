/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_SANDBOX_FILES_H
#define SYMBOL_SANDBOX_FILES_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * A child in the sandbox cannot open files. A library that runs there may have to: DWARF names
 * others, in which the rest is. So its calls of openat() can be left to the parent, which alone
 * decides what is opened and puts a descriptor into the child (seccomp_unotify(2)).
 */

/*
 * path: what the child asked for, hostile and maybe relative. Returns a descriptor,
 * which the caller closes, or a negative errno.
 */
struct sandbox_files {
	int (*open)(void *context, const char *path);
	void *context;
};

/* How many files a child may have opened. */
#define SANDBOX_FILES_MAX 8192

/* In the child, which says in its filter which calls are left to the parent: the parent's end. */
#define SANDBOX_LISTENER 100

/* In the parent: the descriptor of those calls; a negative errno: it cannot be had. */
int sandbox_files_listen(pid_t child);

/* Answers one call that waits. count: files that were opened so far. */
void sandbox_files_answer(int listener, const struct sandbox_files *files, unsigned int *count);

#endif
