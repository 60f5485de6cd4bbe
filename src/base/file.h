/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * The functions below also take the descriptor of a far file (far_file.h), whose file system may
 * not answer: then they fail in time.
 *
 * Reads exactly count bytes of a file from offset on, also when signals come. False: the file has
 * fewer, or they cannot be read. Files of targets are read this way and never mapped: one that is
 * cut short meanwhile would end the recorder with SIGBUS.
 */
bool file_read_at(int fd, uint64_t offset, void *to, size_t count);

/* As pread(2), also when signals come: how many bytes were read, 0 at the end, or -errno. */
ssize_t file_read_some(int fd, uint64_t offset, void *to, size_t count);

/* As fstat(2): 0 or -errno. */
int file_stat(int fd, struct stat *st);

/* Whether a file is far, and if so, whether its file system answers just now: 0 or -errno. */
bool file_is_far(int fd);
int file_check(int fd);

/*
 * A descriptor through whose /proc/self/fd/FD the file can be opened or probed: another one of the
 * same open file, or of a far file one that only says where it is (O_PATH). It is given only while
 * the file system answers. Returns it, or -errno.
 */
int file_place(int fd);

/*
 * Writes exactly count bytes, also when signals come and however little each call takes. Returns 0
 * or a negative errno, after which a part of them may be written.
 */
int file_write_all(int fd, const void *bytes, size_t count);

#endif
