/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_INDEX_H
#define STORE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "film/reader.h"
#include "query/identity.h"
#include "store/store.h"

/*
 * The index of a store: sums of the films' samples by event, series (host, service, version,
 * labels), minute and path of functions, so that hours of many hosts are answered without opening a
 * film. It is made from the films and can be thrown away. For store.c, which knows the folder;
 * answers are asked through store/ask.h.
 *
 * All functions may be called from any thread; those that write wait for each other. Each that
 * writes is one transaction: after kill -9 it has happened or it has not. Names of films are those
 * that store.c gives, paths relative to the store's folder; at most INDEX_NAME_MAX bytes.
 */
struct index;

enum {
	INDEX_NAME_MAX = 1024
};

struct index_options {
	const char *path;   /* of the database, made if it is not there; null: in memory */
	const char *folder; /* what names of films are relative to; null: the current one */
	const struct identity *identity; /* how services get their names; copied */
};

/*
 * -EBADMSG: what is there is damaged, or of another version: to be set aside, and all films added
 * again.
 */
int index_open(const struct index_options *options, struct index **index, struct fail *why);
/* Another owner, who needs index_free() as well. */
struct index *index_share(struct index *index);
/* Of one owner; the last one frees it, and with it the strings of answers. Null is allowed. */
void index_free(struct index *index);

/*
 * Another index takes its place: what is answered now goes on, what would begin fails with -EAGAIN.
 * The names of events become those of fresh, so that they live on. No thread may be writing.
 */
void index_retire(struct index *index);
bool index_is_retired(const struct index *index);
void index_inherit(struct index *fresh, struct index *retired);
/* Moves all that was written to the file itself. -EBUSY: a reader is in the way. */
int index_checkpoint(struct index *index, struct fail *why);
/* What was written until now survives a power cut, too, when this returns 0. */
int index_sync(struct index *index, struct fail *why);

/*
 * Functions, paths and series that no sum has any more: index_may_clean() says cheaply whether it
 * may be worth looking for them. If half are, index_clean() writes a copy without them to the path,
 * which must not be there, and sets *cleaned. No thread may write meanwhile.
 */
bool index_may_clean(const struct index *index);
int index_clean(struct index *index, const char *to, bool *cleaned, struct fail *why);

/* Other rules, for what is added from now on. */
int index_configure(struct index *index, const struct identity *identity, struct fail *why);

struct index_film {
	const char *name;		   /* "films/web7/2026-11-21/14.film" */
	const char *host;		   /* of the store: may differ from what the film says */
	const struct store_sender *sender; /* its agent; null: none */
	bool is_growing; /* samples whose frames may still get names are left for the next time */
	struct index_builds *builds; /* what is kept of a film that is followed; null: nothing */
};

/*
 * Adds what is new of an open film: the whole film, or what it has more than when it was added
 * before under this name. The sender's number, if it is higher than the known one, is kept in the
 * same transaction.
 */
int index_add(struct index *index, const struct index_film *of, struct film *film,
	      struct fail *why);

/*
 * Films are merged in three steps, and a crash between any two does no harm:
 *
 *	index_merge_begin()	before the file of that inode is put in the place of the film `into`
 *	(the file is renamed)
 *	index_merge_end()	film: `into` as it is now, with all that it had and all that the
 *				parts had
 *	(the parts are removed)
 *
 * Nothing is added, the parts are known no longer. After a crash index_each_merge() says what was
 * begun: index_merge_end() where the inode of `into` is the one that was given, else
 * index_merge_drop(), and the merge may be made again. All parts must have been added before;
 * `into` may be new.
 */
int index_merge_begin(struct index *index, const struct index_film *into, uint64_t inode,
		      const char *const *parts, size_t count, struct fail *why);
int index_merge_end(struct index *index, const char *into, struct film *film, struct fail *why);
int index_merge_drop(struct index *index, const char *into, struct fail *why);
int index_each_merge(struct index *index,
		     int (*emit)(void *context, const char *into, uint64_t inode), void *context,
		     struct fail *why);

/*
 * Forgets a film that is gone. The sums of a host's hour go with the last film that has a part in
 * it.
 */
