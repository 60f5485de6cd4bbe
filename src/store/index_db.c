// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "film/labels.h"
#include "film/schema.h"
#include "query/view.h"
#include "store/folder.h"
#include "store/index_private.h"
#include "store/keep.h"

/* The largest are the minutes of one hour. */
#define BLOB_MAX (256 << 20)

static const char schema[] =
	"CREATE TABLE event(id INTEGER PRIMARY KEY, name, unit, is_calls);"
	"CREATE TABLE series(id INTEGER PRIMARY KEY, host, service, version, labels);"
	"CREATE TABLE image(id INTEGER PRIMARY KEY, kind, path, build_id);"
	"CREATE TABLE function(id INTEGER PRIMARY KEY, n, data);"
	"CREATE TABLE path(id INTEGER PRIMARY KEY, n, data);"
	"CREATE TABLE minute(key INTEGER PRIMARY KEY, samples, total, truncated, guessed, n, data);"
	"CREATE TABLE hour(key INTEGER PRIMARY KEY, samples, total, truncated, guessed, n,"
	" minutes, data);"
	"CREATE TABLE hour_minutes(key INTEGER PRIMARY KEY, data);"
	"CREATE TABLE service_hour(key INTEGER PRIMARY KEY, samples, total, truncated, guessed, n,"
	" minutes, data);"
	/*
	 * first, last: ns since 1970; blocks: how many of the film's blocks were added; events:
	 * those that it has, as ",1,4,"
	 */
	"CREATE TABLE film(id INTEGER PRIMARY KEY, name UNIQUE, host, first, last, blocks, events);"
	"CREATE INDEX film_host ON film(host, last);"
	"CREATE TABLE filmed(host, event, first, last, PRIMARY KEY(host, event, first))"
	" WITHOUT ROWID;"
	"CREATE TABLE film_lost(film, event, count, PRIMARY KEY(film, event)) WITHOUT ROWID;"
	"CREATE TABLE lost(host, event, hour, count, PRIMARY KEY(host, event, hour)) WITHOUT ROWID;"
	/* aside: where the film that is missing lies; so it is one gap, how often it may be told */
	"CREATE TABLE gap(host, first, last, aside UNIQUE);"
	"CREATE TABLE sender(agent PRIMARY KEY, number, host) WITHOUT ROWID;"
	"CREATE TABLE merging(name PRIMARY KEY, host, inode) WITHOUT ROWID;"
	"CREATE TABLE merging_part(name, part, PRIMARY KEY(name, part)) WITHOUT ROWID;";

/* It came later: the minutes of losses that were counted before are not known. */
static const char lost_minutes[] =
	"CREATE TABLE IF NOT EXISTS lost_minute(host, event, minute, count,"
	" PRIMARY KEY(host, event, minute)) WITHOUT ROWID";

int index_damaged(struct index *index, struct fail *why)
{
	index->is_damaged = true;
	return fail(why, -EBADMSG, "it is made again from the films",
		    "the index of the store is damaged");
}

int index_failed(struct index *index, sqlite3 *db, int rc, struct fail *why)
{
	int err = film_sql_errno(db, rc);

	/* our own statements are right: the tables are not what they should be */
	if (err == -EBADMSG || (rc & 0xff) == SQLITE_ERROR)
		return index_damaged(index, why);
	return fail_errno(why, err ? err : -EIO, NULL, "cannot use the index of the store");
}

static int connect_to(struct index *index, sqlite3 **db, struct fail *why)
{
	int rc = sqlite3_open_v2(index->path, db,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
					 (index->in_memory ? SQLITE_OPEN_URI : 0),
				 NULL);

	if (rc == SQLITE_OK)
		rc = film_sql_distrust(*db);
	if (rc == SQLITE_OK)
		rc = sqlite3_busy_timeout(*db, FILM_PATIENCE_MS);
	if (*db)
		sqlite3_limit(*db, SQLITE_LIMIT_LENGTH, BLOB_MAX);
	return rc == SQLITE_OK ? 0 : index_failed(index, *db, rc, why);
}

static int make_tables(struct index *index)
{
	char words[128];
	int rc;

	snprintf(words, sizeof(words),
		 "PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL;"
		 " PRAGMA journal_mode = %s",
		 index->in_memory ? "MEMORY" : "WAL");
	rc = film_sql_run(index->db, words);
	if (rc == SQLITE_OK)
		rc = film_sql_run(index->db, "BEGIN");
	if (rc == SQLITE_OK)
		rc = film_sql_run(index->db, schema);
	snprintf(words, sizeof(words),
		 "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
		 INDEX_APPLICATION_ID, INDEX_SCHEMA_VERSION);
	if (rc == SQLITE_OK)
		rc = film_sql_run(index->db, words);
	return rc;
}

