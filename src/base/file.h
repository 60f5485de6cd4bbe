/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * The functions below also accept the descriptor of a far file (far_file.h), whose file system may
 * hang: then they fail with a timeout.
 *
 * Reads exactly count bytes of a file from offset on, and restarts after signals. False: the file
 * is shorter, or an error occurred. Files of targets are read this way and never mapped: a file
 * that is truncated while it is mapped would kill the recorder with SIGBUS.
 */
bool file_read_at(int fd, uint64_t offset, void *to, size_t count);

/*
 * As pread(2), but restarts after signals. Returns the number of bytes read, 0 at the end of the
 * file, or -errno.
 */
ssize_t file_read_some(int fd, uint64_t offset, void *to, size_t count);

/* As fstat(2): 0 or -errno. */
int file_stat(int fd, struct stat *st);

/* Whether a file is far; and whether its file system answers at this moment: 0 or -errno. */
bool file_is_far(int fd);
int file_check(int fd);

/*
 * Returns a new descriptor, which the caller closes, or -errno. The file can be opened or probed as
 * /proc/self/fd/FD: the descriptor is a duplicate, or, for a far file, an O_PATH descriptor. For a
 * far file this succeeds only while its file system answers.
 */
int file_place(int fd);

/*
 * Writes exactly count bytes, and restarts after signals and partial writes. Returns 0, or a
 * negative errno after which some of the bytes may be written.
 */
int file_write_all(int fd, const void *bytes, size_t count);

#endif
