/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_NAMES_H
#define FILM_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "film/reader.h"

/* What things of a film are called that have no name of their own. */

/* What stands where nothing is known: no frame of a sample, no name of a thread. */
#define NAME_UNKNOWN "[unknown]"

/* What stands where a stack has more frames than are shown. */
#define NAME_TOO_DEEP "[frames too deep to show]"

/* What stands behind a place whose function was found by decoding its code. */
#define NAME_GUESSED "~"

/* The last part of a path, in place: "libc.so.6" of "/lib/libc.so.6"; "[unknown]" for "". */
const char *name_of_image(const char *path);

/*
 * What a frame is called that has no function: "libc.so.6+0x1230", where its code begins if that is
 * known ("libx264.so.164+0x1340c0~" if that is a guess), else its own address; or "[jit]". Longer
 * image names than fit are cut. Returns to.
 */
const char *name_of_place(const struct film *film, const struct film_frame *frame, char *to,
			  size_t size);

/*
 * The next label in the name of a frame of FILM_FRAME_LABEL, "key=value,key=value"; the text at
 * *rest is cut into pieces and *rest moved on. Values may hold commas. False: there is none.
 */
bool name_next_label(char **rest, const char **key, const char **value);

#endif