int index_forget(struct index *index, const char *name, struct fail *why);

/*
 * A film is damaged: it is forgotten, and answers say that there is a gap, of the time that is
 * known, else of the given one. It can be reported again: what has the same name in aside/ is one
 * gap.
 */
struct index_gap {
	const char *name;  /* of the film; null: one that has that name now is another one */
	const char *aside; /* its name in aside/ */
	const char *host;
	uint64_t from, to; /* ns since 1970 */
};
int index_forget_damaged(struct index *index, const struct index_gap *gap, struct fail *why);

/*
 * The films that are known, by name. A value of emit() other than 0 ends the walk and is returned.
 * emit() must not call into the index.
 */
struct index_known {
	const char *name, *host;
	uint64_t first, last; /* the time that it covers, ns since 1970 */
};
int index_each_film(struct index *index, int (*emit)(void *context, const struct index_known *film),
		    void *context, struct fail *why);

/* The highest number that an agent's films had; 0: none. */
int index_sender(struct index *index, const char *agent, uint64_t *number, struct fail *why);

/* Packs hours that are over; now and then, as it takes a moment. now: ns since 1970. */
int index_compact(struct index *index, uint64_t now, struct fail *why);

/*
 * Answers that open films must not meet half of a merge: code that renames or removes films does it
 * between these. Not around whole merges: just around renaming, index_merge_end() and removing.
 */
void index_files_change(struct index *index);
void index_files_changed(struct index *index);

/*
 * index_bucket.c: a film that a bucket has, and the file that it was then (ns since 1970). The row
 * goes with the film. index_bucket_find(): -ENOENT, without *why. index_bucket_each(): those that
 * end before that time; a value of each() other than 0 ends the walk and is returned; it must not
 * call into the index.
 */
struct index_object {
	struct store_object object;
	uint64_t mtime;
};
int index_bucket_set(struct index *index, const char *name, const struct index_object *of,
		     struct fail *why);
int index_bucket_find(struct index *index, const char *name, struct index_object *of,
		      struct fail *why);
int index_bucket_each(struct index *index, uint64_t before,
		      int (*each)(void *context, const char *name, const struct index_object *of),
		      void *context, struct fail *why);

struct index_status {
	uint64_t films, hosts, series, functions, paths;
	uint64_t bucket_films, bucket_bytes; /* that the bucket has */
	uint64_t first, last;		     /* the time of all films; 0: none */
	uint64_t others; /* samples that stand in "[others]", because a table was full */
	uint64_t bytes;	 /* on disk */
	bool is_damaged; /* as with -EBADMSG of index_open(): to be made again */
};
void index_status(struct index *index, struct index_status *status);

/* For store/ask*.c: store.c, status.c and indexing.c define them. */
struct index *store_index(struct store *store);		    /* shared: for index_free() */
struct build_names *store_build_names(struct store *store); /* null: of one film */
/* An answer had no time to read all its films. */
void store_count_partial(struct store *store);
/*
 * The time within [from, to], ns since 1970, until which the index has all samples of an event
 * (null: of those that are filmed all the time) and of a host's films (null: of all hosts);
 * is_read: the caller reads those films that the index knows itself. To be called before the index
 * is asked.
 */
struct store_span {
	const char *host, *event;
	uint64_t from, to;
	bool is_read;
};
uint64_t store_complete_until(struct store *store, const struct store_span *span);
/*
 * Films of a host (null: of all) and of that time that a later version of stackcam wrote: they are
 * not read.
 */
uint32_t store_count_later(struct store *store, const char *host, uint64_t from, uint64_t to);
/*
 * Calls emit() with each film that grows and begins before that time: where it ends, the index only
 * knows of some time ago. first: it begins then, or later. A value of emit() other than 0 ends the
 * walk and is returned; it must not ask the store.
 */
struct store_growing {
	const char *name, *host;
	uint64_t first; /* ns since 1970 */
};
int store_each_growing(struct store *store, uint64_t before,
		       int (*emit)(void *context, const struct store_growing *film), void *context);

#endif
