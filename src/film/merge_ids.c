// SPDX-License-Identifier: Apache-2.0
#include "film/merge_ids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "film/frame_kinds.h"
#include "film/schema.h"
#include "film/writing.h"

/* Images that differ in nothing but in what lies at some addresses: of JIT code, most of all. */
#define VARIANTS_MAX 4096

static uint64_t hash_text(uint64_t hash, const char *s)
{
	return hash_u64(hash ^ hash_bytes(s, strlen(s)));
}

static const char *keep(struct merge_ids *ids, const char *s)
{
	return arena_text(&ids->texts, s, strlen(s));
}

int merge_ids_init(struct merge_ids *ids, struct film_writer *to)
{
	*ids = (struct merge_ids){.to = to};
	if (vec_push(&ids->events, (struct film_event){0}) &&
	    vec_push(&ids->processes, (struct merged_process){0}) &&
	    vec_push(&ids->threads, (struct merged_thread){0}) &&
	    vec_push(&ids->images, (struct film_image){.path = ""}) && vec_push(&ids->named, true))
		return 0;
	merge_ids_free(ids);
	return -ENOMEM;
}

void merge_maps_free(struct merge_maps *maps)
{
	vec_free(&maps->event_of);
	vec_free(&maps->process_of);
	vec_free(&maps->thread_of);
	vec_free(&maps->image_of);
	vec_free(&maps->frame_of);
	vec_free(&maps->stack_of);
}

size_t merge_maps_bytes(const struct merge_maps *maps)
{
	return sizeof(uint32_t) *
	       (maps->event_of.count + maps->process_of.count + maps->thread_of.count +
		maps->image_of.count + maps->frame_of.count + maps->stack_of.count);
}

bool merge_maps_fit(const struct merge_maps *maps, const struct film *film)
{
	return maps->event_of.count == film->event_count &&
	       maps->process_of.count == film->process_count &&
	       maps->thread_of.count == film->thread_count &&
	       maps->image_of.count == film->image_count &&
	       maps->frame_of.count == film->frame_count &&
	       maps->stack_of.count == film->stack_count;
}

void merge_ids_free(struct merge_ids *ids)
{
	arena_free(&ids->texts);
	vec_free(&ids->events);
	vec_free(&ids->processes);
	vec_free(&ids->threads);
	vec_free(&ids->images);
	vec_free(&ids->named);
	intern_free(&ids->process_index);
	intern_free(&ids->thread_index);
	intern_free(&ids->image_index);
	map_free(&ids->frames);
	map_free(&ids->variants);
	merge_maps_free(&ids->maps);
}

const uint32_t *merge_ids_of(const struct merge_ids *ids, enum layout_table table)
{
	switch (table) {
	case LAYOUT_THREAD:
		return ids->maps.thread_of.at;
	case LAYOUT_STACK:
		return ids->maps.stack_of.at;
	case LAYOUT_FRAME:
		return ids->maps.frame_of.at;
	case LAYOUT_IMAGE:
		return ids->maps.image_of.at;
	default:
		return NULL;
	}
}

/* Of what happened before the clock began, the time is not known. */
static uint64_t shifted_or_none(const struct merge_ids *ids, uint64_t time)
{
	uint64_t shifted;

	return time && merge_time(ids, time, &shifted) ? shifted : 0;
}

static int map_event(struct merge_ids *ids, uint32_t i)
{
	struct film_event event = ids->from->events[i];
	uint32_t id;

	for (id = 1; id < ids->events.count; id++) {
		if (!strcmp(ids->events.at[id].name, event.name) &&
		    !strcmp(ids->events.at[id].unit, event.unit))
			break;
	}
	if (id == ids->events.count) {
		id = film_add_event(ids->to, &event);
		event.name = keep(ids, event.name);
		event.unit = keep(ids, event.unit);
		event.source = "";
		if (!event.name || !event.unit || (id && !vec_push(&ids->events, event)))
			return -ENOMEM;
	}
	ids->maps.event_of.at[i] = id;
	return 0;
}

/* After exec() a process is another one, with the same number and start. */
static uint64_t hash_process(const struct film_process *p, uint32_t boot)
{
	uint64_t hash = hash_text(hash_u64((uint64_t)p->pid << 32 | boot), p->exe);

	return hash_text(hash_text(hash, p->command), p->cgroup);
}

static bool same_process(const struct merged_process *known, const struct film_process *p,
			 uint32_t boot)
{
	return known->boot == boot && known->row.pid == p->pid &&
	       film_same_start(known->started, p->start) && !strcmp(known->row.exe, p->exe) &&
	       !strcmp(known->row.command, p->command) && !strcmp(known->row.cgroup, p->cgroup) &&
	       !strcmp(known->row.container, p->container);
}

