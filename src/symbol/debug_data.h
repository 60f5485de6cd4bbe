/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_DEBUG_DATA_H
#define SYMBOL_DEBUG_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "elf/file.h"

/*
 * .gnu_debugdata: an ELF file, packed with xz inside another, that holds the symbols of functions
 * which are not in .dynsym (Fedora and its relatives ship it in every stripped file).
 * Unpacks it into *data, to be freed. Returns 0; -ENOENT: there is none; -EBADMSG: broken; -EFBIG:
 * more than 64 MiB; -ENOMEM.
 */
int debug_data_unpack(const struct elf_file *file, uint8_t **data, size_t *size);

#endif
