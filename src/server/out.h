/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_OUT_H
#define SERVER_OUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"

/*
 * The body of an answer, compressed while it is written, so that only the packed form is ever held.
 */
enum out_coding {
	OUT_PLAIN,
	OUT_GZIP,
	OUT_ZSTD,
};

enum {
	OUT_MAX = 128 << 20 /* bytes that are written */
};

struct out {
	FILE *file;	  /* to write to */
	struct buf bytes; /* what came out */
	enum out_coding coding;
	const char *const
		*packed;      /* not null when the first byte is written: it is packed already */
	uint64_t hash, count; /* of what was written */
	int err;	      /* -ENOMEM, -E2BIG */
	struct out_packer *packer;
};

/* The best coding of those that an Accept-Encoding header (or null) names. */
enum out_coding out_choose(const char *accept);
bool out_accepts_gzip(const char *accept);
const char *out_coding_name(enum out_coding coding); /* null: plain */

/* packed must live as long. Returns 0 or -ENOMEM; out_close() is needed in either case. */
int out_open(struct out *out, enum out_coding coding, const char *const *packed);

/* Writes out the rest; 0, -ENOMEM or -E2BIG. Then file is null. */
int out_finish(struct out *out);
void out_close(struct out *out); /* frees all */

#endif
