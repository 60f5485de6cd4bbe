/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_INDEX_PRIVATE_H
#define STORE_INDEX_PRIVATE_H

#include <pthread.h>
#include <sqlite3.h>

#include "film/arena.h"
#include "store/cells.h"
#include "store/dictionary.h"
#include "store/index.h"
#include "store/sql.h"
#include "store/sums.h"

/*
 * The tables of an index, shared by store/index_*.c and store/ask*.c. Sums lie in three tables,
 * each in the order of a key made of event, series and time:
 *
 *	minute	sums of one minute, not yet packed: hours that are not over, and what came late
 *	hour	sums of whole hours, and those of its minutes without paths
 *	hour_minutes	the paths of its minutes, for questions about parts of an hour
 *	service_hour	the same as hour, added up over all series of a service; only where there
 *			are several
 *
 * What is asked is hour and minute together: neither has anything of the other.
 */
#define INDEX_APPLICATION_ID 0x53434d49 /* "SCMI" */
#define INDEX_SCHEMA_VERSION 4

#define NS_MINUTE	     60000000000ull
#define NS_HOUR		     (60 * NS_MINUTE)

enum {
	INDEX_EVENTS_MAX = 255,
	/* losses of parts of an event's samples have the number of the event, and this more */
	INDEX_LOST_PARTS = INDEX_EVENTS_MAX + 1,
	INDEX_READERS_IDLE = 4,
	KEY_TIME_BITS = 27, /* minutes since 1970, up to the year 2225 */
	KEY_SERIES_BITS = 28,
	/* below that, what is not in use is not worth looking for */
	INDEX_CLEAN_PATHS = 1 << 16,
	INDEX_CLEAN_SERIES = 1 << 12,
};

struct index_event {
	const char *name, *unit;
	bool is_calls; /* the index has none of its calls */
};

/* A connection that reads, and what a question needs while it is answered. */
struct index_reader {
	struct sums_view
		view; /* the first: see index_view(); its paths are those of the transaction */
	sqlite3 *db;
	struct cells_reader cells;
	vec(uint32_t) series; /* that select() found */
};

static inline struct index_reader *index_view(struct sums_view *view)
{
	return (struct index_reader *)view;
}

/* index_sums.c: the index as sums that answer (store/sums.h). */
extern const struct sums_verbs index_sums;

struct index {
	atomic_uint owners;
	char *path, *folder; /* path: as sqlite3_open_v2() takes it */
	bool in_memory;
	pthread_mutex_t writing; /* all below up to pool, and a transaction */
	sqlite3 *db;
	struct identity *identity;
	struct dictionary_counts stored;     /* of the dictionary, by earlier transactions */
	struct dictionary_counts store_from; /* what this one has to store begins here */
	struct columns columns;
	struct cells_reader cells;
	vec(uint64_t) numbers; /* scratch */
	uint64_t packed_hour;  /* hours before it are packed, unless something came late */
	bool came_late;
	uint64_t others;		    /* samples in "[others]" since the start */
	uint32_t clean_paths, clean_series; /* index_may_clean() from this many on */
	struct arena words;		    /* of events */

	pthread_mutex_t pool;
	struct index_reader *idle[INDEX_READERS_IDLE];

	struct dictionary dictionary;
	struct index_event events[INDEX_EVENTS_MAX + 1];
	_Atomic uint32_t event_count; /* with the unused 0 */
	_Atomic bool is_damaged;
	_Atomic bool is_retired;
	pthread_rwlock_t files; /* see index_files_change() */
	pthread_mutex_t rules;	/* copies of identity */
};

static inline int64_t index_key(uint32_t event, uint32_t series, uint64_t time)
{
	return (int64_t)((uint64_t)event << (KEY_SERIES_BITS + KEY_TIME_BITS) |
			 (uint64_t)series << KEY_TIME_BITS | time);
}

static inline uint32_t key_series(int64_t key)
{
	return (uint32_t)(key >> KEY_TIME_BITS) & ((1u << KEY_SERIES_BITS) - 1);
}

static inline uint32_t key_event(int64_t key)
{
	return (uint32_t)(key >> (KEY_SERIES_BITS + KEY_TIME_BITS));
}

static inline uint64_t key_time(int64_t key)
{
	return (uint64_t)key & ((1u << KEY_TIME_BITS) - 1);
}

/*
 * Words for what db failed with; -EBADMSG is remembered, so that the store makes the index again.
 */
int index_failed(struct index *index, sqlite3 *db, int rc, struct fail *why);
/* The same where a row is not what it should be. */
int index_damaged(struct index *index, struct fail *why);

/*
 * Begins to write; waits for who else does. index_end() must follow where it returned 0: commits,
 * or where err is not 0 undoes all, and returns err or what went wrong.
 */
int index_begin(struct index *index, struct fail *why);
int index_end(struct index *index, int err, struct fail *why);

/* The dictionary as it lies in the database. */
int index_load_dictionary(struct index *index, struct fail *why);
int index_store_dictionary(struct index *index, struct fail *why);
/* Makes few blocks of many small ones. In a transaction. */
int index_tidy_dictionary(struct index *index, struct fail *why);

/*
 * The number of an event of a film, made if it is not there; 0: there are too many, or other films
 * have what happened then. In a transaction.
 */
uint32_t index_event(struct index *index, const struct film *film, uint32_t number, int *err);

/*
 * Removes the sums of a host's hour (since 1970): of all its series, and those over all hosts that
 * had them in it. In a transaction.
 */
int index_remove_hour(struct index *index, const char *host, uint64_t hour, struct fail *why);

/*
 * index_filmed.c: the time of which the sums of a host and event are, in ns since 1970. Of a film:
 * as far as its first blocks reach, up to that number, which were added to the sums. In a
 * transaction; remove: SQLite's code.
 */
int index_filmed_add(struct index *index, const char *host, const struct film *film,
		     uint64_t blocks, struct fail *why);
int index_filmed_remove_hour(struct index *index, const char *host, uint64_t hour);
/* Spans that have a part in [from, to), in the order of their begin. Returns SQLite's code. */
struct index_filmed_ask {
	const char *host; /* null: all */
	uint32_t event;
	uint64_t from, to;
};
int index_filmed_each(struct index_reader *reader, const struct index_filmed_ask *ask,
		      void (*emit)(void *context, const char *host, uint64_t first, uint64_t last),
		      void *context);

/* index_sums.c: what was lost in an hour (since 1970) of an event, and of none; SQLite's code. */
struct index_lost {
	const char *host;
	bool is_of_event; /* else of whole films */
	bool is_part;	  /* of parts of samples */
	uint64_t count;
};
int index_lost_each(struct index_reader *reader, uint32_t event, uint64_t hour,
		    void (*each)(void *context, const struct index_lost *lost), void *context);

/*
 * index_bucket.c: the statement that makes its table; a film is gone or has changed, in a
 * transaction (SQLite's code); how many there are.
 */
extern const char index_bucket_table[];
int index_bucket_drop(struct index *index, const char *name);
void index_bucket_count(struct index_reader *reader, struct index_status *status);

/* A connection with a read transaction; give it back, also where the answer failed. */
int index_reader_get(struct index *index, struct index_reader **reader, struct fail *why);
void index_reader_put(struct index *index, struct index_reader *reader);

#endif
