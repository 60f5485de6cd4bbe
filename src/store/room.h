/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_ROOM_H
#define STORE_ROOM_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "base/vec.h"
#include "store/folder.h"
#include "store/index.h"
#include "store/index_builds.h"
#include "store/build_names.h"
#include "store/spans_db.h"
#include "store/store.h"

/*
 * What store.c, films.c, take.c, merging.c and retention.c share: the films of a store as they are
 * known in memory.
 */

/*
 * A film of the store. Its entry lives until the film is removed, which only store_tick()'s thread
 * does.
 */
struct store_film {
	char *name; /* relative to the store's folder */
	uint64_t hash;
	char *host;
	char *agent; /* its agent; "": it came without a name */
	uint64_t number;
	/* ns since 1970, as its name says: of a film of an hour the hour, or later in it */
	uint64_t start;
	uint64_t last;	/* the end of what it covers; 0: not known yet */
	uint64_t until; /* the index has all samples until then: 0: nothing yet, UINT64_MAX: all */
	uint64_t came;	/* ns of CLOCK_MONOTONIC, of parts; 0: it was there at the start */
	uint64_t kin;	/* films with different ones cannot become one film; 0: not known yet */
	uint64_t bytes;
	uint64_t tables; /* bytes of memory that its tables take; 0: not known yet */
	uint64_t again;	 /* ns of CLOCK_MONOTONIC: a growing one is not looked at before */
	/* the names of its events, each with its 0, an empty one at the end; null: not known */
	char *events;
	unsigned int absent; /* looks at a growing one that was not there */
	bool is_part;	     /* in the inbox */
	bool is_growing;     /* the recorder of this process writes it */
	bool is_done;	     /* of a growing one: the recorder says that it has closed the film */
	bool has_side_files; /* it was closed beside readers, and may not be a single file yet */
	bool is_packed;	     /* its hour is over, and it has large blocks: its mode says so */
	bool is_indexed;     /* the whole film */
	bool is_refused;     /* it cannot be merged with others */
	bool is_later;	     /* a later version of stackcam wrote it: it stays as it is */
	bool in_bucket;	     /* bucket.c: the bucket has this file, and the index says so */
	struct store_sent *sent; /* bucket.c: it was sent, and the index does not say so yet */
	uint64_t send_after;	 /* ns of CLOCK_MONOTONIC: it is not sent before */
	/* a growing one as the index has it, and the builds of its programs: store_tick()'s */
	struct film *followed;
	struct index_builds builds;
};

/* marks.c: host, service, version, text */
struct kept_mark {
	uint64_t time; /* ns since 1970 */
	char *texts[4];
};

struct store_agent {
	char name[FOLDER_AGENT_MAX + 1];
	uint64_t number;  /* the last that was taken */
	bool is_complete; /* the index was asked, too */
};

/*
 * What store_status() and store_events() say where they would have to wait. Its lock is held for
 * moments: nothing is called with it.
 */
struct store_shown {
	pthread_mutex_t lock;
	struct index_status index; /* when it was changed last */
	struct store_status status;
	struct store_event events[STORE_EVENTS_MAX];
	size_t event_count;
};

/* cache.c: films that only the bucket has, and were read from it. */
struct cached {
	char *name;
	uint64_t bytes, used; /* ns of CLOCK_MONOTONIC */
	unsigned int pins;    /* questions that read it */
};
struct store_cache {
	pthread_mutex_t fetching; /* one is read at a time; taken alone, or before `lock` */
	uint64_t broken_until;	  /* ns of CLOCK_MONOTONIC: the bucket is not asked before */
	pthread_mutex_t lock;	  /* of what follows */
	vec(struct cached) films;
	uint64_t bytes, fetched, unfetched;
};

struct store {
	char *path;
	int lock_fd; /* no other process works on the store as long as it is open */
	void (*log)(void *context, const char *words);
	void *context;
	bool is_single;	     /* of a film that stays where it is: nothing is written */
	struct fleet *fleet; /* null: none */
	/* see struct store_options */
	int (*fetch)(void *context, const char *name, const struct store_object *object, int fd,
		     struct fail *why);
	uint64_t cache_max;
	struct store_cache cache;

	pthread_mutex_t lock; /* of all until the next blank line */
	uint64_t bytes_max, age_max;
	uint64_t single_until; /* as until of the film that stays where it is */
	bool single_grows, single_is_cut_off;
	struct index *index; /* changed by store_tick()'s thread only */
	vec(struct store_film *) films;
	struct map by_name; /* hash -> film */
	vec(struct store_agent) agents;
	uint64_t bytes; /* of all films */
	uint64_t set_aside, taken, again, removed;
	/* answers for which there was no time to read all films; atomic, without the lock */
	atomic_uint_fast64_t partial;
	uint64_t released; /* local copies of films that the bucket has */
	bool has_sent;	   /* some film has store_film.sent */
	uint64_t pushes;   /* the last number given to a film without one */
	struct map owners; /* hash of a host's name -> whose its films are */
	uint64_t own;	   /* that of the host that is recorded here; 0: none is */
	bool is_full;

	struct store_shown shown;

	pthread_mutex_t marks_lock;  /* of what follows; taken alone, or before `lock` */
	vec(struct kept_mark) marks; /* in the order of their time */

	pthread_mutex_t spans_lock; /* spans.c: of what follows; taken alone */
	struct spans_db *spans;	    /* null: not opened yet */
	uint64_t spans_taken, spans_again, spans_dropped, spans_removed;

	struct build_names *names; /* null: of a film that stays where it is */

