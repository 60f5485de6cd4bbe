/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEND_SMALL_FILE_H
#define SEND_SMALL_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Files of a folder (a descriptor) that are texts. Both return 0 or a negative errno. */

/* Writes it whole or not at all; is_durable: also if the power goes now. */
int small_file_write(int folder, const char *name, const char *text, bool is_durable);

/* Reads at most size - 1 bytes, and ends them with a 0. */
int small_file_read(int folder, const char *name, char *to, size_t size);

#endif
