// SPDX-License-Identifier: Apache-2.0
#include "resolve/catalogue.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "film/known.h"

/* Images that are remembered by what they are, beside those that are in use. */
#define IMAGES_KNOWN 4096

/* Why a stack has no more frames, as the film says it. */
static const char *const end_marks[UNWIND_ENDS] = {
	/* none ends here: the mark of a gap, which stands within a stack */
	[UNWIND_END_ROOT] = FILM_GAP,
	[UNWIND_END_LATER] = "[truncated: the recorder could not take the stack over]",
	[UNWIND_END_MEMORY] = "[truncated: stack memory not readable]",
	[UNWIND_END_UNSUPPORTED] = "[truncated: unwind rule not supported]",
	[UNWIND_END_NO_RULE] = "[truncated: no unwind information and no frame pointer]",
	[UNWIND_END_UNMAPPED] = "[truncated: return address outside of all mappings]",
	[UNWIND_END_STUCK] = "[truncated: unwinding made no progress]",
	[UNWIND_END_FRAMES] = "[truncated: too many frames]",
	[UNWIND_END_COPY] = "[truncated: stack deeper than what was copied]",
	[UNWIND_END_STALE] = "[truncated: mappings changed meanwhile]",
	[UNWIND_END_RUNTIME_STATE] =
		"[truncated: structures of the language runtime not understood]",
	[UNWIND_END_RUNTIME_MEMORY] = "[truncated: memory of the language runtime not readable]",
	[UNWIND_END_RUNTIME_CODE] = "[truncated: code that the language runtime does not explain]",
	[UNWIND_END_RUNTIME_LATER] = "[truncated: the language runtime was not known yet]",
	[UNWIND_END_RETURN_PROBE] = "[truncated: return address replaced by a return probe]",
	[UNWIND_END_RAN] = "[truncated: the thread ran on before its stack was read]",
	[UNWIND_END_UNKNOWN] = "[truncated: code that the recorder did not know by then]",
	[UNWIND_END_PUT_OFF] = "[truncated: the file that describes the code is read later]",
	[UNWIND_END_32_BIT] = "[truncated: 32-bit programs are not unwound]",
};

/*
 * Rows of threads, and processes of which nothing is known, that are remembered at first and at
 * most. What is sampled again after it was forgotten gets another row, which says the same.
 */
#define THREADS_FEW   16384
#define THREADS_MANY  262144
#define STRANGERS_MAX 65536

struct thread_row {
	uint64_t key;
	uint32_t id;
	bool used;	    /* again, since rows were last forgotten */
	bool is_start_near; /* its start is known to a tick, or not at all (0) */
	struct film_thread thread;
	char comm[16];
};

struct catalogue {
	struct film_writer *film;
	struct names *names;
	struct map threads; /* process row << 32 | tid -> index in rows */
	vec(struct thread_row) rows;
	size_t rows_limit;	 /* at most this many are remembered */
	struct map strangers;	 /* pid -> process row */
	vec(uint32_t) images;	 /* film image by image number; 0: none yet */
	struct known image_rows; /* path and build id -> film image */
	uint32_t kernel;	 /* film image of the kernel */
	uint32_t marks[UNWIND_ENDS];
	uint32_t last_frame; /* highest frame id seen: a higher one is new */
	uint32_t film_number;
};

int catalogue_new(struct film_writer *film, struct names *names, struct catalogue **result)
{
	struct catalogue *catalogue = calloc(1, sizeof(*catalogue));

	if (!catalogue)
		return -ENOMEM;
	catalogue->film = film;
	catalogue->names = names;
	catalogue->image_rows.limit = IMAGES_KNOWN;
	catalogue->rows_limit = THREADS_FEW;
	*result = catalogue;
	return 0;
}

void catalogue_free(struct catalogue *catalogue)
{
	if (!catalogue)
		return;
	map_free(&catalogue->threads);
	map_free(&catalogue->strangers);
	vec_free(&catalogue->rows);
	vec_free(&catalogue->images);
	known_clear(&catalogue->image_rows);
	free(catalogue);
}