	/* of store_tick()'s thread */
	struct identity *identity; /* with the lock held where it changes */
	uint64_t next_scan, next_expiry;
	int64_t wall_offset;   /* to notice that the clock was set */
	uint64_t no_age_until; /* no film is too old until then */
	unsigned int renewals; /* of damaged indexes */
	bool is_aside_logged;  /* the index knows all that lies in aside/ */
};

/* "PATH/NAME" of a film or another file of the store; -ENAMETOOLONG. */
int store_path_of(const struct store *store, const char *name, char *to, size_t size);

/* aside.c: logs a sentence for the store's operator. */
void store_say(const struct store *store, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * store.c: as store_film_path(), of a film whose events are known before it is read: the list, as
 * in struct store_film, is the store's from then on.
 */
int store_known_path(struct store *store, const char *host, uint64_t time, char *events, char *to,
		     size_t size, struct fail *why);

/* films.c: with the lock held. */
struct store_film *store_find(struct store *store, const char *name);
/*
 * Whether a film has that name, here or in the bucket: 1, 0, or a negative errno with *why filled
 * where the index does not answer.
 */
int store_has_name(struct store *store, const char *name, struct fail *why);
/* Adds a film with what its name says; null: no memory, or it has no name of a film. */
struct store_film *store_add(struct store *store, const char *name, uint64_t bytes,
			     unsigned int mode);
/* Its file is gone. Frees film. */
void store_drop(struct store *store, struct store_film *film);
void store_resize(struct store *store, struct store_film *film);

/*
 * films.c: without the lock. Tells the index of a film whose file is gone, and frees film; where
 * that fails it stays, to be tried again.
 */
int store_drop_gone(struct store *store, struct store_film *film, struct fail *why);
/* films.c: without the lock. Brings what is known of the folder up to date with the folder. */
int store_scan(struct store *store, struct fail *why);
/*
 * A copy of the list, to be freed; the entries are the store's. Null: no memory (or none, *count
 * 0).
 */
struct store_film **store_list(struct store *store, size_t *count);

/* check.c: reads all of a film. 0, or -EBADMSG or why it cannot be read. */
int store_check_film(const char *path, struct fail *why);

/*
 * aside.c: tells the index of a film that cannot be read, and moves it out of the way, for who
 * wants to look at it. Frees film, unless it fails: then it is tried again with the next tick.
 */
int store_set_aside(struct store *store, struct store_film *film, struct fail *why);
/* aside.c: moves a damaged index out of the way. */
int store_set_index_aside(struct store *store, const char *path);
/*
 * aside.c: tells the index of all that lies in aside/ and it does not know, as it was made anew,
 * say.
 */
int store_log_aside(struct store *store, struct fail *why);
/* aside.c: few are kept. */
void store_remove_aside(const struct store *store);

/*
 * indexing.c: films that are new or grow get into the index, until the clock shows deadline.
 * is_tick: what is to be done less often is done, too.
 */
int store_index_films(struct store *store, uint64_t deadline, bool is_tick, struct fail *why);
/* Forgets what is held of a growing film to go on with it. */
void store_unfollow(struct store_film *film);

/* indexing.c: what store_film.until is of an open film that is in the index now. */
uint64_t store_until_of(const struct film *film);

/* indexing.c: as store_complete_until() of store/index.h, with the lock held. */
uint64_t store_complete_of(const struct store *store, const struct store_span *span);

/* indexing.c: what must be the same of films that are to become one. */
uint64_t store_kin_of(const struct film_info *info);

/* merging.c: films become one; recover: what a crash left half done. */
int store_merge_films(struct store *store, uint64_t now, uint64_t deadline, struct fail *why);
int store_recover_merge(struct store *store, struct fail *why);

/* status.c: remembers how the index is, after it was changed. */
void store_look(struct store *store);

/* owners.c: what is known of whose films are; with the lock held but for the first. */
int store_read_owners(struct store *store);
struct store_host store_owner_of(const struct store *store, const char *host);
int store_set_owner(struct store *store, const char *host, uint64_t owner);

/* marks.c: what was kept; what is older than all films goes. */
int store_read_marks(struct store *store);
int store_remove_marks(struct store *store, struct fail *why);
void store_free_marks(struct store *store);

/* names.c: where the names of builds are; nothing is opened yet. */
int store_find_names(struct store *store, struct fail *why);

/* spans.c: what is too old goes. */
int store_remove_spans(struct store *store, uint64_t now, struct fail *why);

/*
 * bucket.c: the index hears what was sent; at the start, what was sent before; it forgets films
 * that only the bucket has, and that ended before that time.
 */
int store_note_uploads(struct store *store, struct fail *why);
int store_recall_bucket(struct store *store, struct fail *why);
/*
 * bucket.c: clears store_film.in_bucket where the film is not the file of the index's row any more,
 * so that it is sent again. 0, or a negative errno: it is not known.
 */
int store_check_copy(struct store *store, struct store_film *film, struct fail *why);
int store_forget_expired(struct store *store, uint64_t before, struct fail *why);

/* cache.c: an empty one at the start; 0 or a negative errno. */
int store_begin_cache(struct store *store);
void store_free_cache(struct store *store);

/* retention.c */
int store_remove_old(struct store *store, uint64_t now, struct fail *why);

/* store.c: opens what is at its place, or an empty one. */
int store_open_index(struct store *store, struct index **index, struct fail *why);
/* cleaning.c: the index is damaged; an empty one takes its place. */
int store_renew_index(struct store *store, struct fail *why);
/*
 * cleaning.c: removes what nothing refers to any more, where that is much; opens one that could
 * not be opened.
 */
int store_clean_index(struct store *store, struct fail *why);
/* Remembers whether the disk is full, from what something that writes returned. Returns err. */
int store_note(struct store *store, int err);

#endif
