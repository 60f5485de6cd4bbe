// SPDX-License-Identifier: Apache-2.0
#include "film/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "film/arena.h"
#include "film/create.h"
#include "film/disk.h"
#include "film/intern.h"
#include "film/load.h"
#include "film/losses.h"
#include "film/schema.h"

/* Samples that wait for a commit: some 200 MB, for a caller that never commits. */
#define PENDING_SAMPLES_MAX (8u << 20)

/* Strings of one row that may be too long at once. */
#define CUTS 8

struct film_writer {
	struct film_disk *disk;
	struct film_batch *batch; /* what the next commit writes */
	bool naming;		  /* of an existing film: nothing else may be written */
	uint32_t events, processes, threads, images;
	size_t pending_samples;

	/* by id; index 0 is unused */
	vec(struct film_place) frames; /* a mark's address is the id of its function */
	vec(struct film_stack) stacks;
	vec(struct film_function) functions;
	vec(const char *) files;
	struct intern frame_index, stack_index, function_index, file_index;
	struct film_first next; /* of these, what is not yet handed to the disk */

	uint64_t name_bytes; /* of all functions */
	uint64_t inlines;    /* inlined calls given so far */
	uint32_t calls;	     /* of film_name_frame() and film_start_frame() */
	struct losses losses;
	struct arena texts;
	char *cuts; /* CUTS strings of FILM_TEXT_MAX + 1 bytes */
	unsigned int next_cut;
};

/* s, or what a film can hold of it, with a mark at its end. Lives until CUTS more are cut. */
static const char *fit(struct film_writer *w, const char *s)
{
	static const char mark[] = "…";
	size_t keep = FILM_TEXT_MAX - strlen(mark);
	char *cut;

	if (!s)
		return "";
	if (strnlen(s, FILM_TEXT_MAX + 1) <= FILM_TEXT_MAX)
		return s;
	if (!w->cuts)
		w->cuts = malloc((size_t)CUTS * (FILM_TEXT_MAX + 1));
	if (!w->cuts)
		return mark;
	cut = w->cuts + (size_t)(w->next_cut++ % CUTS) * (FILM_TEXT_MAX + 1);
	/* not in the middle of a character */
	while (keep && ((uint8_t)s[keep] & 0xc0) == 0x80)
		keep--;
	memcpy(cut, s, keep);
	memcpy(cut + keep, mark, sizeof(mark));
	return cut;
}

static uint32_t lost(struct film_writer *w, enum own_loss what)
{
	w->losses.own[what]++;
	return 0;
}

/* The next id of a table without an index, or 0. */
static uint32_t next_id(struct film_writer *w, uint32_t *count, uint32_t max)
{
	if (w->naming || *count >= max)
		return lost(w, LOST_ROW);
	return ++*count;
}

uint32_t film_add_event(struct film_writer *w, const struct film_event *event)
{
	uint32_t id = next_id(w, &w->events, FILM_EVENTS_MAX - 1);

	if (id)
		film_put_row(&w->batch->rows, FILM_ROW_EVENT, (uint64_t)id, fit(w, event->name),
			     fit(w, event->unit), fit(w, event->source),
			     (uint64_t)event->frequency);
	return id;
}

static void put_process(struct film_writer *w, uint32_t id, const struct film_process *process)
{
	film_put_row(&w->batch->rows, FILM_ROW_PROCESS, (uint64_t)id, (uint64_t)process->pid,
		     (uint64_t)process->parent, process->start, process->end, fit(w, process->comm),
		     fit(w, process->command), fit(w, process->exe), fit(w, process->cgroup),
		     fit(w, process->container));
}

uint32_t film_add_process(struct film_writer *w, const struct film_process *process)
{
	uint32_t id = next_id(w, &w->processes, FILM_ROWS_MAX);

	if (id)
		put_process(w, id, process);
	return id;
}

