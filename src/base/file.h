/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads exactly count bytes of a file from offset on, also when signals come. False: the file has
 * fewer, or they cannot be read. Files of targets are read this way and never mapped: one that is
 * cut short meanwhile would end the recorder with SIGBUS.
 */
bool file_read_at(int fd, uint64_t offset, void *to, size_t count);

/*
 * Writes exactly count bytes, also when signals come and however little each call takes. Returns 0
 * or a negative errno, after which a part of them may be written.
 */
int file_write_all(int fd, const void *bytes, size_t count);

#endif