static int add_process(struct merge_ids *ids, const struct film_process *p, uint64_t hash,
		       uint32_t *id)
{
	struct merged_process merged = {*p, p->start, ids->boot, ids->film};
	struct film_process *row = &merged.row;

	row->start = shifted_or_none(ids, p->start);
	row->end = shifted_or_none(ids, p->end);
	row->comm = keep(ids, p->comm);
	row->command = keep(ids, p->command);
	row->exe = keep(ids, p->exe);
	row->cgroup = keep(ids, p->cgroup);
	row->container = keep(ids, p->container);
	row->user = keep(ids, p->user);
	row->resource = keep(ids, p->resource);
	if (!row->comm || !row->command || !row->exe || !row->cgroup || !row->container ||
	    !row->user || !row->resource)
		return -ENOMEM;
	*id = film_add_process(ids->to, row);
	if (*id &&
	    (!vec_push(&ids->processes, merged) || !intern_add(&ids->process_index, hash, *id)))
		return -ENOMEM;
	return 0;
}

/* What a later film says of a process that is known. */
static int update_process(struct merge_ids *ids, uint32_t id, const struct film_process *p)
{
	struct film_process *row = &ids->processes.at[id].row;
	bool ended = p->end && !row->end, renamed = strcmp(row->comm, p->comm);
	/* a film of an earlier version does not know it */
	bool has_user = *p->user && !*row->user, has_resource = *p->resource && !*row->resource;

	if (!ended && !renamed && !has_user && !has_resource)
		return 0;
	if (ended)
		row->end = shifted_or_none(ids, p->end);
	if (renamed)
		row->comm = keep(ids, p->comm);
	if (has_user)
		row->user = keep(ids, p->user);
	if (has_resource)
		row->resource = keep(ids, p->resource);
	if (!row->comm || !row->user || !row->resource)
		return -ENOMEM;
	film_set_process(ids->to, id, row);
	return 0;
}

/*
 * A process that has executed its own file again is a row for each time, as it may run another
 * build: the first row of a film goes on with the last one that is known. What is known of no
 * file is one row.
 */
static int map_process(struct merge_ids *ids, uint32_t i)
{
	const struct film_process *p = &ids->from->processes[i];
	uint64_t hash = hash_process(p, ids->boot);
	size_t at = intern_start(&ids->process_index, hash);
	uint32_t id, last = 0;

	while ((id = intern_next(&ids->process_index, hash, &at)))
		if (id > last && same_process(&ids->processes.at[id], p, ids->boot))
			last = id;
	if (!last || (*p->exe && ids->processes.at[last].film == ids->film))
		return add_process(ids, p, hash, &ids->maps.process_of.at[i]);
	ids->processes.at[last].film = ids->film;
	ids->maps.process_of.at[i] = last;
	return update_process(ids, last, p);
}

/*
 * A film that knows a thread as a waker or a holder only has its start to a tick, or not at all.
 * Then the name has to be the same, too: goroutines have rows like threads.
 */
static bool same_thread(const struct merged_thread *known, const struct film_thread *t)
{
	if (known->row.tid != t->tid)
		return false;
	if (known->started == t->start)
		return true;
	return (!known->started || !t->start || film_same_start(known->started, t->start)) &&
	       !strcmp(known->row.comm, t->comm);
}

static int map_thread(struct merge_ids *ids, uint32_t i)
{
	const struct film_thread *t = &ids->from->threads[i];
	uint32_t process = ids->maps.process_of.at[t->process], id;
	uint64_t hash = hash_u64((uint64_t)process << 32 | t->tid) + ids->boot;
	size_t at = intern_start(&ids->thread_index, hash);
	struct merged_thread merged = {*t, t->start, ids->boot}, *known;

	while ((id = intern_next(&ids->thread_index, hash, &at))) {
		known = &ids->threads.at[id];
		if (known->boot != ids->boot || known->row.process != process ||
		    !same_thread(known, t))
			continue;
		ids->maps.thread_of.at[i] = id;
		if (!strcmp(known->row.comm, t->comm))
			return 0;
		known->row.comm = keep(ids, t->comm);
		if (!known->row.comm)
			return -ENOMEM;
		film_set_thread(ids->to, id, &known->row);
		return 0;
	}
	merged.row.process = process;
	merged.row.start = shifted_or_none(ids, t->start);
	merged.row.comm = keep(ids, t->comm);
	if (!merged.row.comm)
		return -ENOMEM;
	id = film_add_thread(ids->to, &merged.row);
	ids->maps.thread_of.at[i] = id;
	if (id && (!vec_push(&ids->threads, merged) || !intern_add(&ids->thread_index, hash, id)))
		return -ENOMEM;
	return 0;
}