void film_set_process(struct film_writer *w, uint32_t id, const struct film_process *process)
{
	if (id && id <= w->processes)
		put_process(w, id, process);
}

static void put_thread(struct film_writer *w, uint32_t id, const struct film_thread *thread)
{
	film_put_row(&w->batch->rows, FILM_ROW_THREAD, (uint64_t)id, (uint64_t)thread->process,
		     (uint64_t)thread->tid, thread->start, fit(w, thread->comm));
}

uint32_t film_add_thread(struct film_writer *w, const struct film_thread *thread)
{
	uint32_t id = 0;

	if (thread->process <= w->processes)
		id = next_id(w, &w->threads, FILM_ROWS_MAX);
	if (id)
		put_thread(w, id, thread);
	return id;
}

void film_set_thread(struct film_writer *w, uint32_t id, const struct film_thread *thread)
{
	if (id && id <= w->threads && thread->process <= w->processes)
		put_thread(w, id, thread);
}

uint32_t film_add_image(struct film_writer *w, const struct film_image *image)
{
	uint32_t id = next_id(w, &w->images, FILM_ROWS_MAX);
	size_t size = image->build_id_size;

	if (size > FILM_BUILD_ID_MAX)
		size = FILM_BUILD_ID_MAX;
	if (id)
		film_put_row(&w->batch->rows, FILM_ROW_IMAGE, (uint64_t)id, (uint64_t)image->kind,
			     fit(w, image->path), image->build_id, size);
	return id;
}

/* The id of a source file, or 0. */
static uint32_t file_id(struct film_writer *w, const char *path)
{
	uint64_t hash;
	uint32_t id;
	size_t at, size;

	path = fit(w, path);
	size = strlen(path);
	if (!size)
		return 0;
	hash = hash_bytes(path, size);
	at = intern_start(&w->file_index, hash);
	while ((id = intern_next(&w->file_index, hash, &at))) {
		if (!strcmp(w->files.at[id], path))
			return id;
	}
	id = (uint32_t)w->files.count;
	path = id <= FILM_ROWS_MAX ? arena_text(&w->texts, path, size) : NULL;
	if (!path || !vec_push(&w->files, path))
		return lost(w, LOST_ROW);
	if (!intern_add(&w->file_index, hash, id)) {
		w->files.count--;
		return lost(w, LOST_ROW);
	}
	film_put_row(&w->batch->rows, FILM_ROW_FILE, (uint64_t)id, path);
	return id;
}

static uint64_t function_hash(uint32_t image, uint32_t kind, const char *name)
{
	return hash_u64(hash_bytes(name, strlen(name)) ^ ((uint64_t)image << 8 | kind));
}

/* The id of a function, or 0. */
static uint32_t function_id(struct film_writer *w, uint32_t image, enum film_frame_kind kind,
			    const char *name)
{
	uint64_t hash;
	uint32_t id;
	size_t at, size;

	name = fit(w, name);
	size = strlen(name);
	if (!size)
		return 0;
	hash = function_hash(image, kind, name);
	at = intern_start(&w->function_index, hash);
	while ((id = intern_next(&w->function_index, hash, &at))) {
		const struct film_function *f = &w->functions.at[id];

		if (f->image == image && f->kind == kind && !strcmp(f->name, name))
			return id;
	}
	id = (uint32_t)w->functions.count;
	if (id > FILM_FUNCTIONS_MAX || w->name_bytes + size > FILM_NAMES_MAX)
		return lost(w, LOST_FUNCTION);
	name = arena_text(&w->texts, name, size);
	if (!name || !vec_push(&w->functions, (struct film_function){image, kind, name}))
		return lost(w, LOST_FUNCTION);
	if (!intern_add(&w->function_index, hash, id)) {
		w->functions.count--;
		return lost(w, LOST_FUNCTION);
	}
	w->name_bytes += size;
	return id;
}

