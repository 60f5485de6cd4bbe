// SPDX-License-Identifier: Apache-2.0
#include "film/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/database.h"
#include "base/thread.h"
#include "film/blocks.h"
#include "film/create.h"
#include "film/catalogue_blocks.h"

/* Batches that wait for the disk may take this much memory; then the caller waits. */
#define QUEUE_MAX (64u << 20)

/*
 * film_disk_keep_aside(): at most this many commits stay in the side file, with at most this many
 * pages.
 */
#define COMMITS_ASIDE 10
#define PAGES_ASIDE   4096

struct film_disk {
	char *path; /* null: it is in memory */
	int fd;
	_Atomic uint64_t size;

	pthread_t thread;
	pthread_mutex_t lock; /* of all until the next blank line */
	pthread_cond_t given, taken;
	struct film_batch *first, **last;
	size_t queued; /* bytes */
	uint64_t batches_given, batches_done;
	struct film_spare spare;
	bool stop;
	bool drops_empty, drops, puts_back; /* film_disk_drop() */
	struct fail why;		    /* err is 0 as long as all went well */

	/* the thread's own while it runs */
	sqlite3 *db;
	sqlite3_stmt *statements[FILM_ROW_KINDS];
	sqlite3_stmt *page_count;
	uint64_t page_size; /* not FILM_PAGE_SIZE in a film that someone put through VACUUM */
	unsigned int commits_aside, pages_aside; /* in the side file, */
	unsigned int commits_aside_max;		 /* at most this many of those may stay there */
	uint64_t samples;			 /* that were committed */
	struct film_catalogue catalogue;
	struct film_blocks blocks;
};