static int add_image(struct merge_ids *ids, struct film_image image, uint32_t *id)
{
	*id = film_add_image(ids->to, &image);
	image.path = keep(ids, image.path);
	if (!image.path || (*id && !vec_push(&ids->images, image)))
		return -ENOMEM;
	return 0;
}

static int map_image(struct merge_ids *ids, uint32_t i)
{
	const struct film_image *image = &ids->from->images[i];
	uint64_t hash = hash_text(hash_u64((uint64_t)image->kind) ^
					  hash_bytes(image->build_id, image->build_id_size),
				  image->path);
	size_t at = intern_start(&ids->image_index, hash);
	uint32_t id;

	while ((id = intern_next(&ids->image_index, hash, &at))) {
		const struct film_image *known = &ids->images.at[id];

		if (known->kind == image->kind && known->build_id_size == image->build_id_size &&
		    !memcmp(known->build_id, image->build_id, image->build_id_size) &&
		    !strcmp(known->path, image->path)) {
			ids->maps.image_of.at[i] = id;
			return 0;
		}
	}
	if (add_image(ids, *image, &id))
		return -ENOMEM;
	ids->maps.image_of.at[i] = id;
	return !id || intern_add(&ids->image_index, hash, id) ? 0 : -ENOMEM;
}

/*
 * An image like that one, for code that lies where the image has other code. 0: there are too many.
 */
static int variant_of(struct merge_ids *ids, uint32_t image, uint32_t number, uint32_t *variant)
{
	uint64_t key = (uint64_t)image << 32 | number;
	const uint64_t *known = map_get(&ids->variants, key);

	*variant = number ? 0 : image;
	if (!number || number > VARIANTS_MAX)
		return 0;
	if (known) {
		*variant = (uint32_t)*known;
		return 0;
	}
	if (add_image(ids, ids->images.at[image], variant))
		return -ENOMEM;
	return !*variant || map_put(&ids->variants, key, *variant) ? 0 : -ENOMEM;
}

struct frame_names {
	struct film_name at[FILM_DEPTH_MAX + 1];
	size_t count;
	uint64_t hash; /* 0: it has none */
};

static void add_name(const struct film *film, struct frame_names *names, uint32_t function,
		     const char *file, uint32_t line)
{
	const char *name = film->functions[function].name;

	names->at[names->count++] = (struct film_name){name, file, line};
	names->hash = hash_text(hash_text(names->hash + names->count, name), file) + line;
}

static void read_names(const struct film *film, uint32_t i, struct frame_names *names)
{
	const struct film_frame *frame = &film->frames[i];
	const struct film_inline *inlines;
	size_t count, n;

	names->count = 0;
	names->hash = 0;
	if (!frame->function && !*frame->file)
		return;
	add_name(film, names, frame->function, frame->file, frame->line);
	inlines = film_inlines_of(film, i, &count);
	for (n = 0; n < count && names->count <= FILM_DEPTH_MAX; n++)
		add_name(film, names, inlines[n].function, inlines[n].file, inlines[n].line);
}

/*
 * What a frame is. In an image with a build id, a place; else, as the file may be another one by
 * the same name, a place and what is called so; of the frames of runtimes, whose addresses are just
 * numbers, only that.
 */
static uint64_t hash_frame(const struct merge_ids *ids, const struct film_frame *frame,
			   uint32_t image, const struct frame_names *names)
{
	uint64_t hash = hash_u64((uint64_t)image << 8 | (uint64_t)frame->kind);

	if (film_frame_kind_of(frame->kind)->has_address) {
		hash = hash_u64(hash ^ frame->address);
		return ids->images.at[image].build_id_size ? hash : hash_u64(hash ^ names->hash);
	}
	if (names->hash)
		return hash_u64(hash ^ names->hash);
	return hash_u64(hash_u64(hash ^ frame->address) + ids->film);
}

/* A frame that the film does not have yet. *id 0: there is no room. */
static int add_frame(struct merge_ids *ids, const struct film_frame *frame, uint32_t image,
		     uint32_t *id)
{
	uint32_t number, variant;

	if (!film_frame_kind_of(frame->kind)->has_address) {
		*id = film_frame(ids->to, image, frame->kind, ++ids->last_place);
		return !*id || vec_push(&ids->named, false) ? 0 : -ENOMEM;
	}
	for (number = 0; number <= VARIANTS_MAX; number++) {
		if (variant_of(ids, image, number, &variant))
			return -ENOMEM;
		if (number && !variant)
			break;
		*id = film_frame(ids->to, variant, frame->kind, frame->address);
		if (!*id)
			return 0;
		if (*id == ids->named.count)
			return vec_push(&ids->named, false) ? 0 : -ENOMEM;
	}
	*id = 0;
	ids->refused++;
	return 0;
}