static uint32_t frame_id(struct film_writer *w, struct film_place place)
{
	uint64_t hash = hash_u64(place.address ^ hash_u64((uint64_t)place.image << 8 | place.kind));
	size_t at = intern_start(&w->frame_index, hash);
	uint32_t id;

	while ((id = intern_next(&w->frame_index, hash, &at))) {
		const struct film_place *p = &w->frames.at[id];

		if (p->address == place.address && p->image == place.image && p->kind == place.kind)
			return id;
	}
	id = (uint32_t)w->frames.count;
	if (w->naming || id > FILM_FRAMES_MAX || !vec_push(&w->frames, place))
		return lost(w, LOST_FRAME);
	if (!intern_add(&w->frame_index, hash, id)) {
		w->frames.count--;
		return lost(w, LOST_FRAME);
	}
	return id;
}

uint32_t film_frame(struct film_writer *w, uint32_t image, enum film_frame_kind kind,
		    uint64_t address)
{
	if (image > w->images || kind <= 0 || kind == FILM_FRAME_MARK || kind > UINT8_MAX)
		return lost(w, LOST_FRAME);
	return frame_id(w, (struct film_place){address, image, (uint8_t)kind});
}

uint32_t film_mark(struct film_writer *w, const char *name)
{
	uint32_t function = w->naming ? 0 : function_id(w, 0, FILM_FRAME_MARK, name);
	struct film_named named = {.row = {.function = function}, .call = ++w->calls};
	size_t known = w->frames.count;

	if (!function || !vec_reserve(&w->batch->names, w->batch->names.count + 1))
		return lost(w, LOST_FRAME);
	named.row.frame = frame_id(w, (struct film_place){function, 0, FILM_FRAME_MARK});
	if (w->frames.count > known)
		vec_push(&w->batch->names, named);
	return named.row.frame;
}

uint32_t film_stack(struct film_writer *w, uint32_t parent, uint32_t frame, enum film_how how)
{
	uint64_t hash = hash_u64(((uint64_t)parent << 32 | frame) ^ (uint64_t)how << 24);
	size_t at = intern_start(&w->stack_index, hash);
	uint32_t id;

	while ((id = intern_next(&w->stack_index, hash, &at))) {
		const struct film_stack *s = &w->stacks.at[id];

		if (s->parent == parent && s->frame == frame && s->how == how)
			return id;
	}
	id = (uint32_t)w->stacks.count;
	if (w->naming || id > FILM_STACKS_MAX || parent >= id || !frame ||
	    frame >= w->frames.count || (unsigned int)how > UINT8_MAX ||
	    !vec_push(&w->stacks, (struct film_stack){parent, frame, how}))
		return lost(w, LOST_STACK);
	if (!intern_add(&w->stack_index, hash, id)) {
		w->stacks.count--;
		return lost(w, LOST_STACK);
	}
	return id;
}

void film_name_frame(struct film_writer *w, uint32_t frame, const struct film_name *names,
		     size_t count)
{
	static const struct film_name none = {0};
	struct film_place place;
	uint32_t depth;

	if (!frame || frame >= w->frames.count || w->frames.at[frame].kind == FILM_FRAME_MARK)
		return;
	place = w->frames.at[frame];
	if (!count) {
		names = &none;
		count = 1;
	}
	if (count > FILM_DEPTH_MAX + 1 || w->inlines + count - 1 > FILM_INLINES_MAX) {
		lost(w, LOST_NAME);
		count = 1;
	}
	/* all or nothing: the reader takes no depths with a gap */
	if (!vec_reserve(&w->batch->names, w->batch->names.count + count)) {
		lost(w, LOST_NAME);
		return;
	}
	w->inlines += count - 1;
	w->calls++;
	for (depth = 0; depth < count; depth++) {
		struct film_named named = {
			.row =
				{
					.frame = frame,
					.depth = depth,
					.function = function_id(w, place.image, place.kind,
								names[depth].function),
					.file = file_id(w, names[depth].file),
					.line = names[depth].line,
				},
			.call = w->calls,
		};

		vec_push(&w->batch->names, named);
	}
}

