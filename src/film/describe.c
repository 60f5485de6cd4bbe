// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "film/schema.h"
#include "film/writing.h"

/* Strings of one row that may be too long at once. */
#define CUTS 8

const char *film_fit(struct film_writer *w, const char *s)
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
		film_put_row(&w->batch->rows, FILM_ROW_EVENT, (uint64_t)id,
			     film_fit(w, event->name), film_fit(w, event->unit),
			     film_fit(w, event->source), (uint64_t)event->frequency);
	return id;
}

bool film_pack_rows(struct film_writer *w)
{
	static const struct film_process process = {.comm = "",
						    .command = "",
						    .exe = "",
						    .cgroup = "",
						    .container = "",
						    .user = "",
						    .resource = ""};

	return vec_push(&w->packed_processes, process) &&
	       vec_push(&w->packed_threads, (struct film_thread){.comm = ""});
}

/* False: there is no memory for it. */
static bool put_process(struct film_writer *w, uint32_t id, const struct film_process *process)
{
	if (w->packed_processes.count) {
		if (id == w->packed_processes.count)
			return vec_push(&w->packed_processes, *process);
		w->packed_processes.at[id] = *process;
		return true;
	}
	film_put_row(&w->batch->rows, FILM_ROW_PROCESS, (uint64_t)id, (uint64_t)process->pid,
		     (uint64_t)process->parent, process->start, process->end,
		     film_fit(w, process->comm), film_fit(w, process->command),
		     film_fit(w, process->exe), film_fit(w, process->cgroup),
		     film_fit(w, process->container), film_fit(w, process->user),
		     film_fit(w, process->resource));
	return true;
}

uint32_t film_add_process(struct film_writer *w, const struct film_process *process)
{
	uint32_t id = next_id(w, &w->processes, FILM_ROWS_MAX);

	if (!id || put_process(w, id, process))
		return id;
	w->processes--;
	return lost(w, LOST_ROW);
}

void film_set_process(struct film_writer *w, uint32_t id, const struct film_process *process)
{
	if (id && id <= w->processes)
		put_process(w, id, process);
}

static bool put_thread(struct film_writer *w, uint32_t id, const struct film_thread *thread)
{
	if (w->packed_threads.count) {
		if (id == w->packed_threads.count)
			return vec_push(&w->packed_threads, *thread);
		w->packed_threads.at[id] = *thread;
		return true;
	}
	film_put_row(&w->batch->rows, FILM_ROW_THREAD, (uint64_t)id, (uint64_t)thread->process,
		     (uint64_t)thread->tid, thread->start, film_fit(w, thread->comm));
	return true;
}

uint32_t film_add_thread(struct film_writer *w, const struct film_thread *thread)
{
	uint32_t id = 0;

	if (thread->process <= w->processes)
		id = next_id(w, &w->threads, FILM_ROWS_MAX);
	if (!id || put_thread(w, id, thread))
		return id;
	w->threads--;
	return lost(w, LOST_ROW);
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
			     film_fit(w, image->path), image->build_id, size);
	return id;
}

/* The id of a source file, or 0. */
static uint32_t file_id(struct film_writer *w, const char *path)
{
	struct known_key key = film_file_key(film_fit(w, path));
	uint32_t id;

	if (!*key.text)
		return 0;
	id = known_find(&w->known_files, &key);
	if (id)
		return id;
	id = w->files + 1;
	if (id > FILM_ROWS_MAX || !known_add(&w->known_files, &key, id))
		return lost(w, LOST_ROW);
	film_put_row(&w->batch->rows, FILM_ROW_FILE, (uint64_t)id, key.text);
	w->files = id;
	return id;
}

/*
 * Of what is new, room in the batch is made before it is remembered, so that it is in both or in
 * none.
 */
#define make_room(v) vec_reserve(v, (v)->count + 1)

/* The id of a function, or 0. */
static uint32_t function_id(struct film_writer *w, uint32_t image, enum film_frame_kind kind,
			    const char *name)
{
	struct known_key key = film_function_key(image, kind, film_fit(w, name));
	struct film_function function = {image, kind, NULL};
	struct film_batch *batch = w->batch;
	size_t size = strlen(key.text);
	uint32_t id;

	if (!size)
		return 0;
	id = known_find(&w->known_functions, &key);
	if (id)
		return id;
	id = w->next.function;
	if (id > FILM_FUNCTIONS_MAX || w->name_bytes + size > FILM_NAMES_MAX ||
	    !make_room(&batch->functions))
		return lost(w, LOST_FUNCTION);
	function.name = arena_text(&batch->names_of_functions, key.text, size);
	if (!function.name || !known_add(&w->known_functions, &key, id))
		return lost(w, LOST_FUNCTION);
	vec_push(&batch->functions, function);
	batch->name_bytes += size;
	w->name_bytes += size;
	w->next.function++;
	return id;
}

