/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_IMAGE_OPEN_H
#define PROCESS_IMAGE_OPEN_H

#include <stddef.h>

#include "process/far_files.h"
#include "process/images.h"

/*
 * Opens the file behind a mapping for reading: by the kernel's own link to it (/proc/PID/map_files,
 * which also leads to deleted files), else by its path in the process's root, else by its path here
 * (for a process that is gone); by paths only if device and inode agree. What is not a regular file
 * is never opened. Returns a descriptor for the functions of base/file.h with *st filled, or
 * -ENXIO: it is not a regular file; -ESTALE: another file has that path now; -ETIMEDOUT: its file
 * system does not answer; other negative errnos. far: may be null (far_files.h).
 */
int image_open(struct far_files *far, const struct image_question *question, struct stat *st);

/*
 * "/proc/PID/root" if the process has another root directory or mount namespace than we, else "".
 */
void image_root(pid_t pid, char *root, size_t size);

#endif
