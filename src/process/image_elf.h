/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_IMAGE_ELF_H
#define PROCESS_IMAGE_ELF_H

#include <stdbool.h>

#include "process/image.h"

/*
 * Reads what stackcam must know of an ELF file before anything else: executable segments and build
 * id, from the program headers (sections may be stripped, and are not needed). Takes image->memory,
 * or else image->fd. Fills is_elf, build_id, segments; the file is hostile input and may change
 * while it is read. A damaged table is read up to the damage. Returns -ENOMEM or 0, also when it is
 * no ELF.
 */
int image_read_elf(struct image *image);

#endif
