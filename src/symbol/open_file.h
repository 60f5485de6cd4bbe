/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_OPEN_FILE_H
#define SYMBOL_OPEN_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

struct far_files;

/*
 * Opens the regular file at path for reading. root: "" for this machine's own root; else a
 * directory (such as "/proc/123/root") that stands for "/": absolute links and ".." below it stay
 * below it. What is not a regular file is never opened, so that no device does anything and no FIFO
 * blocks. links: whether path's last component may be a symbolic link. far: may be null
 * (process/far_files.h). Returns a descriptor for the functions of base/file.h with *st filled, or
 * a negative errno; -ELOOP: a link that is not allowed, -EINVAL: not a regular file, -ETIMEDOUT:
 * its file system does not answer.
 */
int open_regular(struct far_files *far, const char *root, const char *path, bool links,
		 struct stat *st);

#endif
