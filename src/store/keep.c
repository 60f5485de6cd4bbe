// SPDX-License-Identifier: Apache-2.0
/*
 * Films that were in memory become one film of the store. They lie in DIR/keeping while they are
 * merged, for what reads a film reads a file, and so does the film that they become: it refers to
 * threads that are written last, so until it is complete it would be taken for a damaged one.
 */
#include "base/database.h"
#include "store/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/text.h"
#include "film/labels.h"
#include "film/merge.h"
#include "store/marks.h"
#include "store/room.h"

#define FOLDER "keeping"

enum {
	FILMS_MAX = 4096, /* of which files may have been left */
};

static int part_path(const char *folder, size_t number, char *to, size_t size)
{
	return (size_t)snprintf(to, size, "%s/" FOLDER "/%zu.film", folder, number) < size
		       ? 0
		       : -ENAMETOOLONG;
}

static void remove_parts(const char *folder, size_t count)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < count && !part_path(folder, i, path, sizeof(path)); i++) {
		database_remove_side_files(path);
		unlink(path);
	}
	if ((size_t)snprintf(path, sizeof(path), "%s/" FOLDER, folder) < sizeof(path))
		rmdir(path);
}

void store_keep_clean(const struct store *store)
{
	char path[PATH_MAX];

	if (!store_path_of(store, FOLDER, path, sizeof(path)) && !access(path, F_OK))
		remove_parts(store->path, FILMS_MAX);
}

static int write_part(const char *path, const struct film_bytes *film)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int err = fd < 0 ? -errno : file_write_all(fd, film->at, film->size);

	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	return err;
}

/* A character of a reason as it may stand in a label; n: its bytes, 0 if they are not text. */
static const char *label_character(const char *c, size_t n, uint32_t point)
{
	if (!n)
		return "?";
	if (point < 0x20 || (point >= 0x7f && point < 0xa0))
		return " ";
	return point == ',' ? ";" : c;
}

/* A label has room for a dozen events: the sums count further ones twice. */
static int put_beside_label(const struct event_list *recorded, char labels[FILM_LABELS_SIZE],
			    struct fail *why)
{
	char label[sizeof(STORE_KEPT_BESIDE_LABEL) + FILM_LABEL_VALUE_MAX + 1] =
		STORE_KEPT_BESIDE_LABEL;
	size_t at = strlen(label);

	for (size_t i = 0; i < recorded->count; i++) {
		const char *name = recorded->at[i]->name;

		if (at + 1 + strlen(name) < sizeof(label))
			at += (size_t)snprintf(label + at, sizeof(label) - at, "%c%s",
					       i ? '+' : '=', name);
	}
	return film_labels_add(labels, FILM_LABELS_SIZE, label, why);
}

/* The labels of the films, and the reason as one: of its text what fits in a label. */
static int put_label(const struct store_keep *keep, char labels[FILM_LABELS_SIZE], struct fail *why)
{
	char label[sizeof(STORE_KEPT_LABEL) + FILM_LABEL_VALUE_MAX + 1] = STORE_KEPT_LABEL "=";
	size_t at = strlen(label), left = strlen(keep->reason), n, length;
	int err;

	snprintf(labels, FILM_LABELS_SIZE, "%s", keep->labels ? keep->labels : "");
	for (const char *c = keep->reason; left; c += n ? n : 1, left -= n ? n : 1) {
		const char *as;
		uint32_t point = 0;

		n = text_utf8(c, left, &point);
		as = label_character(c, n, point);
		length = as == c ? n : 1;
		if (at + length >= sizeof(label))
			break;
		memcpy(label + at, as, length);
		at += length;
	}
	label[at] = 0;
	err = film_labels_add(labels, FILM_LABELS_SIZE, label, why);
	if (!err && keep->recorded && keep->recorded->count)
		err = put_beside_label(keep->recorded, labels, why);
	if (err || !keep->is_sent)
		return err;
	snprintf(label, sizeof(label), STORE_KEPT_TIME_LABEL "=%.3f", (double)keep->time / 1e9);
	return film_labels_add(labels, FILM_LABELS_SIZE, label, why);
}

