// SPDX-License-Identifier: Apache-2.0
#include "query/labels.h"

#include <errno.h>
#include <string.h>

#include "film/frame_kinds.h"

static uint64_t hash_text(const char *s)
{
	return hash_bytes(s, strlen(s));
}

static const char *image_key(const struct labels *labels, const char *path)
{
	return labels->across_films && *path ? name_of_image(path) : path;
}

static bool is_same_build(const struct film_image *a, const struct film_image *b)
{
	if (!a || !b)
		return a == b;
	return a->build_id_size == b->build_id_size &&
	       !memcmp(a->build_id, b->build_id, a->build_id_size);
}

static bool is_same(const struct labels *labels, const struct label *a, const struct label *b)
{
	return a->kind == b->kind && a->line == b->line && !strcmp(a->name, b->name) &&
	       !strcmp(image_key(labels, a->image), image_key(labels, b->image)) &&
	       !strcmp(a->file, b->file) && is_same_build(a->of_image, b->of_image);
}

uint32_t label_intern(struct labels *labels, const struct label *label)
{
	uint64_t hash = hash_text(label->name), *first;
	uint32_t next = 0, id;

	hash = hash_u64(hash ^ hash_text(image_key(labels, label->image)));
	hash = hash_u64(hash ^ hash_text(label->file) ^ ((uint64_t)label->line << 8 | label->kind));
	first = map_get(&labels->by_hash, hash);
	if (first)
		next = (uint32_t)*first;
	for (id = next; id; id = labels->all.at[id - 1].next)
		if (is_same(labels, &labels->all.at[id - 1], label))
			return id - 1;
	if (labels->all.count >= LABEL_NONE - 1 || !vec_push(&labels->all, *label))
		return LABEL_NONE;
	vec_last(&labels->all)->next = next;
	if (!map_put(&labels->by_hash, hash, labels->all.count))
		return LABEL_NONE;
	return (uint32_t)labels->all.count - 1;
}

/* Interns a label whose name does not live yet. */
static uint32_t intern_copy(struct labels *labels, struct label *label)
{
	size_t count = labels->all.count;
	uint32_t id = label_intern(labels, label);
	const char *copy;

	if (id == LABEL_NONE || labels->all.count == count)
		return id;
	copy = name_pool_add(&labels->names, label->name);
	/* an entry is never left with a name that dies: "" stands there when the answer fails */
	labels->all.at[id].name = copy ? copy : "";
	return copy ? id : LABEL_NONE;
}

uint32_t label_intern_name(struct labels *labels, const char *name, unsigned int kind)
{
	return intern_copy(labels,
			   &(struct label){.name = name, .image = "", .kind = kind, .file = ""});
}

void labels_free(struct labels *labels)
{
	vec_free(&labels->all);
	map_free(&labels->by_hash);
	name_pool_free(&labels->names);
}

int frame_labels_init(struct frame_labels *fl, struct labels *labels, const struct film *film)
{
	*fl = (struct frame_labels){.labels = labels, .film = film};
	fl->runs = calloc(film->frame_count + 1ull, sizeof(*fl->runs));
	return fl->runs ? 0 : -ENOMEM;
}

void frame_labels_free(struct frame_labels *fl)
{
	free(fl->runs);
	vec_free(&fl->uses);
}

uint32_t label_of_image(struct labels *labels, const struct film_image *image)
{
	struct label label = {
		.name = name_of_image(image->path),
		.image = image->path,
		.kind = FILM_FRAME_NATIVE,
		.file = "",
	};

	if (image->kind == FILM_IMAGE_KERNEL || image->kind == FILM_IMAGE_MODULE)
		label.kind = FILM_FRAME_KERNEL;
	else if (image->kind == FILM_IMAGE_ANON)
		label.kind = FILM_FRAME_JIT;
	return label_intern(labels, &label);
}

static uint32_t label_of_place(struct frame_labels *fl, const struct film_frame *frame)
{
	const struct film_image *image = &fl->film->images[frame->image];
	char name[256];
	struct label label = {
		.name = name_of_place(fl->film, frame, name, sizeof(name)),
		.image = image->path,
		.of_image = image,
		.kind = frame->kind,
		.file = "",
	};

	return intern_copy(fl->labels, &label);
}

static uint32_t label_of_function(struct frame_labels *fl, uint32_t id, const char *file,
				  uint32_t line)
{
	const struct film_function *function = &fl->film->functions[id];
	/* what a mark has there is a disk */
	bool lines = fl->labels->shape->lines && function->kind != FILM_FRAME_MARK;
	struct label label = {
		.name = function->name,
		.image = fl->film->images[function->image].path,
		.kind = function->kind,
		.file = lines ? file : "",
		.line = lines ? line : 0,
	};

	return label_intern(fl->labels, &label);
}

static bool add_use(struct frame_labels *fl, uint32_t label, bool inlined)
{
	return label != LABEL_NONE && vec_push(&fl->uses, (struct label_use){label, inlined});
}

/*
 * The frame's own function is the innermost one at its address; what it was inlined into follows by
 * depth, and the last of those is the function that was really called.
 */
static bool add_functions(struct frame_labels *fl, uint32_t id)
{
	const struct film_frame *frame = &fl->film->frames[id];
	size_t count = 0, i;
	const struct film_inline *outer = film_inlines_of(fl->film, id, &count);

	for (i = count; i > 0; i--) {
		const struct film_inline *at = &outer[i - 1];
		uint32_t label = label_of_function(fl, at->function, at->file, at->line);

		if (!add_use(fl, label, i < count))
			return false;
		/*
		 * a language's own runtime counts what it has inlined among the calls, and so do
		 * its people
		 */
		if (!fl->labels->shape->inlines && film_frame_kind_of(frame->kind)->has_address)
			return true;
	}
	return add_use(fl, label_of_function(fl, frame->function, frame->file, frame->line),
		       count > 0);
}

const struct label_use *frame_labels_of(struct frame_labels *fl, uint32_t id, uint32_t *count)
{
	const struct film_frame *frame = &fl->film->frames[id];
	struct frame_run *run = &fl->runs[id];
	size_t first = fl->uses.count;
	bool done;

	if (!run->count) {
		if (fl->labels->shape->by_image && frame->kind != FILM_FRAME_MARK &&
		    frame->kind != FILM_FRAME_LABEL)
			done = add_use(fl,
				       label_of_image(fl->labels, &fl->film->images[frame->image]),
				       false);
		else if (*fl->film->functions[frame->function].name)
			done = add_functions(fl, id);
		else
			done = add_use(fl, label_of_place(fl, frame), false);
		if (!done || fl->uses.count > UINT32_MAX)
			return NULL;
		*run = (struct frame_run){(uint32_t)first, (uint32_t)(fl->uses.count - first)};
	}
	*count = run->count;
	return &fl->uses.at[run->first];
}
