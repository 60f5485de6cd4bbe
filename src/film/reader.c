// SPDX-License-Identifier: Apache-2.0
#include "film/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/search.h"
#include "film/load.h"
#include "film/schema.h"

#define COPY_BESIDE "copy it and the file -wal (or -journal) into a directory you can write"

#define HEADER_SIZE 100 /* of an SQLite file */

/* How a film lies on the disk. */
struct disk_state {
	uint64_t size;
	uint64_t needed;  /* size that its header speaks of; 0: it does not say */
	bool write_ahead; /* it was not closed: what is in its -wal belongs to it */
	bool wal_there;
};

static bool has_wal(const char *path)
{
	struct stat st;
	char *wal;
	bool there;

	if (asprintf(&wal, "%s-wal", path) < 0)
		return false;
	there = !stat(wal, &st) && st.st_size;
	free(wal);
	return there;
}

static uint32_t big_endian(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/*
 * Looks at the header through SQLite's own open file: opening and closing the file beside it would
 * drop the locks this process has on it.
 */
static int look(sqlite3 *db, const char *path, struct disk_state *state, struct fail *why)
{
	uint8_t header[HEADER_SIZE];
	sqlite3_file *file = NULL;
	sqlite3_int64 size;
	uint32_t page_size;

	sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
	if (!file || !file->pMethods || file->pMethods->xFileSize(file, &size))
		return fail_errno(why, -EIO, NULL, "cannot read %s", path);
	if (!size)
		return fail(why, -EBADMSG, "record again",
			    "%s is empty: its recording ended before the first commit", path);
	if (size < HEADER_SIZE || file->pMethods->xRead(file, header, HEADER_SIZE, 0) ||
	    memcmp(header, "SQLite format 3", 16))
		return fail(why, -EBADMSG, NULL, "%s is not a film", path);
	page_size = (uint32_t)header[16] << 8 | header[17];
	if (page_size == 1)
		page_size = 65536;
	*state = (struct disk_state){
		.size = (uint64_t)size,
		.write_ahead = header[18] == 2,
		.wal_there = has_wal(path),
	};
	/* the number of pages is valid only if its change counter is that of the file */
	if (!memcmp(header + 24, header + 92, 4))
		state->needed = (uint64_t)big_endian(header + 28) * page_size;
	return 0;
}

/*
 * The path as a URI that says: no other process writes this file, and SQLite must put no file
 * beside it.
 */
static char *immutable_uri(const char *path)
{
	struct buf uri = {0};

	buf_put_text(&uri, "file://");
	for (; *path; path++) {
		if (strchr("?#%", *path) || (unsigned char)*path <= ' ')
			buf_printf(&uri, "%%%02x", (unsigned char)*path);
		else
			buf_put_u8(&uri, (uint8_t)*path);
	}
	buf_put_text(&uri, "?immutable=1");
	buf_put_u8(&uri, 0);
	if (uri.failed)
		buf_free(&uri);
	return (char *)uri.at;
}

static int connect_to(const char *name, int flags, sqlite3 **db)
{
	int rc = sqlite3_open_v2(name, db, flags | SQLITE_OPEN_PRIVATECACHE, NULL);

	if (rc == SQLITE_OK)
		rc = film_sql_distrust(*db);
	if (rc == SQLITE_OK)
		rc = sqlite3_busy_timeout(*db, FILM_PATIENCE_MS);
	return rc;
}

/* The recorder was killed in the moment of closing: only one who may write can undo half a step. */
static int roll_back(const char *path)
{
	sqlite3 *db = NULL;
	int64_t version;
	int rc = connect_to(path, SQLITE_OPEN_READWRITE, &db);

	if (rc == SQLITE_OK)
		rc = film_sql_number(db, "PRAGMA user_version", &version);
	sqlite3_close(db);
	return rc;
}

static int open_immutable(const char *path, sqlite3 **db)
{
	char *uri = immutable_uri(path);
	int rc = SQLITE_NOMEM;

	sqlite3_close(*db);
	*db = NULL;
	if (uri)
		rc = connect_to(uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, db);
	free(uri);
	return rc;
}

/* Reads something, so that what is in the way of reading shows. */
static int first_read(sqlite3 *db, const char *path)
{
	int64_t version;
	int rc = film_sql_number(db, "PRAGMA user_version", &version);

	if ((rc & 0xff) == SQLITE_READONLY &&
	    sqlite3_extended_errcode(db) == SQLITE_READONLY_ROLLBACK &&
	    roll_back(path) == SQLITE_OK)
		rc = film_sql_number(db, "PRAGMA user_version", &version);
	return rc;
}

static int cannot_open(struct fail *why, int err, const char *path)
{
	switch (-err) {
	case ENOENT:
		return fail(why, err, "\"stackcam record\" makes one",
			    "cannot open the film %s: there is no such file", path);
	case EISDIR:
		return fail(why, err,
			    "name a film in it; those of a store are its films/HOST/DATE/HOUR.film",
			    "cannot open the film %s: it is a directory", path);
	default:
		return fail_errno(why, err, NULL, "cannot open the film %s", path);
	}
}

/* Notices that another film is at the path now. */
static int check_identity(struct film_private *p, struct fail *why)
{
	struct stat st;

	if (stat(p->path, &st))
		return cannot_open(why, -errno, p->path);
	if (p->inode && (p->inode != st.st_ino || p->device != st.st_dev))
		return fail(why, -ESTALE, "open it again", "the film %s was replaced by another",
			    p->path);
	p->inode = st.st_ino;
	p->device = st.st_dev;
	return 0;
}

/* Makes p->db ready to be read, in any state that its recorder left it in. */
static int make_readable(struct film_private *p, struct fail *why)
{
	struct disk_state state = {0};
	int err = look(p->db, p->path, &state, why);
	int rc;

	p->is_shared = false;
	if (err)
		return err;
	if (!state.wal_there && state.needed > state.size)
		return fail(why, -EBADMSG, "copy it again from where it was recorded",
			    "%s is damaged: it is cut off after %llu of %llu bytes", p->path,
			    (unsigned long long)state.size, (unsigned long long)state.needed);
	/* all that is left is in the file itself: SQLite would make side files only to see that */
	if (state.write_ahead && !state.wal_there) {
		rc = open_immutable(p->path, &p->db);
		return rc == SQLITE_OK ? 0 : cannot_open(why, film_sql_errno(p->db, rc), p->path);
	}
	p->is_shared = state.write_ahead;
	rc = first_read(p->db, p->path);
	switch (rc & 0xff) {
	case SQLITE_OK:
		return 0;
	case SQLITE_CANTOPEN:
	case SQLITE_READONLY:
		return fail(why, -EROFS, COPY_BESIDE,
			    "cannot open the film %s: its recording was cut short, and to read the "
			    "rest SQLite must write beside it",
			    p->path);
	default:
		return film_read_failed(p->db, rc, p->path, why);
	}
}

static int open_database(struct film_private *p, struct fail *why)
{
	int err = check_identity(p, why), rc;

	if (err)
		return err;
	rc = connect_to(p->path, SQLITE_OPEN_READONLY, &p->db);
	if (rc == SQLITE_OK)
		err = make_readable(p, why);
	else
		err = cannot_open(why, film_sql_errno(p->db, rc), p->path);
	if (err) {
		sqlite3_close(p->db);
		p->db = NULL;
	}
	return err;
}

int film_enter(struct film_private *p, struct fail *why)
{
	return p->db ? 0 : open_database(p, why);
}

/*
 * A film that is being recorded can become a single file only in a moment in which no process has
 * it open: then it is opened again each time. Whether its side file is there, or is empty, does
 * not matter: it may be closed at this very moment.
 */
void film_leave(struct film_private *p)
{
	if (!p->path || !p->db || (!p->is_shared && !p->is_followed))
		return;
	sqlite3_close(p->db);
	p->db = NULL;
}

static int check_file(const char *path, char **absolute, struct fail *why)
{
	struct stat st;

	*absolute = realpath(path, NULL);
	if (!*absolute || stat(*absolute, &st))
		return cannot_open(why, -errno, path);
	if (S_ISDIR(st.st_mode))
		return cannot_open(why, -EISDIR, path);
	if (!S_ISREG(st.st_mode))
		return fail(why, -EBADMSG, NULL, "%s is not a film: it is not a regular file",
			    path);
	if (access(*absolute, R_OK))
		return cannot_open(why, -errno, path);
	return 0;
}

static int open_film(const char *path, enum film_part part, bool is_followed, struct film **film,
		     struct fail *why)
{
	struct film *f = calloc(1, sizeof(*f));
	int err;

	if (f)
		f->private = calloc(1, sizeof(*f->private));
	if (!f || !f->private)
		err = cannot_open(why, -ENOMEM, path);
	else
		err = check_file(path, &f->private->path, why);
	if (!err)
		f->private->is_followed = is_followed;
	if (!err)
		err = open_database(f->private, why);
	if (!err)
		err = film_load(f->private->db, path, part, f, why);
	if (err) {
		film_free(f);
		return err;
	}
	film_leave(f->private);
	*film = f;
	return 0;
}

int film_open(const char *path, struct film **film, struct fail *why)
{
	return open_film(path, FILM_PART_ALL, false, film, why);
}

int film_open_info(const char *path, struct film **film, struct fail *why)
{
	return open_film(path, FILM_PART_INFO, false, film, why);
}

int film_open_losses(const char *path, struct film **film, struct fail *why)
{
	return open_film(path, FILM_PART_LOSSES, false, film, why);
}

int film_follow(const char *path, struct film **film, struct fail *why)
{
	return open_film(path, FILM_PART_ALL, true, film, why);
}

int film_catch_up(struct film *film, struct fail *why)
{
	struct film_private *p = film->private;
	int err = film_enter(p, why);

	if (err)
		return err;
	err = film_load(p->db, p->path, FILM_PART_ALL, film, why);
	film_leave(p);
	return err;
}

void film_free(struct film *film)
{
	struct film_private *p;

	if (!film)
		return;
	free(film->events);
	free(film->processes);
	free(film->threads);
	free(film->images);
	free(film->functions);
	free(film->frames);
	free(film->stacks);
	free(film->inlines);
	free(film->losses);
	p = film->private;
	if (p) {
		sqlite3_close(p->db);
		arena_free(&p->texts);
		arena_free(&p->replaced);
		vec_free(&p->reading.named_by);
		vec_free(&p->reading.given);
		for (unsigned int i = 0; i < AHEAD_PLACES; i++)
			film_unpacker_free(&p->unpackers[i]);
		free(p->files);
		free(p->blocks);
		free(p->path);
		free(p);
	}
	free(film);
}

uint32_t film_find_event(const struct film *film, const char *name)
{
	uint32_t id;

	for (id = 1; id < film->event_count; id++) {
		if (!strcmp(film->events[id].name, name))
			return id;
	}
	return 0;
}

const struct film_inline *film_inlines_of(const struct film *film, uint32_t frame, size_t *count)
{
	size_t low = search_first(film->inline_count, i, film->inlines[i].frame < frame);

	for (*count = 0; low + *count < film->inline_count; ++*count) {
		if (film->inlines[low + *count].frame != frame)
			break;
	}
	return *count ? film->inlines + low : NULL;
}