void catalogue_turn(struct catalogue *catalogue, struct film_writer *film)
{
	catalogue->film = film;
	catalogue->film_number++;
	map_free(&catalogue->threads);
	map_free(&catalogue->strangers);
	vec_free(&catalogue->rows);
	catalogue->rows_limit = THREADS_FEW;
	catalogue->images.count = 0;
	known_clear(&catalogue->image_rows);
	catalogue->kernel = catalogue->last_frame = 0;
	memset(catalogue->marks, 0, sizeof(catalogue->marks));
}

/* What a process carries is forgotten with the film that it is of. */
static void renew(const struct catalogue *catalogue, struct catalogue_process *row)
{
	if (row->film != catalogue->film_number)
		*row = (struct catalogue_process){.film = catalogue->film_number};
}

static const char *or_empty(const char *s)
{
	return s ? s : "";
}

static struct film_process describe(const struct process *process)
{
	return (struct film_process){
		.pid = (uint32_t)process->pid,
		.parent = (uint32_t)process->parent,
		.start = process->start,
		.end = process->end,
		.comm = process->comm,
		.command = or_empty(process->command),
		.exe = or_empty(process->exe),
		.cgroup = or_empty(process->cgroup),
		.container = or_empty(process->container),
		.user = or_empty(process->user),
		.resource = or_empty(process->resource),
	};
}

/*
 * Forgets the rows that were not used since the last time. If that leaves much, more is remembered
 * from now on.
 */
static void forget_threads(struct catalogue *catalogue)
{
	size_t kept = 0, i;

	map_free(&catalogue->threads);
	for (i = 0; i < catalogue->rows.count; i++) {
		struct thread_row *row = &catalogue->rows.at[i];

		if (!row->used || !map_put(&catalogue->threads, row->key, kept))
			continue;
		row->used = false;
		catalogue->rows.at[kept] = *row;
		catalogue->rows.at[kept].thread.comm = catalogue->rows.at[kept].comm;
		kept++;
	}
	catalogue->rows.count = kept;
	if (kept <= catalogue->rows_limit / 2)
		return;
	if (catalogue->rows_limit < THREADS_MANY) {
		catalogue->rows_limit *= 2;
		return;
	}
	map_free(&catalogue->threads);
	catalogue->rows.count = 0;
}

/*
 * A record has the exact start of the thread. A row that was made from less gets it, where it can
 * be of that thread: else one thread would be two.
 */
static bool is_row_of(const struct thread_row *row, uint64_t start)
{
	if (row->thread.start == start)
		return true;
	return row->is_start_near &&
	       (!row->thread.start || film_same_start(row->thread.start, start));
}

static uint32_t thread_of(struct catalogue *catalogue, uint32_t process,
			  const struct capture_identity *identity)
{
	uint64_t key = (uint64_t)process << 32 | identity->tid;
	uint64_t *known = map_get(&catalogue->threads, key);
	struct thread_row *row = known ? &catalogue->rows.at[*known] : NULL;

	/* without a start it is the one that has the number now */
	if (row && !identity->thread_start) {
		row->used = true;
		return row->id;
	}
	if (row && is_row_of(row, identity->thread_start)) {
		row->used = true;
		if (row->is_start_near || memcmp(row->comm, identity->comm, sizeof(row->comm))) {
			memcpy(row->comm, identity->comm, sizeof(row->comm));
			row->thread.comm = row->comm;
			row->thread.start = identity->thread_start;
			row->is_start_near = false;
			film_set_thread(catalogue->film, row->id, &row->thread);
		}
		return row->id;
	}
	if (catalogue->rows.count >= catalogue->rows_limit)
		forget_threads(catalogue);
	if (!vec_push(&catalogue->rows,
		      (struct thread_row){.key = key,
					  .thread = {.process = process,
						     .tid = identity->tid,
						     .start = identity->thread_start},
					  .is_start_near = !identity->thread_start}))
		return 0;
	row = vec_last(&catalogue->rows);
	memcpy(row->comm, identity->comm, sizeof(row->comm));
	row->comm[sizeof(row->comm) - 1] = 0;
	row->thread.comm = row->comm;
	row->id = film_add_thread(catalogue->film, &row->thread);
	map_put(&catalogue->threads, key, catalogue->rows.count - 1);
	return row->id;
}

