/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEND_BUCKET_ADDRESS_H
#define SEND_BUCKET_ADDRESS_H

#include "base/buf.h"
#include "base/fail.h"

/* Where a bucket is, and with which keys it is asked. All zero is empty. */
struct bucket_address {
	char *server; /* "https://HOST:PORT" */
	char *bucket;
	char *prefix; /* "" or "films/" … */
};
/* Returns 0, -EINVAL or -ENOMEM, with *why filled. */
int bucket_address_parse(const char *text, struct bucket_address *address, struct fail *why);
void bucket_address_free(struct bucket_address *address);

/* Appends a text as it stands in a URL; keep_slash: of a path. */
void bucket_put_escaped(struct buf *to, const char *text, bool keep_slash);

struct bucket_keys {
	char *id, *secret;
	char *session; /* null: none */
	char *region;
};
/*
 * From a file, or where that is null, from the environment. Returns 0 or a negative errno with *why
 * filled; -EPERM: other users can read the file.
 */
int bucket_keys_read(const char *file, struct bucket_keys *keys, struct fail *why);
/* Overwrites the secrets, too. */
void bucket_keys_free(struct bucket_keys *keys);

#endif
