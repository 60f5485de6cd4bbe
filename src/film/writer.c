// SPDX-License-Identifier: Apache-2.0
#include "film/roles.h"
#include "film/writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/database.h"
#include "film/create.h"
#include "film/labels.h"
#include "film/load.h"
#include "film/schema.h"
#include "film/writing.h"

/*
 * A block that is sorted ends after this time, so that block rows alone make a timeline of seconds.
 */
#define BLOCK_SPAN 1000000000ull

/*
 * What is remembered of the catalogue: some 25 MB at most, which a film reaches only if it goes on
 * finding what it never had. What a machine runs in an hour of work is less.
 */
#define FUNCTIONS_KNOWN (1u << 15)
#define FRAMES_KNOWN	(1u << 16)
#define STACKS_KNOWN	(1u << 17)
#define FILES_KNOWN	(1u << 13)

/* -ENOMEM: nothing of the batch may be written. */
static int complete_batch(struct film_writer *w, uint64_t now)
{
	w->batch->block_span = w->block_span;
	w->batch->block_rows = w->block_rows;
	w->batch->is_final = w->is_final;
	/* what an existing film does not take is not a loss of the recording */
	if (w->naming)
		memset(w->losses.own, 0, sizeof(w->losses.own));
	losses_put(&w->losses, &w->texts, &w->batch->rows);
	if (!w->naming) {
		film_put_row(&w->batch->rows, FILM_ROW_META_NUMBER, "end", now);
		if (w->names_settled)
			film_put_row(&w->batch->rows, FILM_ROW_META_NUMBER, "settled", now);
		w->names_settled = false;
	}
	return w->batch->rows.failed ? -ENOMEM : 0;
}

void film_names_follow(struct film_writer *w)
{
	w->names_follow = true;
	film_put_row(&w->batch->rows, FILM_ROW_META_NUMBER, "settled", 0);
}

void film_names_settled(struct film_writer *w)
{
	w->names_settled = w->names_follow;
}

void film_begins(struct film_writer *w, uint64_t start)
{
	film_put_row(&w->batch->rows, FILM_ROW_META_NUMBER, "start", start);
}

void film_begins_anew(struct film_writer *w, uint64_t start)
{
	w->since = start;
	film_begins(w, start);
}

void film_keep_aside(struct film_writer *w)
{
	if (w->disk)
		film_disk_keep_aside(w->disk);
}

int film_commit(struct film_writer *w, uint64_t now, bool wait, struct fail *why)
{
	struct film_batch *next = calloc(1, sizeof(*next)), *batch = w->batch;

	if (!next || complete_batch(w, now)) {
		film_batch_free(next);
		return fail_errno(why, -ENOMEM, NULL, "cannot write the film");
	}
	next->first = w->next;
	w->batch = next;
	if (!w->disk) {
		film_batch_free(batch);
		return 0;
	}
	next->spare = film_disk_spare(w->disk);
	return film_disk_queue(w->disk, batch, wait, why);
}

bool film_continue(struct film_writer *w, const struct film_writer *before)
{
	return losses_continue(&w->losses, &w->texts, &before->losses, before->disk != NULL);
}

static void free_writer(struct film_writer *w)
{
	film_batch_free(w->batch);
	known_clear(&w->known_functions);
	known_clear(&w->known_frames);
	known_clear(&w->known_stacks);
	known_clear(&w->known_files);
	vec_free(&w->kinds);
	vec_free(&w->packed_processes);
	vec_free(&w->packed_threads);
	losses_free(&w->losses);
	arena_free(&w->texts);
	free(w->cuts);
	free(w);
}

/* The next batch gets what was kept for it. */
static void hand_packed(struct film_writer *w)
{
	w->batch->processes.at = w->packed_processes.at;
	w->batch->processes.count = w->packed_processes.count;
	w->batch->processes.room = w->packed_processes.room;
	w->batch->threads.at = w->packed_threads.at;
	w->batch->threads.count = w->packed_threads.count;
	w->batch->threads.room = w->packed_threads.room;
	memset(&w->packed_processes, 0, sizeof(w->packed_processes));
	memset(&w->packed_threads, 0, sizeof(w->packed_threads));
}

