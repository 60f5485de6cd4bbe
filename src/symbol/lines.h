/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_LINES_H
#define SYMBOL_LINES_H

#include <stdint.h>

/*
 * Calls emit() for each line of a file, without its newline, from a buffer of fixed size: a line is
 * cut at 8 KiB and what follows up to its newline is dropped; so is what follows a zero byte.
 * emit() may write into the line; a value other than 0 ends the walk and is returned. At most limit
 * bytes are read: a file may grow while it is read. Returns 0 or -errno of read().
 */
int lines_of_fd(int fd, uint64_t limit, int (*emit)(void *context, char *line), void *context);

#endif
