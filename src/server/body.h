/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_BODY_H
#define SERVER_BODY_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"

/* The body of a request as it comes in: in memory or in a file, within a limit. */
struct body {
	uint64_t max;	/* bytes, before and after decompression */
	uint64_t count; /* that came, also those that were dropped because they are too many */
	struct buf bytes;
	char path[PATH_MAX]; /* "": in memory */
	int fd;
	int err; /* the first thing that went wrong: a negative errno */
};

/* path: of a file to be made, or null. Returns 0 or a negative errno with *why filled. */
int body_open(struct body *body, const char *path, uint64_t max, struct fail *why);

/* Adds what comes; what went wrong is kept until body_finish(). */
void body_add(struct body *body, const void *bytes, size_t count);

/*
 * The body is whole: undoes its Content-Encoding (null, "identity", "gzip", "zstd"). Returns 0,
 * -E2BIG, -EBADMSG, -EOPNOTSUPP, -ENOSPC … with *why filled.
 */
int body_finish(struct body *body, const char *encoding, struct fail *why);

/* Frees it, and removes the file if it is still there. */
void body_close(struct body *body);

#endif
