/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_MAPPERS_H
#define PROCESS_MAPPERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A file as maps names it: some file systems tell stat() another device or inode. */
struct mapped_file {
	dev_t device;
	ino_t inode;
};

/* False: it cannot be mapped. */
bool mapped_file_of(int fd, struct mapped_file *file);

/*
 * Reads the mappings of all processes, and calls emit() for each that has one of the files mapped
 * as code; number: which of them. Once or more often for a process and a file. Processes that may
 * not be read are passed over. Returns 0 or a negative errno.
 */
int mappers_find(const struct mapped_file *files, size_t count,
		 void (*emit)(void *context, pid_t pid, size_t number), void *context);

#endif