/* Both are needed for a name: those that every index begins with. */
static int add_mark(struct index *index, const char *name, uint32_t id)
{
	struct dictionary *d = &index->dictionary;
	struct dictionary_function mark = {.kind = FILM_FRAME_MARK, .name = name};
	uint32_t function = dictionary_function(d, &mark);

	return function && dictionary_path(d, 0, function, 0) == id ? 0 : -ENOMEM;
}

static int begin_dictionary(struct index *index, struct fail *why)
{
	struct dictionary_series others = {"[others]", "[others]", "", "", 0};
	int err = index_begin(index, why);

	if (err)
		return err;
	if (add_mark(index, "[unknown]", PATH_UNKNOWN) ||
	    add_mark(index, "[others]", PATH_OTHERS) ||
	    dictionary_series(&index->dictionary, &others) != SERIES_OTHERS)
		err = fail_errno(why, -ENOMEM, NULL, "cannot make the index of the store");
	return index_end(index, err, why);
}

static int load_events(struct index *index, struct fail *why)
{
	sqlite3_stmt *row = NULL;
	uint32_t count = 1;
	int rc = sql_open(index->db, &row, "SELECT id, name, unit, is_calls FROM event ORDER BY id",
			  "");

	if (rc == SQLITE_OK)
		rc = sqlite3_step(row);
	for (; rc == SQLITE_ROW && count <= INDEX_EVENTS_MAX; rc = sqlite3_step(row)) {
		const char *name = (const char *)sqlite3_column_text(row, 1);
		const char *unit = (const char *)sqlite3_column_text(row, 2);
		struct index_event *event = &index->events[count];

		if (sqlite3_column_int64(row, 0) != count++ || !name || !unit)
			break;
		event->name = arena_text(&index->words, name, strlen(name));
		event->unit = arena_text(&index->words, unit, strlen(unit));
		event->is_calls = sqlite3_column_int(row, 3);
		if (!event->name || !event->unit)
			break;
	}
	sqlite3_finalize(row);
	index->event_count = count;
	if (rc == SQLITE_ROW)
		return index_damaged(index, why);
	return rc == SQLITE_DONE ? 0 : index_failed(index, index->db, rc, why);
}

/* Whether it stands in the list that a kept film has of them. */
static bool is_recorded_beside(const struct film *film, const char *event)
{
	char events[FILM_LABEL_VALUE_MAX + 1];
	size_t length = strlen(event), n;

	film_labels_value(film->info.labels, STORE_KEPT_BESIDE_LABEL, events);
	for (const char *at = events; *at; at += n + (at[n] == '+')) {
		n = strcspn(at, "+");
		if (n == length && !strncmp(at, event, n))
			return true;
	}
	return false;
}

uint32_t index_event(struct index *index, const struct film *film, uint32_t number, int *err)
{
	const struct film_event *event = &film->events[number];
	uint32_t count = index->event_count, i;
	struct index_event *at = &index->events[count];

	if (is_recorded_beside(film, event->name))
		return 0;
	for (i = 1; i < count; i++)
		if (!strcmp(index->events[i].name, event->name) &&
		    !strcmp(index->events[i].unit, event->unit))
			return i;
	if (count > INDEX_EVENTS_MAX)
		return 0;
	at->name = arena_text(&index->words, event->name, strlen(event->name));
	at->unit = arena_text(&index->words, event->unit, strlen(event->unit));
	at->is_calls = view_is_calls(event);
	if (!at->name || !at->unit ||
	    sql_run(index->db, "INSERT INTO event VALUES(?, ?, ?, ?)", "itti", (int64_t)count,
		    at->name, at->unit, (int64_t)at->is_calls) != SQLITE_OK) {
		*err = -EIO;
		return 0;
	}
	index->event_count = count + 1;
	return count;
}

static int open_database(struct index *index, struct fail *why)
{
	int64_t id = 0, version = 0, tables = 0;
	int err = connect_to(index, &index->db, why), rc;

	if (err)
		return err;
	rc = film_sql_number(index->db, "PRAGMA application_id", &id);
	if (rc == SQLITE_OK)
		rc = film_sql_number(index->db, "PRAGMA user_version", &version);
	if (rc == SQLITE_OK)
		rc = film_sql_number(index->db, "SELECT count(*) FROM sqlite_schema", &tables);
	if (rc == SQLITE_OK && !id && !version && !tables)
		rc = make_tables(index);
	else if (rc == SQLITE_OK && (id != INDEX_APPLICATION_ID || version != INDEX_SCHEMA_VERSION))
		return index_damaged(index, why);
	if (rc == SQLITE_OK)
		rc = film_sql_run(index->db, lost_minutes);
	if (rc == SQLITE_OK)
		rc = film_sql_run(index->db, index_bucket_table);
	/* what is lost in a power cut is added again from the films */
	if (rc == SQLITE_OK)
		rc = film_sql_run(index->db, "PRAGMA synchronous = NORMAL");
	if (rc != SQLITE_OK)
		return index_failed(index, index->db, rc, why);
	err = load_events(index, why);
	if (!err)
		err = index_load_dictionary(index, why);
	if (!err && index->dictionary.paths.count == 1)
		err = begin_dictionary(index, why);
	return err;
}