void film_start_frame(struct film_writer *w, uint32_t frame, uint64_t start)
{
	struct film_started started = {.row.frame = frame, .call = ++w->calls};
	struct film_place place;

	if (!frame || frame >= w->frames.count)
		return;
	place = w->frames.at[frame];
	if (place.kind == FILM_FRAME_MARK || !start || start > place.address)
		return;
	started.row.distance = place.address - start;
	if (!vec_push(&w->batch->starts, started))
		lost(w, LOST_NAME);
}

void film_sample(struct film_writer *w, uint32_t event, uint64_t time, uint32_t thread,
		 uint32_t stack, uint64_t value)
{
	struct film_sample_list *list;

	if (!event || event > w->events || thread > w->threads || stack >= w->stacks.count ||
	    w->pending_samples >= PENDING_SAMPLES_MAX) {
		lost(w, LOST_SAMPLE);
		return;
	}
	list = &w->batch->samples[event];
	if (vec_push(list, (struct film_sample){time, value, thread, stack}))
		w->pending_samples++;
	else
		lost(w, LOST_SAMPLE);
}

void film_loss(struct film_writer *w, uint32_t event, const char *reason, uint64_t count)
{
	if (event > w->events)
		lost(w, LOST_REASON);
	else
		losses_set(&w->losses, &w->texts, event, fit(w, reason), count);
}

/* Copies of what is new; the disk reads them while the tables here go on growing. */
static bool copy_new(struct film_writer *w)
{
	struct film_batch *batch = w->batch;
	size_t functions = w->functions.count - w->next.function;
	size_t frames = w->frames.count - w->next.frame;
	size_t stacks = w->stacks.count - w->next.stack, i;

	if (!vec_reserve(&batch->functions, functions) || !vec_reserve(&batch->frames, frames) ||
	    !vec_reserve(&batch->stacks, stacks))
		return false;
	for (i = 0; i < functions; i++)
		batch->functions.at[i] = w->functions.at[w->next.function + i];
	for (i = 0; i < frames; i++) {
		batch->frames.at[i] = w->frames.at[w->next.frame + i];
		if (batch->frames.at[i].kind == FILM_FRAME_MARK)
			batch->frames.at[i].address = 0;
	}
	for (i = 0; i < stacks; i++)
		batch->stacks.at[i] = w->stacks.at[w->next.stack + i];
	batch->functions.count = functions;
	batch->frames.count = frames;
	batch->stacks.count = stacks;
	batch->first = w->next;
	return true;
}

/* -ENOMEM: nothing of the batch may be written. */
static int complete_batch(struct film_writer *w, uint64_t now)
{
	if (!copy_new(w))
		return -ENOMEM;
	if (!w->naming) {
		losses_put(&w->losses, &w->texts, &w->batch->rows);
		film_put_row(&w->batch->rows, FILM_ROW_META_NUMBER, "end", now);
	}
	return w->batch->rows.failed ? -ENOMEM : 0;
}

/* Everything there is so far is with the disk. */
static void all_handed(struct film_writer *w)
{
	w->next = (struct film_first){
		.function = (uint32_t)w->functions.count,
		.frame = (uint32_t)w->frames.count,
		.stack = (uint32_t)w->stacks.count,
	};
	w->pending_samples = 0;
}

int film_commit(struct film_writer *w, uint64_t now, bool wait, struct fail *why)
{
	struct film_batch *next = calloc(1, sizeof(*next)), *batch = w->batch;

	if (!next || complete_batch(w, now)) {
		film_batch_free(next);
		return fail_errno(why, -ENOMEM, NULL, "cannot write the film");
	}
	all_handed(w);
	w->batch = next;
	return film_disk_give(w->disk, batch, wait, why);
}

