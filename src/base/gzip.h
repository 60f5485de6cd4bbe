/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_GZIP_H
#define BASE_GZIP_H

#include <stdio.h>
#include <zlib.h>

#include "base/buf.h"

/* A gzip stream to a file. Errors are reported by gzip_finish(). */
struct gzip {
	FILE *out;
	z_stream stream;
	int err;
};

void gzip_start(struct gzip *z, FILE *out);

/* Compresses the content of b and empties b. */
void gzip_add(struct gzip *z, struct buf *b);

/*
 * Ends the stream and frees its memory. Returns 0 or the first error, a negative errno; out stays
 * open.
 */
int gzip_finish(struct gzip *z);

/*
 * Appends the decompressed content of a gzip stream to *to. Returns 0, -EBADMSG (damaged, or not
 * gzip), -E2BIG (more than max bytes) or -ENOMEM.
 */
int gunzip(const void *packed, size_t size, size_t max, struct buf *to);

#endif
