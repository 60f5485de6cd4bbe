/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_IMAGE_OPEN_H
#define PROCESS_IMAGE_OPEN_H

#include <stdbool.h>
#include <stddef.h>

#include "process/far_files.h"
#include "process/image.h"
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

/*
 * Reads what stackcam must know of an ELF file before anything else: executable segments and build
 * id, from the program headers (sections may be stripped, and are not needed). Takes image->memory,
 * or else image->fd. Fills is_elf, build_id, segments; the file is hostile input and may change
 * while it is read. A damaged table is read up to the damage. Returns -ENOMEM or 0, also when it is
 * no ELF.
 */
int image_read_elf(struct image *image);

struct far_files;

/*
 * Opens the file that a process has mapped at an address, right now, whether it is executable there
 * or not. Returns 0 with *image filled, which is the caller's until image_at_close(); -ENOENT:
 * nothing, or no file, is mapped there; other negative errnos. far: may be null (far_files.h).
 */
int image_at(struct far_files *far, pid_t pid, uint64_t address, struct image *image);
void image_at_close(struct image *image);

#endif