static int last_commit(struct film_writer *w, uint64_t now, struct fail *why)
{
	film_names_settled(w);
	hand_packed(w);
	if (!w->naming)
		film_put_row(&w->batch->rows, FILM_ROW_META_NUMBER, "open", (uint64_t)0);
	return film_commit(w, now, true, why);
}

int film_close_in_memory(struct film_writer *w, uint64_t now, struct film_bytes *bytes,
			 struct fail *why)
{
	int err = last_commit(w, now, why);
	int closed = film_disk_close_in_memory(w->disk, bytes, err ? NULL : why);

	free_writer(w);
	return err ? err : closed;
}

int film_close_counted(struct film_writer *w, uint64_t now, uint64_t *samples, struct fail *why)
{
	int err, closed;

	if (samples)
		*samples = 0;
	err = last_commit(w, now, why);
	closed = w->disk ? film_disk_close(w->disk, samples, err ? NULL : why) : 0;
	free_writer(w);
	return err ? err : closed;
}

void film_close_failed(struct film_writer *w, uint64_t now, bool in_any_case)
{
	if (w->disk)
		film_disk_drop(w->disk, in_any_case, w->replaces);
	film_close_counted(w, now, NULL, NULL);
}

int film_close(struct film_writer *w, uint64_t now, struct fail *why)
{
	return film_close_counted(w, now, NULL, why);
}

uint64_t film_size(const struct film_writer *w)
{
	return w->disk ? film_disk_size(w->disk) : 0;
}

struct film_counts film_row_counts(const struct film_writer *w)
{
	return (struct film_counts){w->processes, w->threads, w->next.function, w->next.frame,
				    w->next.stack};
}

static struct film_writer *new_writer(void)
{
	struct film_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->block_span = BLOCK_SPAN;
	w->batch = calloc(1, sizeof(*w->batch));
	if (!w->batch || !vec_push(&w->kinds, 0)) {
		free_writer(w);
		return NULL;
	}
	w->known_functions.limit = FUNCTIONS_KNOWN;
	w->known_frames.limit = FRAMES_KNOWN;
	w->known_stacks.limit = STACKS_KNOWN;
	w->known_files.limit = FILES_KNOWN;
	w->next = w->batch->first = (struct film_first){1, 1, 1};
	return w;
}

void film_forget_nothing(struct film_writer *w)
{
	w->known_functions.limit = w->known_frames.limit = 0;
	w->known_stacks.limit = w->known_files.limit = 0;
}

static void put_labels(struct film_writer *w, const char *labels)
{
	char name[sizeof(FILM_LABEL_ROW) + FILM_LABEL_KEY_MAX] = FILM_LABEL_ROW;
	char text[FILM_LABEL_VALUE_MAX + 1];
	const char *value;
	size_t length;

	while ((value = film_labels_next(&labels, name + strlen(FILM_LABEL_ROW), &length))) {
		snprintf(text, sizeof(text), "%.*s", (int)length, value);
		film_put_row(&w->batch->rows, FILM_ROW_META_TEXT, name, text);
	}
}

static void put_info(struct film_writer *w, const struct film_info *info)
{
	struct buf *rows = &w->batch->rows;

	film_put_row(rows, FILM_ROW_META_TEXT, "version", film_fit(w, info->version));
	film_put_row(rows, FILM_ROW_META_TEXT, "hostname", film_fit(w, info->hostname));
	film_put_row(rows, FILM_ROW_META_TEXT, "kernel", film_fit(w, info->kernel));
	film_put_row(rows, FILM_ROW_META_TEXT, "arch", film_fit(w, info->arch));
	film_put_row(rows, FILM_ROW_META_TEXT, "command", film_fit(w, info->command));
	film_put_row(rows, FILM_ROW_META_NUMBER, "cpus", (uint64_t)info->cpus);
	film_put_row(rows, FILM_ROW_META_NUMBER, "start", info->start);
	film_put_row(rows, FILM_ROW_META_NUMBER, "wall_offset", (uint64_t)info->wall_offset);
	film_put_row(rows, FILM_ROW_META_NUMBER, "open", (uint64_t)1);
	if (info->labels)
		put_labels(w, info->labels);
	if (info->roles && *info->roles)
		film_put_row(rows, FILM_ROW_META_TEXT, FILM_ROLES_ROW, film_fit(w, info->roles));
}

