// SPDX-License-Identifier: Apache-2.0
#include "film/create.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/database.h"
#include "film/film.h"
#include "film/schema.h"

#define OTHER_NAME "choose another name"

/* Command lines of a whole machine can hold secrets. */
#define FILM_MODE 0600

static int cannot_create(struct fail *why, int err, const char *path)
{
	switch (-err) {
	case ENOENT:
		return fail(why, err, "create the directory first",
			    "cannot create the film %s: its directory does not exist", path);
	case ENOTDIR:
		return fail(why, err, OTHER_NAME,
			    "cannot create the film %s: a part of the path is not a directory",
			    path);
	case EISDIR:
		return fail(why, err, "name a file in it",
			    "cannot create the film %s: it is a directory", path);
	case EACCES:
	case EPERM:
	case EROFS:
		return fail_errno(why, err, "choose another directory", "cannot create the film %s",
				  path);
	default:
		return fail_errno(why, err, NULL, "cannot create the film %s", path);
	}
}

/* The lock is held until fd is closed, also by kill -9. */
static int lock(int fd, const char *path, struct fail *why)
{
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return 0;
	if (errno == EWOULDBLOCK)
		return fail(why, -EBUSY, "end that recording first, or choose another name",
			    "cannot write the film %s: another stackcam is writing it", path);
	/* a file system without locks: then without */
	return 0;
}

/* An SQLite file's header holds the application's id at offset 68, big endian. */
static bool is_film(int fd)
{
	static const uint8_t id[4] = {FILM_APPLICATION_ID >> 24, FILM_APPLICATION_ID >> 16 & 0xff,
				      FILM_APPLICATION_ID >> 8 & 0xff, FILM_APPLICATION_ID & 0xff};
	uint8_t header[100];

	return pread(fd, header, sizeof(header), 0) == sizeof(header) &&
	       !memcmp(header, "SQLite format 3", 16) && !memcmp(header + 68, id, sizeof(id));
}

int film_put_back(const char *path)
{
	char *old;
	int err;

	if (asprintf(&old, "%s" FILM_REPLACED, path) < 0)
		return -ENOMEM;
	err = database_move(old, path);
	free(old);
	return err;
}

/* What is at that path must be a film that no other recorder writes, or empty, or nothing. */
static int may_go(const char *path, struct fail *why)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), err = 0;
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? 0 : cannot_create(why, -errno, path);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || (st.st_size && !is_film(fd)))
		err = fail(why, -EEXIST, OTHER_NAME ", or remove the file",
			   "cannot give the film from before the name %s: a file that is not a "
			   "film is there",
			   path);
	else
		err = lock(fd, path, why);
	close(fd);
	return err;
}

static int put_aside(const char *path, struct fail *why)
{
	char *old;
	int err, moved;

	if (asprintf(&old, "%s" FILM_REPLACED, path) < 0)
		return cannot_create(why, -ENOMEM, path);
	err = may_go(old, why);
	moved = err ? 0 : database_move(path, old);
	free(old);
	return moved ? cannot_create(why, moved, path) : err;
}

/* Whether the file that is open is still the one of that name. */
static bool is_at(const struct stat *open, const char *path)
{
	struct stat st;

	return !lstat(path, &st) && st.st_dev == open->st_dev && st.st_ino == open->st_ino;
}

/*
 * Puts the film that is at path aside, or removes the file if it is empty: it may belong to another
 * user, who could read and change the film that is written into it. *fd: what was there, whose lock
 * keeps other recorders away until the new film has its own.
 */
static int make_way(const char *path, bool *replaces, int *fd, struct fail *why)
{
	struct stat st;
	int err;

	/* opening a pipe or a device could already do something */
	if (stat(path, &st))
		return cannot_create(why, -errno, path);
	if (S_ISDIR(st.st_mode))
		return cannot_create(why, -EISDIR, path);
	if (!S_ISREG(st.st_mode))
		return fail(why, -EEXIST, OTHER_NAME,
			    "cannot create the film %s: it is not a regular file", path);
	*fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (*fd < 0 || fstat(*fd, &st))
		return cannot_create(why, -errno, path);
	if (st.st_size && !is_film(*fd))
		return fail(why, -EEXIST, "choose another name, or remove the file",
			    "cannot create the film %s: a file that is not a film is there", path);
	err = lock(*fd, path, why);
	if (!err && !is_at(&st, path))
		err = fail(why, -EBUSY, "end that recording first, or choose another name",
			   "cannot write the film %s: another stackcam has just begun to", path);
	if (err)
		return err;
	if (!st.st_size)
		return unlink(path) ? cannot_create(why, -errno, path) : 0;
	err = put_aside(path, why);
	*replaces = !err;
	return err;
}