static int set_paths(struct index *index, const struct index_options *options)
{
	index->in_memory = !options->path;
	if (options->path)
		index->path = strdup(options->path);
	else if (asprintf(&index->path, "file:/stackcam-index-%p?vfs=memdb", (void *)index) < 0)
		index->path = NULL;
	index->folder = strdup(options->folder ? options->folder : ".");
	index->identity = identity_copy(options->identity);
	return index->path && index->folder && index->identity ? 0 : -ENOMEM;
}

/*
 * Answers that read many films hold it for seconds: a thread that moves films must not wait for
 * more of them to come.
 */
static void init_files_lock(pthread_rwlock_t *files)
{
	pthread_rwlockattr_t attributes;

	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(files, &attributes);
	pthread_rwlockattr_destroy(&attributes);
}

int index_open(const struct index_options *options, struct index **index, struct fail *why)
{
	struct index *made = calloc(1, sizeof(*made));
	int err;

	if (!made)
		return fail_errno(why, -ENOMEM, NULL, "cannot open the index of the store");
	made->owners = 1;
	made->clean_paths = INDEX_CLEAN_PATHS;
	made->clean_series = INDEX_CLEAN_SERIES;
	pthread_mutex_init(&made->writing, NULL);
	pthread_mutex_init(&made->pool, NULL);
	pthread_mutex_init(&made->rules, NULL);
	init_files_lock(&made->files);
	if (set_paths(made, options) || dictionary_init(&made->dictionary))
		err = fail_errno(why, -ENOMEM, NULL, "cannot open the index of the store");
	else
		err = open_database(made, why);
	if (err) {
		index_free(made);
		return err;
	}
	*index = made;
	return 0;
}

static void reader_free(struct index_reader *reader)
{
	if (!reader)
		return;
	sqlite3_close(reader->db);
	cells_reader_free(&reader->cells);
	sums_drop(&reader->view.by_path);
	vec_free(&reader->series);
	free(reader);
}

struct index *index_share(struct index *index)
{
	atomic_fetch_add(&index->owners, 1);
	return index;
}

/* Closes what is not in use. */
static void close_idle(struct index *index)
{
	pthread_mutex_lock(&index->pool);
	for (int i = 0; i < INDEX_READERS_IDLE; i++) {
		reader_free(index->idle[i]);
		index->idle[i] = NULL;
	}
	pthread_mutex_unlock(&index->pool);
}

void index_retire(struct index *index)
{
	/* answers that read films hold it: those that are made now see nothing of what comes */
	index_files_change(index);
	pthread_mutex_lock(&index->writing);
	index->is_retired = true;
	sqlite3_close(index->db);
	index->db = NULL;
	pthread_mutex_unlock(&index->writing);
	close_idle(index);
	index_files_changed(index);
}

bool index_is_retired(const struct index *index)
{
	return index->is_retired;
}

void index_inherit(struct index *fresh, struct index *retired)
{
	arena_join(&fresh->words, &retired->words);
	fresh->others += retired->others;
	/* it was just looked for */
	fresh->clean_paths = retired->clean_paths;
	fresh->clean_series = retired->clean_series;
}

int index_checkpoint(struct index *index, struct fail *why)
{
	int left = -1, moved = 0, rc;

	pthread_mutex_lock(&index->writing);
	/* answers take a moment: it is not waited for them */
	sqlite3_busy_timeout(index->db, 0);
	rc = sqlite3_wal_checkpoint_v2(index->db, "main", SQLITE_CHECKPOINT_TRUNCATE, &left,
				       &moved);
	sqlite3_busy_timeout(index->db, FILM_PATIENCE_MS);
	pthread_mutex_unlock(&index->writing);
	if ((rc & 0xff) == SQLITE_BUSY || (rc == SQLITE_OK && left != moved))
		return -EBUSY;
	return rc == SQLITE_OK ? 0 : index_failed(index, index->db, rc, why);
}

int index_sync(struct index *index, struct fail *why)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof(path), "%s-wal", index->path);
	/* commits lie there; what a checkpoint moved to the file itself, it has synced */
	int err = length < (int)sizeof(path) ? folder_sync(path) : -ENAMETOOLONG;

	return err && err != -ENOENT
		       ? fail_errno(why, err, NULL, "cannot sync the index of the store")
		       : 0;
}

