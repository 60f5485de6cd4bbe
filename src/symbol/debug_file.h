/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_DEBUG_FILE_H
#define SYMBOL_DEBUG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "elf/file.h"

/*
 * Separate debug files: what a distribution takes out of a program's files (symbols, DWARF) and
 * packs apart. One is believed only if it has the program's build id, or, where there is none, the
 * checksum that the program's .gnu_debuglink tells (GDB manual, "Debugging Information in Separate
 * Files").
 */
struct debug_file {
	int fd;		   /* owned; -1: none */
	char *root, *path; /* where it was found, path below root ("": ours) */
	struct elf_file file;
};

struct far_files;

struct debug_search {
	struct far_files *far;	     /* null: files are opened as ever (process/far_files.h) */
	const struct elf_file *main; /* the program's file, or null */
	const char *path;	     /* its path, as its process saw it; null: not known */
	const char *root;	     /* what path is below; "" for ours, which is tried too */
	const uint8_t *build_id;
	size_t build_id_size;		/* 0: it has none */
	const char *const *directories; /* like /usr/lib/debug, null-terminated */
};

/*
 * Looks on this machine. Returns 0 with *found open; -ENOENT: there is none, and *why says so if
 * there was one that belongs to another file; -ENOMEM.
 */
int debug_file_find(const struct debug_search *search, struct debug_file *found, struct fail *why);

/*
 * The file of .gnu_debugaltlink that holds what several debug files share (dwz). The link stands in
 * debug, which was found at path below root. As above.
 */
int debug_file_find_alternate(const struct debug_search *search, const struct elf_file *debug,
			      const char *root, const char *path, struct debug_file *found);

/*
 * Takes fd over if the file behind it has that build id; 0 or a negative errno (fd is closed then).
 */
int debug_file_open_fd(int fd, const char *path, const uint8_t *build_id, size_t build_id_size,
		       struct debug_file *found);

/* All zero bytes are not a closed one: use this, or set fd to -1. */
void debug_file_close(struct debug_file *file);

#endif
