// SPDX-License-Identifier: Apache-2.0
#include "query/places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/labels.h"
#include "query/report.h"

/* What is known of a frame of the film at hand. */
struct found {
	/* plus one, of the function's innermost frame there; 0: it has none there */
	uint32_t label;
	uint64_t self, total;
};

struct finder {
	const struct film *film;
	struct labels labels;
	struct frame_labels of_frames;
	const char *name, *image;
	struct found *frames; /* by frame of the film */
};

static bool is_function(const struct finder *f, const struct label *label)
{
	return !strcmp(label->name, f->name) &&
	       (!f->image || !strcmp(name_of_image(label->image), name_of_image(f->image)));
}

static int find_frames(struct finder *f)
{
	for (uint32_t frame = 1; frame < f->film->frame_count; frame++) {
		uint32_t count;
		const struct label_use *uses = frame_labels_of(&f->of_frames, frame, &count);

		if (!uses)
			return -ENOMEM;
		/* outermost first */
		for (uint32_t i = 0; i < count; i++)
			if (is_function(f, &f->labels.all.at[uses[i].label]))
				f->frames[frame].label = uses[i].label + 1;
	}
	return 0;
}

static int add_weights(struct finder *f, const struct view *view)
{
	/* by path: the innermost frame of the function on it; 0: none */
	uint32_t *innermost = calloc(view->path_count + 1ull, sizeof(*innermost));

	if (!innermost)
		return -ENOMEM;
	for (uint32_t i = 1; i < view->path_count; i++) {
		uint32_t frame = view->paths[i].frame;
		bool is_it = !view_mark(view, frame) && f->frames[frame].label;

		innermost[i] = is_it ? frame : innermost[view->paths[i].parent];
	}
	vec_foreach (&view->weights, weight) {
		uint32_t frame = innermost[weight->stack];

		if (!frame)
			continue;
		f->frames[frame].total += weight->value;
		if (view->paths[weight->stack].frame == frame)
			f->frames[frame].self += weight->value;
	}
	free(innermost);
	return 0;
}

/* The place of that build and line, if there is one. */
static struct place *find(struct places *places, uint64_t key, const struct film_image *image,
			  const struct label *label)
{
	uint64_t *known = map_get(&places->of, key);
	struct place *place = known ? &places->all.at[*known] : NULL;

	if (place && !strcmp(place->image, image->path) && !strcmp(place->file, label->file) &&
	    place->line == label->line && place->build_id_size == image->build_id_size &&
	    !memcmp(place->build_id, image->build_id, image->build_id_size))
		return place;
	return NULL;
}

static bool keep(struct places *places, const struct finder *f, uint32_t frame)
{
	const struct found *found = &f->frames[frame];
	const struct label *label = &f->labels.all.at[found->label - 1];
	const struct film_image *image = &f->film->images[f->film->frames[frame].image];
	uint64_t key = hash_u64(
		hash_bytes(image->path, strlen(image->path)) ^
		hash_u64(hash_bytes(label->file, strlen(label->file)) ^ hash_u64(label->line)) ^
		hash_bytes(image->build_id, image->build_id_size));
	struct place *known = find(places, key, image, label), place;

	if (known) {
		known->self += found->self;
		known->total += found->total;
		return true;
	}
	place = (struct place){
		.image = name_pool_add(&places->names, image->path),
		.build_id_size = image->build_id_size,
		.file = name_pool_add(&places->names, label->file),
		.line = label->line,
		.self = found->self,
		.total = found->total,
	};

	memcpy(place.build_id, image->build_id, sizeof(place.build_id));
	return place.image && place.file && vec_push(&places->all, place) &&
	       map_put(&places->of, key, places->all.count - 1);
}

int places_add(struct places *places, const struct view *view, const struct shape *asked,
	       const char *name, const char *image)
{
	struct shape shape = view_shape(view, asked);
	struct finder f = {
		.film = view->film,
		.labels = {.shape = &shape},
		.name = name,
		.image = image,
	};
	int err = -ENOMEM;

	shape.lines = true;
	f.frames = calloc(view->film->frame_count + 1ull, sizeof(*f.frames));
	if (f.frames)
		err = frame_labels_init(&f.of_frames, &f.labels, view->film);
	if (!err)
		err = find_frames(&f);
	if (!err)
		err = add_weights(&f, view);
	for (uint32_t i = 1; !err && i < view->film->frame_count; i++)
		if (f.frames[i].total && !keep(places, &f, i))
			err = -ENOMEM;
	frame_labels_free(&f.of_frames);
	labels_free(&f.labels);
	free(f.frames);
	return err;
}

static int by_build(const struct place *a, const struct place *b)
{
	int order = strcmp(a->image, b->image);

	if (!order && a->build_id_size != b->build_id_size)
		return a->build_id_size < b->build_id_size ? -1 : 1;
	return order ? order : memcmp(a->build_id, b->build_id, a->build_id_size);
}

static int by_line(const struct place *a, const struct place *b)
{
	int order = strcmp(a->file, b->file);

	return order ? order : (a->line > b->line) - (a->line < b->line);
}

typedef int compare_places(const struct place *a, const struct place *b);

static int in_order(const void *a, const void *b, void *compare)
{
	return (*(compare_places *const *)compare)(a, b);
}

static int largest_first(const void *x, const void *y)
{
	const struct place *a = x, *b = y;

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return by_build(a, b) ? by_build(a, b) : by_line(a, b);
}

/* One entry for those that stand side by side and are the same; returns how many there are then. */
static size_t merge(struct place *at, size_t all, compare_places *compare)
{
	size_t count = 0;

	for (size_t i = 0; i < all; i++) {
		if (count && !compare(&at[count - 1], &at[i])) {
			at[count - 1].self += at[i].self;
			at[count - 1].total += at[i].total;
		} else {
			at[count++] = at[i];
		}
	}
	return count;
}

struct place *places_sum(const struct places *places, enum places_by by, size_t *count)
{
	compare_places *compare = by == PLACES_BY_BUILD ? by_build : by_line;
	size_t all = places->all.count;
	struct place *at = calloc(all + 1, sizeof(*at));

	*count = 0;
	if (!at)
		return NULL;
	for (size_t i = 0; i < all; i++) {
		at[i] = places->all.at[i];
		if (by == PLACES_BY_BUILD) {
			at[i].file = "";
			at[i].line = 0;
		} else {
			at[i].image = "";
			at[i].build_id_size = 0;
		}
	}
	qsort_r(at, all, sizeof(*at), in_order, &compare);
	*count = merge(at, all, compare);
	qsort(at, *count, sizeof(*at), largest_first);
	return at;
}

void places_free(struct places *places)
{
	vec_free(&places->all);
	map_free(&places->of);
	name_pool_free(&places->names);
}
