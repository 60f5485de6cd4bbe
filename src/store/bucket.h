/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_BUCKET_H
#define STORE_BUCKET_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/fail.h"
#include "store/folder.h"
#include "store/store.h"

/*
 * Films of a store that are in a bucket, too, or only there. The store speaks to no server: a
 * caller sends what store_next_upload() names, and the store asks store_options.fetch for what it
 * has no more. Only packed films of hours that are over are sent.
 *
 * The index has a row for each film that the bucket is known to have. From then on the local copy
 * may be removed to make room; sums and the film's time stay in the index until keep-age is over,
 * and no other film gets its name. What nothing refers to any more in the bucket, its own rules
 * remove.
 */

/* A film that the bucket does not have as it is. */
struct store_upload {
	char name[FOLDER_NAME_MAX]; /* relative to the store's folder */
	char path[PATH_MAX];
};

/*
 * The oldest of them; false: there is none. Those that store_upload_failed() was called for wait a
 * while.
 */
bool store_next_upload(struct store *store, struct store_upload *upload);

/*
 * The server has confirmed it: st is of the open file that was sent. The index has a row with the
 * next tick, if the film is still that file.
 */
void store_uploaded(struct store *store, const struct store_upload *upload, const struct stat *st,
		    const struct store_object *object);
/* It could not be sent, perhaps by a fault of its own: it is not named again for that many ns. */
void store_upload_failed(struct store *store, const struct store_upload *upload, uint64_t ns);

/* A film's key in the bucket, from its name: "HOST/2026-11-21/14.film". */
const char *store_bucket_key(const char *name);

#endif
