/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_SPLIT_FILES_H
#define SYMBOL_SPLIT_FILES_H

/*
 * The files that hold most of the DWARF of a program that was compiled with -gsplit-dwarf: one .dwo
 * for each of its sources, where the compiler wrote it. What the program says of their places is
 * hostile: only regular files of that name are opened, below the target's root, and only the
 * sandbox reads them.
 */
struct split_files {
	struct far_files *far; /* null: files are opened as ever (process/far_files.h) */
	const char *root;      /* what paths are below (open_file.h) */
	const char *path;      /* of the file that names them: relative ones are beside it */
};

/* As struct sandbox_files has it; context: a struct split_files. */
int split_files_open(void *context, const char *path);

#endif