int film_create_in_memory(const struct film_info *info, struct film_writer **writer,
			  struct fail *why)
{
	struct film_writer *w = new_writer();
	int err;

	if (!w)
		return fail_errno(why, -ENOMEM, NULL, "cannot keep a film in memory");
	err = film_disk_start_in_memory(&w->disk, why);
	if (err) {
		free_writer(w);
		return err;
	}
	put_info(w, info);
	*writer = w;
	return 0;
}

int film_create(const char *path, const struct film_info *info, struct film_writer **writer,
		struct fail *why)
{
	struct film_writer *w = new_writer();
	bool replaces;
	char *absolute;
	int err, fd;

	if (!w)
		return fail_errno(why, -ENOMEM, NULL, "cannot create the film %s",
				  path ? path : "");
	if (!path) {
		*writer = w;
		return 0;
	}
	err = film_create_file(path, &absolute, &fd, &replaces, why);
	if (err) {
		free_writer(w);
		return err;
	}
	w->replaces = replaces;
	err = film_disk_start(absolute, fd, &w->disk, why);
	if (err) {
		close(fd);
		free_writer(w);
	} else {
		put_info(w, info);
		/* so that the film can be opened from now on */
		err = film_commit(w, info->start, true, why);
		if (err)
			film_close(w, info->start, NULL);
		else
			*writer = w;
	}
	if (err)
		(void)!database_remove(absolute);
	if (err && replaces)
		film_put_back(absolute);
	free(absolute);
	return err;
}

/* Learns what the film knows, so that names get the ids they have. */
static int learn(struct film_writer *w, const struct film *film)
{
	uint32_t i;

	film_forget_nothing(w);
	for (i = 1; i < film->frame_count; i++) {
		const struct film_frame *f = &film->frames[i];

		if (!vec_push(&w->kinds, f->image << 8 | (uint32_t)f->kind))
			return -ENOMEM;
	}
	for (i = 1; i < film->function_count; i++) {
		const struct film_function *f = &film->functions[i];
		struct known_key key = film_function_key(f->image, f->kind, f->name);

		if (!known_add(&w->known_functions, &key, i))
			return -ENOMEM;
		w->name_bytes += strlen(f->name);
	}
	for (i = 1; i < film->private->file_count; i++) {
		struct known_key key = film_file_key(film->private->files[i]);

		if (!known_add(&w->known_files, &key, i))
			return -ENOMEM;
	}
	for (i = 0; i < film->loss_count; i++) {
		const struct film_loss *loss = &film->losses[i];

		if (!losses_learn(&w->losses, &w->texts, loss->event, loss->reason, loss->count))
			return -ENOMEM;
	}
	w->inlines = film->inline_count;
	w->files = film->private->file_count - 1;
	w->next = (struct film_first){film->function_count, film->frame_count, film->stack_count};
	w->batch->first = w->next;
	return 0;
}

int film_open_for_naming(const char *path, struct film_writer **writer, struct fail *why)
{
	struct film_writer *w = new_writer();
	struct film *film = NULL;
	char *absolute = NULL;
	int err, fd = -1;

	if (!w)
		return fail_errno(why, -ENOMEM, NULL, "cannot write the film %s", path);
	err = film_lock_file(path, &absolute, &fd, why);
	if (!err)
		err = film_open(path, &film, why);
	if (!err && learn(w, film))
		err = fail_errno(why, -ENOMEM, NULL, "cannot write the film %s", path);
	film_free(film);
	if (!err)
		err = film_disk_start(absolute, fd, &w->disk, why);
	free(absolute);
	if (err) {
		if (fd >= 0)
			close(fd);
		free_writer(w);
		return err;
	}
	w->naming = true;
	*writer = w;
	return 0;
}
