/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_IMAGE_AT_H
#define PROCESS_IMAGE_AT_H

#include "process/image.h"

struct far_files;

/*
 * Opens the file that a process has mapped at an address, right now, whether it is executable there
 * or not. Returns 0 with *image filled, which is the caller's until image_at_close(); -ENOENT:
 * nothing, or no file, is mapped there; other negative errnos. far: may be null (far_files.h).
 */
int image_at(struct far_files *far, pid_t pid, uint64_t address, struct image *image);
void image_at_close(struct image *image);

#endif