/* key: what is unlike any other place; *is_new: it was not there. */
static uint32_t frame_id(struct film_writer *w, const struct film_place *place, uint64_t key_of,
			 bool *is_new)
{
	uint32_t kind = place->image << 8 | place->kind, id;
	struct known_key key = {.a = key_of, .b = kind};

	*is_new = false;
	id = w->all_is_new ? 0 : known_find(&w->known_frames, &key);
	if (id)
		return id;
	id = w->next.frame;
	if (w->naming || id > FILM_FRAMES_MAX || !make_room(&w->batch->frames) ||
	    !make_room(&w->kinds) || (!w->all_is_new && !known_add(&w->known_frames, &key, id)))
		return lost(w, LOST_FRAME);
	vec_push(&w->batch->frames, *place);
	vec_push(&w->kinds, kind);
	w->next.frame++;
	*is_new = true;
	return id;
}

uint32_t film_frame(struct film_writer *w, uint32_t image, enum film_frame_kind kind,
		    uint64_t address)
{
	struct film_place place = {address, image, (uint8_t)kind};
	bool is_new;

	if (image > w->images || kind <= 0 || kind == FILM_FRAME_MARK || kind > UINT8_MAX)
		return lost(w, LOST_FRAME);
	return frame_id(w, &place, address, &is_new);
}

uint32_t film_mark(struct film_writer *w, const char *name)
{
	return film_mark_at(w, name, "");
}

uint32_t film_mark_at(struct film_writer *w, const char *name, const char *where)
{
	uint32_t function = w->naming ? 0 : function_id(w, 0, FILM_FRAME_MARK, name);
	uint32_t file = function ? file_id(w, where) : 0;
	struct film_named named = {.row = {.function = function, .file = file}, .call = ++w->calls};
	struct film_place place = {.kind = FILM_FRAME_MARK};
	bool is_new;

	if (!function || !make_room(&w->batch->names))
		return lost(w, LOST_FRAME);
	named.row.frame = frame_id(w, &place, (uint64_t)file << 32 | function, &is_new);
	if (is_new)
		vec_push(&w->batch->names, named);
	return named.row.frame;
}

uint32_t film_stack(struct film_writer *w, uint32_t parent, uint32_t frame, enum film_how how)
{
	struct known_key key = {.a = (uint64_t)parent << 32 | frame, .b = (uint64_t)how};
	uint32_t id = w->all_is_new ? 0 : known_find(&w->known_stacks, &key);

	if (id)
		return id;
	id = w->next.stack;
	if (w->naming || id > FILM_STACKS_MAX || parent >= id || !frame || frame >= w->next.frame ||
	    (unsigned int)how > UINT8_MAX || !make_room(&w->batch->stacks) ||
	    (!w->all_is_new && !known_add(&w->known_stacks, &key, id)))
		return lost(w, LOST_STACK);
	vec_push(&w->batch->stacks, (struct film_stack){parent, frame, how});
	w->next.stack++;
	return id;
}

static enum film_frame_kind kind_of(const struct film_writer *w, uint32_t frame)
{
	return (enum film_frame_kind)(w->kinds.at[frame] & UINT8_MAX);
}

void film_name_frame(struct film_writer *w, uint32_t frame, const struct film_name *names,
		     size_t count)
{
	static const struct film_name none = {0};
	uint32_t depth;

	if (!frame || frame >= w->next.frame || kind_of(w, frame) == FILM_FRAME_MARK)
		return;
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
					.function = function_id(w, w->kinds.at[frame] >> 8,
								kind_of(w, frame),
								names[depth].function),
					.file = file_id(w, names[depth].file),
					.line = names[depth].line,
				},
			.call = w->calls,
		};

		vec_push(&w->batch->names, named);
	}
}

void film_start_frame(struct film_writer *w, uint32_t frame, uint64_t address, uint64_t start)
{
	struct film_started started = {.row = {address - start, frame}, .call = ++w->calls};

	if (!frame || frame >= w->next.frame || kind_of(w, frame) == FILM_FRAME_MARK || !start ||
	    start > address)
		return;
	if (!vec_push(&w->batch->starts, started))
		lost(w, LOST_NAME);
}

uint64_t film_lost(const struct film_writer *w)
{
	return losses_sum(&w->losses);
}

uint64_t film_unseen_ms(const struct film_writer *w)
{
	return losses_longest(&w->losses);
}

void film_unseen(struct film_writer *w, uint32_t event, const char *reason, uint64_t ms)
{
	if (event > w->events)
		lost(w, LOST_REASON);
	else
		losses_set_time(&w->losses, &w->texts, event, film_fit(w, reason), ms);
}

void film_loss(struct film_writer *w, uint32_t event, const char *reason, uint64_t count)
{
	if (event > w->events)
		lost(w, LOST_REASON);
	else
		losses_set(&w->losses, &w->texts, event, film_fit(w, reason), count);
}