static int map_mark(struct merge_ids *ids, uint32_t i)
{
	const struct film_frame *frame = &ids->from->frames[i];
	const char *name = ids->from->functions[frame->function].name;
	uint32_t id = film_mark_at(ids->to, *name ? name : "[mark]", frame->file);

	ids->maps.frame_of.at[i] = id;
	return ids->to->all_is_new || id != ids->named.count || vec_push(&ids->named, true)
		       ? 0
		       : -ENOMEM;
}

static void copy_frame(struct merge_ids *ids, uint32_t i, const struct frame_names *names)
{
	const struct film_frame *frame = &ids->from->frames[i];
	uint32_t image = ids->maps.image_of.at[frame->image];
	uint32_t id = film_frame(ids->to, image, frame->kind, frame->address);

	ids->maps.frame_of.at[i] = id;
	if (id && names->hash)
		film_name_frame(ids->to, id, names->at, names->count);
	if (id && frame->start && film_frame_kind_of(frame->kind)->has_address)
		film_start_frame(ids->to, id, frame->address, frame->start);
}

static int map_frame(struct merge_ids *ids, uint32_t i, struct frame_names *names)
{
	const struct film_frame *frame = &ids->from->frames[i];
	uint32_t image = ids->maps.image_of.at[frame->image], id;
	const uint64_t *known;
	uint64_t hash;

	if (frame->kind == FILM_FRAME_MARK)
		return map_mark(ids, i);
	read_names(ids->from, i, names);
	if (ids->to->all_is_new) {
		copy_frame(ids, i, names);
		return 0;
	}
	hash = hash_frame(ids, frame, image, names);
	known = map_get(&ids->frames, hash);
	id = known ? (uint32_t)*known : 0;
	if (!id && add_frame(ids, frame, image, &id))
		return -ENOMEM;
	ids->maps.frame_of.at[i] = id;
	if (!id)
		return 0;
	if (!known && !map_put(&ids->frames, hash, id))
		return -ENOMEM;
	if (!ids->named.at[id] && names->hash) {
		film_name_frame(ids->to, id, names->at, names->count);
		ids->named.at[id] = true;
	}
	if (!known && frame->start && film_frame_kind_of(frame->kind)->has_address)
		film_start_frame(ids->to, id, frame->address, frame->start);
	return 0;
}

static void map_stack(struct merge_ids *ids, uint32_t i)
{
	const struct film_stack *stack = &ids->from->stacks[i];
	uint32_t parent = ids->maps.stack_of.at[stack->parent];

	/* where the film is full, the frames nearer to the leaf are lost with those at the root */
	ids->maps.stack_of.at[i] =
		stack->parent && !parent
			? 0
			: film_stack(ids->to, parent, ids->maps.frame_of.at[stack->frame],
				     stack->how);
}

/* As many entries as the film has; that of id 0 is 0. */
#define make_room(table, n) \
	(vec_reserve(&(table), (n)) && ((table).count = (n), (table).at[0] = 0, true))

static bool make_tables(struct merge_ids *ids)
{
	const struct film *from = ids->from;

	return make_room(ids->maps.event_of, from->event_count) &&
	       make_room(ids->maps.process_of, from->process_count) &&
	       make_room(ids->maps.thread_of, from->thread_count) &&
	       make_room(ids->maps.image_of, from->image_count) &&
	       make_room(ids->maps.frame_of, from->frame_count) &&
	       make_room(ids->maps.stack_of, from->stack_count);
}

int merge_ids_add(struct merge_ids *ids, struct film *from, int64_t shift, uint32_t boot)
{
	struct frame_names *names = malloc(sizeof(*names));
	int err = names ? 0 : -ENOMEM;
	uint32_t i;

	ids->from = from;
	ids->maps.shift = shift;
	ids->boot = boot;
	ids->film++;
	if (!err && !make_tables(ids))
		err = -ENOMEM;
	for (i = 1; !err && i < from->event_count; i++)
		err = map_event(ids, i);
	for (i = 1; !err && i < from->process_count; i++)
		err = map_process(ids, i);
	for (i = 1; !err && i < from->thread_count; i++)
		err = map_thread(ids, i);
	for (i = 1; !err && i < from->image_count; i++)
		err = map_image(ids, i);
	for (i = 1; !err && i < from->frame_count; i++)
		err = map_frame(ids, i, names);
	for (i = 1; !err && i < from->stack_count; i++)
		map_stack(ids, i);
	free(names);
	return err;
}