/*
 * A link leads where its owner wants: only one of this user, or of root, is followed. Links to what
 * does not exist are never followed.
 */
static int check_link(const char *path, struct fail *why)
{
	struct stat st;

	if (lstat(path, &st) || !S_ISLNK(st.st_mode) || !st.st_uid || st.st_uid == geteuid())
		return 0;
	return fail(why, -EPERM, OTHER_NAME,
		    "cannot create the film %s: a symbolic link of another user is there", path);
}

int film_create_tables(sqlite3 *db)
{
	unsigned int i;
	char *setup;
	int rc;

	setup = sqlite3_mprintf("PRAGMA page_size = %d; PRAGMA auto_vacuum = NONE;"
				"PRAGMA journal_mode = OFF; BEGIN;"
				"PRAGMA application_id = %d; PRAGMA user_version = %d",
				FILM_PAGE_SIZE, FILM_APPLICATION_ID, FILM_SCHEMA_VERSION);
	if (!setup)
		return SQLITE_NOMEM;
	rc = film_sql_run(db, setup);
	for (i = 0; rc == SQLITE_OK && i < film_table_count; i++)
		if (!film_tables[i].until)
			rc = film_sql_run(db, film_tables[i].sql);
	if (rc == SQLITE_OK)
		rc = film_sql_run(db, "COMMIT");
	sqlite3_free(setup);
	return rc;
}

static int create_tables(const char *path)
{
	sqlite3 *db = NULL;
	int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, NULL);
	int err;

	/* others may look at the file as soon as it is there */
	if (rc == SQLITE_OK)
		rc = sqlite3_busy_timeout(db, FILM_PATIENCE_MS);
	if (rc == SQLITE_OK)
		rc = film_create_tables(db);
	err = film_sql_errno(db, rc);
	sqlite3_close(db);
	return err;
}

static int create_new(const char *path, int *fd, struct fail *why)
{
	*fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, FILM_MODE);
	if (*fd < 0)
		return cannot_create(why, -errno, path);
	return lock(*fd, path, why);
}

int film_create_file(const char *path, char **absolute, int *fd, bool *replaces, struct fail *why)
{
	char *there = realpath(path, NULL);
	int err = check_link(path, why), before = -1;
	bool is_new;

	*replaces = false;
	*fd = -1;
	*absolute = NULL;
	if (!err && there)
		err = make_way(there, replaces, &before, why);
	if (!err)
		err = create_new(there ? there : path, fd, why);
	is_new = !err;
	if (!err) {
		*absolute = there ? strdup(there) : realpath(path, NULL);
		err = *absolute ? database_remove_side_files(*absolute) : -errno;
		if (!err)
			err = create_tables(*absolute);
		if (err)
			cannot_create(why, err, path);
	}
	if (err) {
		if (is_new && *absolute)
			(void)!database_remove(*absolute);
		if (*replaces)
			film_put_back(there);
		if (*fd >= 0)
			close(*fd);
		free(*absolute);
		*absolute = NULL;
	}
	if (before >= 0)
		close(before);
	free(there);
	return err;
}

int film_lock_file(const char *path, char **absolute, int *fd, struct fail *why)
{
	int err = 0;

	*fd = -1;
	*absolute = realpath(path, NULL);
	if (*absolute)
		*fd = open(*absolute, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (*fd < 0)
		err = fail_errno(why, -errno, NULL, "cannot write the film %s", path);
	if (!err)
		err = lock(*fd, path, why);
	if (err) {
		if (*fd >= 0)
			close(*fd);
		free(*absolute);
		*absolute = NULL;
	}
	return err;
}