/* Each is in memory until it is in its file, and no longer. */
static int merge_parts(const char *folder, const struct store_keep *keep, struct film_merge *merge,
		       struct fail *why)
{
	char path[PATH_MAX];
	int err = 0;

	for (size_t i = 0; !err && i < keep->count; i++) {
		err = part_path(folder, i, path, sizeof(path));
		if (!err)
			err = write_part(path, &keep->films[i]);
		film_bytes_free(&keep->films[i]);
		if (err)
			return fail_errno(why, err, NULL, "cannot keep a film in %s", folder);
		err = film_merge_add_file(merge, path, why);
		unlink(path);
	}
	return err;
}

/* path: becomes that of the film, one behind those of the parts. */
static int make_film(const char *folder, const struct store_keep *keep, char *path, size_t size,
		     struct fail *why)
{
	char labels[FILM_LABELS_SIZE];
	struct film_merge *merge = NULL;
	int err;

	if (!keep->count)
		return fail(why, -ENODATA, "try again in some seconds",
			    "there is nothing to keep: all was kept before");
	err = put_label(keep, labels, why);
	if (err)
		return err;
	err = folder_make(folder, FOLDER "/");
	if (!err)
		err = part_path(folder, keep->count, path, size);
	if (err)
		return fail_errno(why, err, NULL, "cannot keep a film in %s", folder);
	err = film_merge_begin(path, &merge, why);
	if (err)
		return err;
	film_merge_label(merge, labels);
	film_merge_one_clock(merge);
	err = merge_parts(folder, keep, merge, why);
	if (err) {
		film_merge_end(merge, false, NULL);
		return err;
	}
	return film_merge_end(merge, true, why);
}

int store_keep_mark(struct store *store, const char *host, uint64_t time, const char *reason,
		    struct fail *why)
{
	char text[STORE_MARK_TEXT_MAX + 1];
	struct store_mark mark = {
		.time = time, .host = host, .service = "", .version = "", .text = text};

	snprintf(text, sizeof(text), STORE_KEPT_MARK "%s", reason);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
	return store_mark(store, &mark, why);
}

/* Both are in one file system. */
static int put_in_place(const char *made, const char *path, struct fail *why)
{
	/* they would be taken for those of the new film */
	int err = database_remove_side_files(path);

	if (!err && rename(made, path))
		err = -errno;
	if (!err)
		err = folder_sync_names(path);
	return err ? fail_errno(why, err, NULL, "cannot keep a film as %s", path) : 0;
}

static void clean_up(const char *folder, const struct store_keep *keep)
{
	for (size_t i = 0; i < keep->count; i++)
		film_bytes_free(&keep->films[i]);
	if (keep->count)
		remove_parts(folder, keep->count + 1);
}

int store_keep_at(const char *folder, const struct store_keep *keep, const char *path,
		  struct fail *why)
{
	char made[PATH_MAX];
	int err = make_film(folder, keep, made, sizeof(made), why);

	if (!err)
		err = put_in_place(made, path, why);
	clean_up(folder, keep);
	return err;
}

/* The names of a film's events, one after the other (store_film.events); null: not known. */
static char *events_of(const char *path)
{
	struct buf names = {0};
	struct film *film;

	if (film_open_losses(path, &film, NULL))
		return NULL;
	for (uint32_t i = 1; i < film->event_count; i++)
		buf_put(&names, film->events[i].name, strlen(film->events[i].name) + 1);
	buf_put_u8(&names, 0);
	film_free(film);
	if (names.failed)
		buf_free(&names);
	return (char *)names.at;
}

int store_keep(struct store *store, const struct store_keep *keep, char *path, size_t size,
	       struct fail *why)
{
	char made[PATH_MAX];
	int err = make_film(store->path, keep, made, sizeof(made), why);

	/* not before: what has a name and no file for long is taken for gone */
	if (!err)
		err = store_known_path(store, keep->host, keep->start, events_of(made), path, size,
				       why);
	if (!err) {
		err = put_in_place(made, path, why);
		store_film_done(store, path);
	}
	clean_up(store->path, keep);
	return err ? err : store_keep_mark(store, keep->host, keep->time, keep->reason, why);
}