static uint32_t process_row(struct catalogue *catalogue, struct catalogue_process *row,
			    const struct process *process)
{
	renew(catalogue, row);
	if (!row->id) {
		struct film_process words = describe(process);

		row->id = film_add_process(catalogue->film, &words);
		row->execs = process->execs;
	}
	return row->id;
}

uint32_t catalogue_thread(struct catalogue *catalogue, struct catalogue_process *row,
			  const struct process *process, const struct capture_identity *identity)
{
	uint32_t id = process_row(catalogue, row, process);

	return id ? thread_of(catalogue, id, identity) : 0;
}

uint32_t catalogue_other_thread(struct catalogue *catalogue, struct catalogue_process *row,
				const struct process *process, pid_t tid, uint64_t start,
				const char comm[16])
{
	struct capture_identity identity = {.tid = (uint32_t)tid, .thread_start = start};
	uint64_t key = (uint64_t)process_row(catalogue, row, process) << 32 | identity.tid;
	uint64_t *known = map_get(&catalogue->threads, key);
	uint32_t id;

	if (known)
		return catalogue->rows.at[*known].id;
	memcpy(identity.comm, comm, sizeof(identity.comm));
	id = key >> 32 ? thread_of(catalogue, (uint32_t)(key >> 32), &identity) : 0;
	known = map_get(&catalogue->threads, key);
	if (known)
		catalogue->rows.at[*known].is_start_near = true;
	return id;
}

uint32_t catalogue_lane(struct catalogue *catalogue, struct catalogue_process *row,
			const struct process *process, uint64_t number, uint64_t start,
			const char *name)
{
	uint32_t id = process_row(catalogue, row, process);
	struct film_thread thread = {
		.process = id, .tid = (uint32_t)number, .start = start, .comm = name};

	return id ? film_add_thread(catalogue->film, &thread) : 0;
}

uint32_t catalogue_stranger(struct catalogue *catalogue, const struct capture_identity *identity)
{
	uint64_t *known = map_get(&catalogue->strangers, identity->pid);
	uint32_t process = known ? (uint32_t)*known : 0;
	char comm[sizeof(identity->comm) + 1] = "";
	struct film_process words = {
		.pid = identity->pid,
		.comm = comm,
		.command = "",
		.exe = "",
		.cgroup = "",
		.container = "",
	};

	if (!process) {
		memcpy(comm, identity->comm, sizeof(identity->comm));
		process = film_add_process(catalogue->film, &words);
		if (catalogue->strangers.count >= STRANGERS_MAX)
			map_free(&catalogue->strangers);
		map_put(&catalogue->strangers, identity->pid, process);
	}
	return process ? thread_of(catalogue, process, identity) : 0;
}

void catalogue_process_changed(struct catalogue *catalogue, const struct catalogue_process *row,
			       const struct process *process)
{
	struct film_process words = describe(process);

	if (row->id && row->film == catalogue->film_number)
		film_set_process(catalogue->film, row->id, &words);
}

/*
 * An image that was gone and is there again (of a compiler, say, that is started every few seconds)
 * is the same one in the film, with the frames and names that it has. A file without a build id may
 * be another one by now.
 */
static uint32_t add_image(struct catalogue *catalogue, const struct image *image)
{
	struct known_key key = {
		.a = hash_bytes(image->build_id, image->build_id_size) + image->kind,
		.text = image->path,
	};
	struct film_image words = {
		.kind = image->kind == IMAGE_VDSO ? FILM_IMAGE_VDSO : FILM_IMAGE_FILE,
		.path = image->path,
		.build_id_size = image->build_id_size,
	};

	uint32_t id = image->build_id_size ? known_find(&catalogue->image_rows, &key) : 0;

	if (id)
		return id;
	memcpy(words.build_id, image->build_id, image->build_id_size);
	id = film_add_image(catalogue->film, &words);
	if (id && image->build_id_size)
		known_add(&catalogue->image_rows, &key, id);
	return id;
}

