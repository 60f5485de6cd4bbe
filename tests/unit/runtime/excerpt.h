/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_RUNTIME_EXCERPT_H
#define TESTS_RUNTIME_EXCERPT_H

#include "stored.h"

/*
 * What is kept of an image's file: each piece that was read while a runtime looked at it. Tables of
 * symbols would be far too large, so instead of them the symbols that were found become a small
 * table of their own, behind the file.
 *
 * This file's functions take the place of those that read files and look symbols up (the linker's
 * --wrap), and so are only for the tool that stores.
 */

/*
 * What is read of this image from now on goes to the stored one. To be called before anything looks
 * at it.
 */
void excerpt_begin(struct stored_image *to);

/* Nothing more is kept; the symbols that were found are put behind the file. False: no memory. */
bool excerpt_end(struct stored_image *to);

#endif
