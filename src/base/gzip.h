/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_GZIP_H
#define BASE_GZIP_H

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

/*
 * Appends to *to what a gzip stream holds, at most max bytes. Returns 0, -EBADMSG (damaged, or
 * something else), -E2BIG (more than max) or -ENOMEM.
 */
int gunzip(const void *packed, size_t size, size_t max, struct buf *to);

#endif