static void free_writer(struct film_writer *w)
{
	film_batch_free(w->batch);
	vec_free(&w->frames);
	vec_free(&w->stacks);
	vec_free(&w->functions);
	vec_free(&w->files);
	intern_free(&w->frame_index);
	intern_free(&w->stack_index);
	intern_free(&w->function_index);
	intern_free(&w->file_index);
	losses_free(&w->losses);
	arena_free(&w->texts);
	free(w->cuts);
	free(w);
}

int film_close(struct film_writer *w, uint64_t now, struct fail *why)
{
	int err = film_commit(w, now, true, why);
	int closed = film_disk_close(w->disk, err ? NULL : why);

	free_writer(w);
	return err ? err : closed;
}

uint64_t film_size(const struct film_writer *w)
{
	return film_disk_size(w->disk);
}

/* A writer with the unused entries of id 0. */
static struct film_writer *new_writer(void)
{
	struct film_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->batch = calloc(1, sizeof(*w->batch));
	if (w->batch && vec_push(&w->frames, (struct film_place){0}) &&
	    vec_push(&w->stacks, (struct film_stack){0}) &&
	    vec_push(&w->functions, (struct film_function){.name = ""}) &&
	    vec_push(&w->files, "")) {
		all_handed(w);
		return w;
	}
	free_writer(w);
	return NULL;
}

static void put_info(struct film_writer *w, const struct film_info *info)
{
	struct buf *rows = &w->batch->rows;

	film_put_row(rows, FILM_ROW_META_TEXT, "version", fit(w, info->version));
	film_put_row(rows, FILM_ROW_META_TEXT, "hostname", fit(w, info->hostname));
	film_put_row(rows, FILM_ROW_META_TEXT, "kernel", fit(w, info->kernel));
	film_put_row(rows, FILM_ROW_META_TEXT, "arch", fit(w, info->arch));
	film_put_row(rows, FILM_ROW_META_TEXT, "command", fit(w, info->command));
	film_put_row(rows, FILM_ROW_META_NUMBER, "cpus", (uint64_t)info->cpus);
	film_put_row(rows, FILM_ROW_META_NUMBER, "start", info->start);
	film_put_row(rows, FILM_ROW_META_NUMBER, "wall_offset", (uint64_t)info->wall_offset);
}

int film_create(const char *path, const struct film_info *info, struct film_writer **writer,
		struct fail *why)
{
	struct film_writer *w = new_writer();
	char *absolute;
	int err, fd;

	if (!w)
		return fail_errno(why, -ENOMEM, NULL, "cannot create the film %s", path);
	err = film_create_file(path, &absolute, &fd, why);
	if (err) {
		free_writer(w);
		return err;
	}
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
		unlink(absolute);
	free(absolute);
	return err;
}

/* Learns what the film knows, so that names get the ids they have. */
static int learn(struct film_writer *w, const struct film *film)
{
	uint32_t i;

	for (i = 1; i < film->frame_count; i++) {
		const struct film_frame *f = &film->frames[i];

		if (!vec_push(&w->frames,
			      (struct film_place){f->address, f->image, (uint8_t)f->kind}))
			return -ENOMEM;
	}
	for (i = 1; i < film->function_count; i++) {
		const struct film_function *f = &film->functions[i];
		const char *name = arena_text(&w->texts, f->name, strlen(f->name));
		struct film_function function = {f->image, f->kind, name};

		if (!name || !vec_push(&w->functions, function) ||
		    !intern_add(&w->function_index, function_hash(f->image, f->kind, name), i))
			return -ENOMEM;
		w->name_bytes += strlen(name);
	}
	for (i = 1; i < film->private->file_count; i++) {
		const char *path = film->private->files[i];

		path = arena_text(&w->texts, path, strlen(path));
		if (!path || !vec_push(&w->files, path) ||
		    !intern_add(&w->file_index, hash_bytes(path, strlen(path)), i))
			return -ENOMEM;
	}
	w->inlines = film->inline_count;
	all_handed(w);
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