/* Carries out one operation. Returns SQLite's code. */
static int write_row(struct film_disk *d, struct bytes *rows)
{
	unsigned int kind = bytes_u8(rows);
	const char *parameter = film_row_kinds[kind].parameters;
	sqlite3_stmt *statement;
	int rc = SQLITE_OK, i;

	/*
	 * not before it is used: a film of an earlier version that is only named has not all tables
	 */
	if (!d->statements[kind])
		rc = sqlite3_prepare_v3(d->db, film_row_kinds[kind].sql, -1,
					SQLITE_PREPARE_PERSISTENT, &d->statements[kind], NULL);
	statement = d->statements[kind];
	for (i = 1; rc == SQLITE_OK && *parameter; parameter++, i++) {
		uint64_t value = bytes_varint(rows);
		const void *bytes;

		if (*parameter == 'i') {
			rc = sqlite3_bind_int64(statement, i, (sqlite3_int64)value);
			continue;
		}
		bytes = bytes_read(rows, (size_t)value);
		if (*parameter == 't')
			rc = sqlite3_bind_text(statement, i, bytes, (int)value, SQLITE_STATIC);
		else
			rc = sqlite3_bind_blob(statement, i, bytes, (int)value, SQLITE_STATIC);
	}
	if (rc == SQLITE_OK)
		rc = sqlite3_step(statement);
	sqlite3_reset(statement);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int write_rows(struct film_disk *d, const struct buf *rows)
{
	struct bytes left = buf_bytes(rows);
	int rc = SQLITE_OK;

	while (rc == SQLITE_OK && bytes_left(&left))
		rc = write_row(d, &left);
	return rc;
}

/* For those that make rows of a batch. */
static int write_given_row(void *context, const struct buf *row)
{
	return row->failed ? SQLITE_NOMEM : write_rows(context, row);
}

static int write_batch(struct film_disk *d, struct film_batch *batch)
{
	int rc = write_rows(d, &batch->rows);

	if (rc == SQLITE_OK)
		rc = film_catalogue_write(&d->catalogue, batch, write_given_row, d);
	if (rc == SQLITE_OK)
		rc = film_blocks_write(&d->blocks, batch, write_given_row, d);
	return rc;
}

/* Bytes the database has (in a transaction: will have). */
static int database_size(struct film_disk *d, uint64_t *size)
{
	int rc = sqlite3_step(d->page_count);

	*size = 0;
	if (rc == SQLITE_ROW)
		*size = (uint64_t)sqlite3_column_int64(d->page_count, 0) * d->page_size;
	sqlite3_reset(d->page_count);
	return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

/*
 * Makes sure that the film's own file has room for all pages before they are committed to the side
 * file: what was committed can then always be moved over, also when the disk is full.
 */
static int reserve(struct film_disk *d, uint64_t size)
{
	struct stat st;

	if (!d->path)
		return 0;
	if (fstat(d->fd, &st))
		return -errno;
	if ((uint64_t)st.st_size >= size)
		return 0;
	if (!fallocate(d->fd, 0, st.st_size, (off_t)size - st.st_size))
		return 0;
	/* a file system that cannot reserve: then without */
	return errno == EOPNOTSUPP || errno == ENOSYS ? 0 : -errno;
}

static int on_commit(void *context, sqlite3 *db, const char *name, int pages)
{
	struct film_disk *d = context;

	(void)db;
	(void)name;
	d->commits_aside++;
	d->pages_aside = (unsigned int)pages;
	return SQLITE_OK;
}

/*
 * Moves what was committed from the side file into the film's own: syncs both, three times in all.
 */
static int move_from_aside(struct film_disk *d)
{
	int rc;

	if (d->commits_aside < d->commits_aside_max && d->pages_aside < PAGES_ASIDE)
		return SQLITE_OK;
	rc = sqlite3_wal_checkpoint_v2(d->db, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	/* a reader is in the way: then the next one does it */
	if (rc == SQLITE_BUSY || rc == SQLITE_LOCKED)
		return SQLITE_OK;
	d->commits_aside = d->pages_aside = 0;
	return rc;
}

/*
 * Another program removed the film, or put a file in its place: what is written now, no reader
 * would ever read.
 */
static bool was_removed(struct film_disk *d)
{
	int moved = 0;

	return d->path &&
	       sqlite3_file_control(d->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
	       moved;
}

static int fail_removed(const char *path, struct fail *why)
{
	return fail(why, -ESTALE, "leave it where it is until it is closed",
		    "the film %s was removed while it was being written", path);
}

static int commit_batch(struct film_disk *d, struct film_batch *batch, struct fail *why)
{
	const uint64_t samples = film_batch_samples(batch);
	uint64_t size;
	int err = 0, rc;

	if (was_removed(d)) {
		d->samples = 0;
		return fail_removed(d->path, why);
	}
	rc = film_sql_run(d->db, "BEGIN IMMEDIATE");
	if (rc == SQLITE_OK) {
		rc = write_batch(d, batch);
		if (rc == SQLITE_OK)
			rc = database_size(d, &size);
		if (rc == SQLITE_OK)
			err = reserve(d, size);
		if (rc == SQLITE_OK && !err)
			rc = film_sql_run(d->db, "COMMIT");
	}
	if (rc == SQLITE_OK && !err) {
		d->size = size;
		d->samples += samples;
		rc = move_from_aside(d);
	}
	if (rc == SQLITE_OK && !err)
		return 0;
	if (!err)
		err = film_sql_errno(d->db, rc);
	if (!sqlite3_get_autocommit(d->db))
		film_sql_run(d->db, "ROLLBACK");
	/* what fails then has other names: the side file was removed with it */
	if (was_removed(d)) {
		d->samples = 0;
		return fail_removed(d->path, why);
	}
	return fail_errno(why, err,
			  d->size ? "what was written until then can be read"
				  : "choose another place for it",
			  "cannot write the film %s", d->path ? d->path : "in memory");
}

static struct film_batch *next_batch(struct film_disk *d)
{
	struct film_batch *batch;

	pthread_mutex_lock(&d->lock);
	while (!d->first && !d->stop)
		pthread_cond_wait(&d->given, &d->lock);
	batch = d->first;
	pthread_mutex_unlock(&d->lock);
	return batch;
}

static void batch_done(struct film_disk *d, struct film_batch *batch, const struct fail *why)
{
	size_t size = film_batch_size(batch);
	struct film_spare spare = film_batch_steal_spare(batch), old;

	pthread_mutex_lock(&d->lock);
	old = d->spare;
	d->spare = spare;
	d->first = batch->next;
	if (!d->first)
		d->last = &d->first;
	d->queued -= size;
	d->batches_done++;
	if (why->err)
		d->why = *why;
	pthread_cond_broadcast(&d->taken);
	pthread_mutex_unlock(&d->lock);
	free(old.at);
	film_batch_free(batch);
}

static void *write_batches(void *context)
{
	struct film_disk *d = context;
	struct film_batch *batch;
	struct fail why = {0};

	while ((batch = next_batch(d))) {
		if (!why.err)
			commit_batch(d, batch, &why);
		batch_done(d, batch, &why);
	}
	return NULL;
}

int film_disk_queue(struct film_disk *d, struct film_batch *batch, bool wait, struct fail *why)
{
	size_t size = film_batch_size(batch);
	uint64_t number;
	int err;

	pthread_mutex_lock(&d->lock);
	while (d->first && d->queued + size > QUEUE_MAX && !d->why.err)
		pthread_cond_wait(&d->taken, &d->lock);
	batch->next = NULL;
	*d->last = batch;
	d->last = &batch->next;
	d->queued += size;
	number = ++d->batches_given;
	pthread_cond_signal(&d->given);
	while (wait && d->batches_done < number)
		pthread_cond_wait(&d->taken, &d->lock);
	err = d->why.err;
	if (err && why)
		*why = d->why;
	pthread_mutex_unlock(&d->lock);
	return err;
}

struct film_spare film_disk_spare(struct film_disk *d)
{
	struct film_spare spare;

	pthread_mutex_lock(&d->lock);
	spare = d->spare;
	d->spare = (struct film_spare){0};
	pthread_mutex_unlock(&d->lock);
	return spare;
}

void film_disk_keep_aside(struct film_disk *d)
{
	pthread_mutex_lock(&d->lock);
	d->commits_aside_max = COMMITS_ASIDE;
	pthread_mutex_unlock(&d->lock);
}

uint64_t film_disk_size(const struct film_disk *d)
{
	return d->size;
}

static void free_disk(struct film_disk *d)
{
	size_t i;

	for (i = 0; i < FILM_ROW_KINDS; i++)
		sqlite3_finalize(d->statements[i]);
	sqlite3_finalize(d->page_count);
	sqlite3_close(d->db);
	film_catalogue_free(&d->catalogue);
	film_blocks_free(&d->blocks);
	pthread_mutex_destroy(&d->lock);
	pthread_cond_destroy(&d->given);
	pthread_cond_destroy(&d->taken);
	free(d->spare.at);
	free(d->path);
	free(d);
}

/* Write-ahead logging lets readers in at any time; without it (no shared memory) they wait. */
static int open_database(struct film_disk *d)
{
	int64_t page_size = 0;
	int rc = sqlite3_open_v2(d->path, &d->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW,
				 NULL);

	if (rc == SQLITE_OK)
		rc = film_sql_distrust(d->db);
	if (rc == SQLITE_OK)
		rc = sqlite3_busy_timeout(d->db, FILM_PATIENCE_MS);
	if (rc == SQLITE_OK)
		rc = film_sql_run(d->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
	sqlite3_wal_hook(d->db, on_commit, d);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v3(d->db, "PRAGMA page_count", -1, SQLITE_PREPARE_PERSISTENT,
					&d->page_count, NULL);
	if (rc == SQLITE_OK)
		rc = film_sql_number(d->db, "PRAGMA page_size", &page_size);
	d->page_size = (uint64_t)page_size;
	return rc;
}

static int start_thread(struct film_disk *d)
{
	int err = thread_spawn(&d->thread, write_batches, d);

	if (!err)
		pthread_setname_np(d->thread, "film");
	return err;
}

static struct film_disk *new_disk(void)
{
	struct film_disk *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->given, NULL);
	pthread_cond_init(&d->taken, NULL);
	d->last = &d->first;
	d->fd = -1;
	return d;
}

static int open_in_memory(struct film_disk *d)
{
	int rc = sqlite3_open_v2(":memory:", &d->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
				 NULL);

	if (rc == SQLITE_OK)
		rc = film_create_tables(d->db);
	/* what fails for lack of memory is undone */
	if (rc == SQLITE_OK)
		rc = film_sql_run(d->db, "PRAGMA journal_mode = MEMORY");
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v3(d->db, "PRAGMA page_count", -1, SQLITE_PREPARE_PERSISTENT,
					&d->page_count, NULL);
	d->page_size = FILM_PAGE_SIZE;
	return rc;
}

int film_disk_start_in_memory(struct film_disk **disk, struct fail *why)
{
	struct film_disk *d = new_disk();
	int rc = d ? open_in_memory(d) : SQLITE_NOMEM;
	int err = rc == SQLITE_OK ? 0 : -ENOMEM;

	if (!err)
		err = start_thread(d);
	if (err) {
		if (d)
			free_disk(d);
		return fail_errno(why, err, NULL, "cannot keep a film in memory");
	}
	*disk = d;
	return 0;
}

int film_disk_start(const char *path, int fd, struct film_disk **disk, struct fail *why)
{
	struct film_disk *d = new_disk();
	uint64_t size = 0;
	struct stat st;
	int err, rc;

	if (!d)
		return fail_errno(why, -ENOMEM, NULL, "cannot write the film %s", path);
	d->path = strdup(path);
	rc = d->path ? open_database(d) : SQLITE_NOMEM;
	if (rc == SQLITE_OK)
		rc = database_size(d, &size);
	err = film_sql_errno(d->db, rc);
	if (!err) {
		d->fd = fd;
		d->size = size;
		err = start_thread(d);
	}
	if (err) {
		/* its name went while it was being opened: the library calls that what it likes */
		if (!fstat(fd, &st) && !st.st_nlink)
			err = fail_removed(path, why);
		else
			fail_errno(why, err, NULL, "cannot write the film %s", path);
		free_disk(d);
		return err;
	}
	*disk = d;
	return 0;
}

/* Gives back what was reserved and not used: closing needs some room itself. */
static void trim(struct film_disk *d)
{
	int left = -1, moved = 0;
	uint64_t size;
	struct stat st;

	if (sqlite3_wal_checkpoint_v2(d->db, "main", SQLITE_CHECKPOINT_TRUNCATE, &left, &moved) ||
	    left != moved || database_size(d, &size) || fstat(d->fd, &st))
		return;
	if ((uint64_t)st.st_size > size && ftruncate(d->fd, (off_t)size))
		return; /* it is only room */
}

/* Ends write-ahead logging, which takes a moment without readers. */
static int make_single_file(struct film_disk *d, struct fail *why)
{
	unsigned int waited;
	int rc;

	trim(d);
	for (waited = 0;; waited += 20) {
		rc = film_sql_run(d->db, "PRAGMA journal_mode = DELETE");
		if (rc != SQLITE_BUSY || waited >= FILM_PATIENCE_MS)
			break;
		usleep(20000);
	}
	if (rc == SQLITE_OK)
		return 0;
	return fail_errno(why, film_sql_errno(d->db, rc), "keep the files -wal and -shm beside it",
			  "the film %s could not be made a single file", d->path);
}

/* All that was given is written, and the thread has ended. */
static void end_thread(struct film_disk *d)
{
	pthread_mutex_lock(&d->lock);
	d->stop = true;
	pthread_cond_signal(&d->given);
	pthread_mutex_unlock(&d->lock);
	pthread_join(d->thread, NULL);
}

void film_bytes_free(struct film_bytes *bytes)
{
	sqlite3_free(bytes->at);
	*bytes = (struct film_bytes){0};
}

int film_disk_close_in_memory(struct film_disk *d, struct film_bytes *bytes, struct fail *why)
{
	sqlite3_int64 size = 0;
	int err;

	end_thread(d);
	*bytes = (struct film_bytes){0};
	if (!d->why.err) {
		bytes->at = sqlite3_serialize(d->db, "main", &size, 0);
		bytes->size = bytes->at ? (size_t)size : 0;
		if (!bytes->at)
			fail_errno(&d->why, -ENOMEM, NULL, "cannot keep a film in memory");
	}
	err = d->why.err;
	if (err && why)
		*why = d->why;
	free_disk(d);
	return err;
}

void film_disk_drop(struct film_disk *d, bool in_any_case, bool replaces)
{
	d->drops_empty = true;
	d->drops = in_any_case;
	d->puts_back = replaces;
}

/* Whether it is to go, and is there to go: a film that someone put in its place stays. */
static bool is_dropped(struct film_disk *d)
{
	int64_t any = 1;

	if (!d->drops_empty || was_removed(d))
		return false;
	return d->drops ||
	       (film_sql_number(d->db, "SELECT EXISTS (SELECT 1 FROM block)", &any) == SQLITE_OK &&
		!any);
}

int film_disk_close(struct film_disk *d, uint64_t *samples, struct fail *why)
{
	struct fail single = {0};
	int fd = d->fd, err;
	bool dropped;

	end_thread(d);
	dropped = is_dropped(d);
	/* the side files are found by its name */
	if (d->path)
		make_single_file(d, &single);
	if (!d->why.err)
		d->why = single;
	/* the lock of fd still keeps another recorder off */
	/* and the side files, where a full disk has kept them from being ended */
	if (dropped)
		(void)!database_remove(d->path);
	if (dropped && d->puts_back)
		film_put_back(d->path);
	err = d->why.err;
	if (err && why)
		*why = d->why;
	if (samples)
		*samples = d->samples;
	free_disk(d);
	/*
	 * not before SQLite is done: closing any descriptor of a file ends the locks of a process
	 */
	if (fd >= 0)
		close(fd);
	return err;
}
