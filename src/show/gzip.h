/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_GZIP_H
#define SHOW_GZIP_H

#include <stdio.h>
#include <zlib.h>

#include "base/buf.h"

/* A gzip stream to a file. What goes wrong is kept until gzip_finish(). */
struct gzip {
	FILE *out;
	z_stream stream;
	int err;
};

void gzip_start(struct gzip *z, FILE *out);

/* Compresses what b holds and empties it. */
void gzip_take(struct gzip *z, struct buf *b);

/* Ends the stream and frees its memory. Returns 0 or the first error, a negative errno. */
int gzip_finish(struct gzip *z);

#endif
