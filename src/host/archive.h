/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_ARCHIVE_H
#define HOST_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "store/store.h"

/*
 * The bucket of a store: a thread that sends packed films there, one at a time, and a function that
 * reads one. While the bucket is away or refuses, the thread tries again after a pause that
 * doubles; the log has a line when that begins, and one when it ends.
 */
struct archive;

struct archive_options {
	const char *address, *key_file, *ca; /* as in struct bucket_options */
};

/* Reads the keys; asks no server. */
int archive_new(const struct archive_options *options, struct archive **archive, struct fail *why);
/* Starts the thread. The store must outlive it. */
int archive_start(struct archive *archive, struct store *store, struct fail *why);

/* For store_options.fetch, which the store calls from one thread at a time. */
int archive_fetch(struct archive *archive, const char *name, const struct store_object *object,
		  int fd, struct fail *why);

enum archive_verb {
	ARCHIVE_PUT,
	ARCHIVE_GET,
	ARCHIVE_VERBS
};
/* Why a film was not sent or read. */
enum archive_reason {
	ARCHIVE_BUSY,	 /* the server is away, or asks to wait */
	ARCHIVE_REFUSED, /* keys, rights, or the bucket itself */
	ARCHIVE_MISSING, /* the bucket has no such film */
	ARCHIVE_DIFFERS, /* size or checksum */
	ARCHIVE_OTHER,	 /* the local file, the disk */
	ARCHIVE_REASONS
};
const char *archive_verb_name(enum archive_verb verb);
const char *archive_reason_name(enum archive_reason reason);

struct archive_state {
	uint64_t films[ARCHIVE_VERBS], bytes[ARCHIVE_VERBS]; /* since the start */
	uint64_t failed[ARCHIVE_VERBS][ARCHIVE_REASONS];
	char trouble[512]; /* what does not work at the moment; "": nothing */
};
/* From any thread. */
void archive_state(struct archive *archive, struct archive_state *state);

/* It is to end; from any thread. Null is allowed, as in the next. */
void archive_stop(struct archive *archive);
/* Awaits that, and frees it. */
void archive_free(struct archive *archive);

#endif