void index_free(struct index *index)
{
	if (!index || atomic_fetch_sub(&index->owners, 1) > 1)
		return;
	close_idle(index);
	sqlite3_close(index->db);
	arena_free(&index->words);
	dictionary_free(&index->dictionary);
	columns_free(&index->columns);
	cells_reader_free(&index->cells);
	vec_free(&index->numbers);
	identity_free(index->identity);
	pthread_rwlock_destroy(&index->files);
	pthread_mutex_destroy(&index->rules);
	pthread_mutex_destroy(&index->pool);
	pthread_mutex_destroy(&index->writing);
	free(index->path);
	free(index->folder);
	free(index);
}

static int is_gone(struct fail *why)
{
	return fail(why, -EAGAIN, "ask again", "the index of the store was just made anew");
}

int index_configure(struct index *index, const struct identity *identity, struct fail *why)
{
	struct identity *copy = identity_copy(identity);

	if (!copy)
		return fail_errno(why, -ENOMEM, NULL, "cannot take the rules for services");
	pthread_mutex_lock(&index->rules);
	identity_free(index->identity);
	index->identity = copy;
	pthread_mutex_unlock(&index->rules);
	return 0;
}

int index_begin(struct index *index, struct fail *why)
{
	int rc;

	pthread_mutex_lock(&index->writing);
	if (index->is_retired) {
		pthread_mutex_unlock(&index->writing);
		return is_gone(why);
	}
	index->stored = index->store_from = dictionary_counts(&index->dictionary);
	rc = film_sql_run(index->db, "BEGIN IMMEDIATE");
	if (rc == SQLITE_OK)
		return 0;
	rc = index_failed(index, index->db, rc, why);
	pthread_mutex_unlock(&index->writing);
	return rc;
}

int index_end(struct index *index, int err, struct fail *why)
{
	uint32_t events = index->event_count;

	if (!err)
		err = index_store_dictionary(index, why);
	if (!err) {
		int rc;

		/* before the commit: readers that see its sums know their paths */
		dictionary_publish(&index->dictionary);
		rc = film_sql_run(index->db, "COMMIT");
		if (rc != SQLITE_OK)
			err = index_failed(index, index->db, rc, why);
	}
	if (err) {
		int64_t count = 0;

		film_sql_run(index->db, "ROLLBACK");
		if (film_sql_number(index->db, "SELECT count(*) FROM event", &count) == SQLITE_OK)
			events = (uint32_t)count + 1;
		index->event_count = events;
		if (dictionary_roll_back(&index->dictionary, &index->stored))
			index->is_damaged = true;
	}
	pthread_mutex_unlock(&index->writing);
	return err;
}

int index_reader_get(struct index *index, struct index_reader **reader, struct fail *why)
{
	struct index_reader *r = NULL;
	int err = 0, rc;

	pthread_mutex_lock(&index->pool);
	for (int i = 0; !r && i < INDEX_READERS_IDLE; i++) {
		r = index->idle[i];
		index->idle[i] = NULL;
	}
	pthread_mutex_unlock(&index->pool);
	/* by its path is another one now */
	if (index->is_retired) {
		reader_free(r);
		return is_gone(why);
	}
	if (!r) {
		r = calloc(1, sizeof(*r));
		err = r ? connect_to(index, &r->db, why)
			: fail_errno(why, -ENOMEM, NULL, "cannot ask the index of the store");
	}
	if (!err) {
		int64_t tables;

		/*
		 * a transaction begins with its first read; the dictionary that is seen then has
		 * all its paths
		 */
		rc = film_sql_run(r->db, "BEGIN");
		if (rc == SQLITE_OK)
			rc = film_sql_number(r->db, "SELECT count(*) FROM sqlite_schema", &tables);
		r->view.paths = dictionary_readable(&index->dictionary.paths);
		if (rc != SQLITE_OK)
			err = index_failed(index, r->db, rc, why);
		/* the path may have led to the next one already */
		if (!err && index->is_retired)
			err = is_gone(why);
	}
	if (err) {
		reader_free(r);
		return err;
	}
	*reader = r;
	return 0;
}

void index_reader_put(struct index *index, struct index_reader *reader)
{
	film_sql_run(reader->db, "ROLLBACK");
	pthread_mutex_lock(&index->pool);
	for (int i = 0; reader && !index->is_retired && i < INDEX_READERS_IDLE; i++) {
		if (!index->idle[i]) {
			index->idle[i] = reader;
			reader = NULL;
		}
	}
	pthread_mutex_unlock(&index->pool);
	reader_free(reader);
}

void index_files_change(struct index *index)
{
	pthread_rwlock_wrlock(&index->files);
}

void index_files_changed(struct index *index)
{
	pthread_rwlock_unlock(&index->files);
}