static uint32_t image_of(struct catalogue *catalogue, const struct image *image)
{
	uint32_t *id;

	while (catalogue->images.count <= image->number)
		if (!vec_push(&catalogue->images, 0))
			return 0;
	id = &catalogue->images.at[image->number];
	if (!*id)
		*id = add_image(catalogue, image);
	return *id;
}

/* Frames are numbered as they are first written, so a number above all others is a new one. */
static bool is_new(struct catalogue *catalogue, uint32_t frame)
{
	if (frame <= catalogue->last_frame)
		return false;
	catalogue->last_frame = frame;
	return true;
}

static uint32_t jit_frame(struct catalogue *catalogue, struct catalogue_process *row,
			  const struct process *process, uint64_t at)
{
	static const struct film_image words = {.kind = FILM_IMAGE_ANON, .path = "[jit]"};
	uint32_t age = names_jit_age(catalogue->names, process->pid), frame;

	renew(catalogue, row);
	/*
	 * one image for each process and age: the same address means something else in another one
	 */
	if (!row->jit || row->jit_age != age)
		row->jit = film_add_image(catalogue->film, &words);
	row->jit_age = age;
	frame = film_frame(catalogue->film, row->jit, FILM_FRAME_JIT, at);
	if (is_new(catalogue, frame))
		names_want_jit(catalogue->names, process->pid, frame, at);
	return frame;
}

uint32_t catalogue_user_frame(struct catalogue *catalogue, struct catalogue_process *row,
			      const struct process *process, uint64_t at)
{
	const struct mapping *mapping = process_mapping(process, at);
	uint64_t address;
	uint32_t frame;

	if (!mapping || (mapping->image->kind != IMAGE_FILE && mapping->image->kind != IMAGE_VDSO))
		return jit_frame(catalogue, row, process, at);
	address = at - mapping->bias;
	frame = film_frame(catalogue->film, image_of(catalogue, mapping->image), FILM_FRAME_NATIVE,
			   address);
	if (is_new(catalogue, frame))
		names_want(catalogue->names, mapping->image, frame, address);
	return frame;
}

uint32_t catalogue_kernel_frame(struct catalogue *catalogue, uint64_t at)
{
	static const struct film_image words = {.kind = FILM_IMAGE_KERNEL, .path = "[kernel]"};
	uint32_t frame;

	if (!catalogue->kernel)
		catalogue->kernel = film_add_image(catalogue->film, &words);
	frame = film_frame(catalogue->film, catalogue->kernel, FILM_FRAME_KERNEL, at);
	if (is_new(catalogue, frame))
		names_want_kernel(catalogue->names, frame, at);
	return frame;
}

uint32_t catalogue_variable(struct catalogue *catalogue, const struct image *image,
			    uint64_t address, const char *name)
{
	const struct film_name words = {.function = name};
	uint32_t frame =
		film_frame(catalogue->film, image_of(catalogue, image), FILM_FRAME_NATIVE, address);

	if (is_new(catalogue, frame) && *name)
		film_name_frame(catalogue->film, frame, &words, 1);
	return frame;
}

uint32_t catalogue_mark(struct catalogue *catalogue, enum unwind_end end)
{
	if (!catalogue->marks[end])
		catalogue->marks[end] = film_mark(catalogue->film, end_marks[end]);
	/* a mark is a frame too, and needs no name */
	is_new(catalogue, catalogue->marks[end]);
	return catalogue->marks[end];
}

uint32_t catalogue_gap(struct catalogue *catalogue)
{
	return catalogue_mark(catalogue, UNWIND_END_ROOT);
}

uint32_t catalogue_words(struct catalogue *catalogue, const char *words, const char *place)
{
	uint32_t frame = film_mark_at(catalogue->film, words, place);

	is_new(catalogue, frame);
	return frame;
}

void catalogue_image_gone(struct catalogue *catalogue, const struct image *image)
{
	names_image_gone(catalogue->names, image);
	if (image->number < catalogue->images.count)
		catalogue->images.at[image->number] = 0;
}
