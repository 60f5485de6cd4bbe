// SPDX-License-Identifier: Apache-2.0
#include "store/dictionary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/names.h"
#include "query/tree.h"

#define TEXT_BLOCK (64 << 10)

static int table_init(struct dictionary_table *t, size_t size, uint32_t max)
{
	*t = (struct dictionary_table){.size = size, .max = max};
	/* one more stays null */
	t->pieces = calloc(max / PIECE + 1ull, sizeof(*t->pieces));
	return t->pieces ? 0 : -ENOMEM;
}

static void table_free(struct dictionary_table *t)
{
	for (uint32_t i = 0; t->pieces && t->pieces[i]; i++)
		free(t->pieces[i]);
	free(t->pieces);
}

/* Room for one more; null: no memory, or the table is full. */
static void *table_push(struct dictionary_table *t)
{
	uint32_t piece = t->count >> PIECE_BITS;

	if (t->count == t->max)
		return NULL;
	if (!t->pieces[piece]) {
		t->pieces[piece] = calloc(PIECE, t->size);
		if (!t->pieces[piece])
			return NULL;
	}
	return dictionary_at(t, t->count++);
}

static const char *text_store(struct dictionary *d, const char *text, size_t length)
{
	char *to;

	if (d->text_bytes + length > DICTIONARY_TEXT_MAX)
		return NULL;
	if (!d->blocks.count || d->block_size - d->block_used < length + 1) {
		size_t size = length + 1 > TEXT_BLOCK ? length + 1 : TEXT_BLOCK;
		char *block = malloc(size);

		if (!block || !vec_push(&d->blocks, block)) {
			free(block);
			return NULL;
		}
		d->block_used = 0;
		d->block_size = size;
	}
	to = *vec_last(&d->blocks) + d->block_used;
	memcpy(to, text, length);
	to[length] = 0;
	d->block_used += length + 1;
	d->text_bytes += length;
	return to;
}

/* Names are hostile, and two of one hash can be made: the next key is tried then. */
static uint64_t next_key(uint64_t key)
{
	return hash_u64(key + 1);
}

const char *dictionary_text(struct dictionary *d, const char *text, size_t length)
{
	uint64_t key = hash_bytes(text, length), *known;
	const char *copy;

	for (; (known = map_get(&d->by_text, key)); key = next_key(key)) {
		copy = d->texts.at[*known - 1];
		if (!strncmp(copy, text, length) && !copy[length])
			return copy;
	}
	copy = text_store(d, text, length);
	if (copy && (!vec_push(&d->texts, copy) || !map_put(&d->by_text, key, d->texts.count)))
		return NULL;
	return copy;
}

static const char *text_of(struct dictionary *d, const char *text)
{
	return dictionary_text(d, text, strlen(text));
}

/* Keys of the maps. */
static uint64_t mix(uint64_t hash, uint64_t more)
{
	return hash_u64(hash * 0x9e3779b97f4a7c15ull + more);
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
	return mix(hash, hash_bytes(text, strlen(text)));
}

static bool is_same_build(const struct film_image *a, const struct film_image *b)
{
	return a->build_id_size == b->build_id_size &&
	       !memcmp(a->build_id, b->build_id, a->build_id_size);
}

static uint64_t build_hash(const struct film_image *image)
{
	return hash_bytes(image->build_id, image->build_id_size);
}

/* The map's value for an image, and in *key where it is to be put if there is none. */
static uint64_t *find_image(const struct dictionary *d, const struct film_image *image,
			    uint64_t *key)
{
	uint64_t *known;

	*key = mix(mix_text(image->kind, image->path), build_hash(image));
	for (; (known = map_get(&d->by_image, *key)); *key = next_key(*key)) {
		const struct film_image *at = dictionary_image_at(d, (uint32_t)*known);

		if (at->kind == image->kind && !strcmp(at->path, image->path) &&
		    is_same_build(at, image))
			break;
	}
	return known;
}

/* Across films an image is known by the last part of its path (query/labels.h). */
static const char *image_name(const struct film_image *image)
{
	return *image->path ? name_of_image(image->path) : "";
}

/* Places without a name differ by the build, too. */
static uint64_t *find_function(const struct dictionary *d, const struct dictionary_function *f,
			       uint64_t *key)
{
	const struct film_image *image = dictionary_image_at(d, f->image);
	uint64_t *known;

	*key = mix_text(mix_text(f->kind, f->name), image_name(image));
	if (f->is_place)
		*key = mix(*key, 1 + build_hash(image));
	for (; (known = map_get(&d->by_function, *key)); *key = next_key(*key)) {
		const struct dictionary_function *at = dictionary_function_at(d, (uint32_t)*known);
		const struct film_image *of = dictionary_image_at(d, at->image);

		if (at->kind == f->kind && at->is_place == f->is_place &&
		    !strcmp(at->name, f->name) && !strcmp(image_name(of), image_name(image)) &&
		    (!f->is_place || is_same_build(of, image)))
			break;
	}
	return known;
}

/* There are many: 8 bytes for each. 0: there is none. */
static uint32_t find_path(const struct dictionary *d, uint32_t parent, uint32_t function,
			  uint8_t flags, uint64_t *hash)
{
	size_t at;
	uint32_t id;

	*hash = mix((uint64_t)parent << 32 | function, flags);
	at = intern_start(&d->by_path, *hash);
	while ((id = intern_next(&d->by_path, *hash, &at))) {
		const struct dictionary_path *path = dictionary_path_at(d, id);

		if (path->parent == parent && path->function == function && path->flags == flags)
			break;
	}
	return id;
}

static uint64_t *find_series(const struct dictionary *d, const struct dictionary_series *s,
			     uint64_t *key)
{
	uint64_t *known;

	*key = mix_text(mix_text(mix_text(mix_text(3, s->host), s->service), s->version),
			s->labels);
	for (; (known = map_get(&d->by_series, *key)); *key = next_key(*key)) {
		const struct dictionary_series *at = dictionary_series_at(d, (uint32_t)*known);

		if (!strcmp(at->host, s->host) && !strcmp(at->service, s->service) &&
		    !strcmp(at->version, s->version) && !strcmp(at->labels, s->labels))
			break;
	}
	return known;
}

static uint64_t *find_group(const struct dictionary *d, const char *service, uint64_t *key)
{
	uint64_t *known;

	*key = mix_text(5, service);
	for (; (known = map_get(&d->by_group, *key)); *key = next_key(*key))
		if (!strcmp(dictionary_series_at(d, (uint32_t)*known)->service, service))
			break;
	return known;
}

/* A writer finds entries by their content; code that only reads needs none of these maps. */
static bool make_maps(struct dictionary *d)
{
	bool done = true;
	uint64_t key;

	if (d->can_find)
		return true;
	for (uint32_t i = 1; done && i < d->images.count; i++)
		done = find_image(d, dictionary_image_at(d, i), &key) ||
		       map_put(&d->by_image, key, i);
	for (uint32_t i = 1; done && i < d->functions.count; i++)
		done = find_function(d, dictionary_function_at(d, i), &key) ||
		       map_put(&d->by_function, key, i);
	for (uint32_t i = 1; done && i < d->paths.count; i++) {
		const struct dictionary_path *p = dictionary_path_at(d, i);

		done = find_path(d, p->parent, p->function, p->flags, &key) ||
		       intern_add(&d->by_path, key, i);
	}
	d->can_find = done;
	return done;
}

uint32_t dictionary_image(struct dictionary *d, const struct film_image *image)
{
	struct film_image copy = *image, *to;
	uint64_t key, *known;

	if (!make_maps(d))
		return 0;
	known = find_image(d, image, &key);
	if (known)
		return (uint32_t)*known;
	copy.path = text_of(d, image->path);
	to = copy.path ? table_push(&d->images) : NULL;
	if (!to)
		return 0;
	*to = copy;
	return map_put(&d->by_image, key, d->images.count - 1) ? d->images.count - 1 : 0;
}

uint32_t dictionary_function(struct dictionary *d, const struct dictionary_function *function)
{
	struct dictionary_function copy = *function, *to;
	uint64_t key, *known;

	if (!make_maps(d))
		return 0;
	known = find_function(d, function, &key);
	if (known)
		return (uint32_t)*known;
	copy.name = text_of(d, function->name);
	to = copy.name ? table_push(&d->functions) : NULL;
	if (!to)
		return 0;
	*to = copy;
	return map_put(&d->by_function, key, d->functions.count - 1) ? d->functions.count - 1 : 0;
}

static uint32_t path_push(struct dictionary *d, const struct dictionary_path *path)
{
	struct dictionary_path *to = table_push(&d->paths);

	if (!to)
		return 0;
	*to = *path;
	return d->paths.count - 1;
}

/* What follows from the parent and the function alone. */
static bool is_cut(const struct dictionary *d, uint32_t parent, uint32_t function)
{
	const struct dictionary_function *f = dictionary_function_at(d, function);
	size_t length;

	if (parent)
		return dictionary_path_at(d, parent)->is_truncated;
	return f->kind == FILM_FRAME_MARK && name_truncation(f->name, &length);
}

uint32_t dictionary_path(struct dictionary *d, uint32_t parent, uint32_t function, uint8_t flags)
{
	struct dictionary_path path = {.parent = parent, .function = function, .flags = flags};
	const struct dictionary_path *above = dictionary_path_at(d, parent);
	uint64_t hash;
	uint32_t id;

	if (!make_maps(d))
		return 0;
	id = find_path(d, parent, function, flags, &hash);
	if (id)
		return id;
	path.depth = above->depth + 1;
	path.is_truncated = is_cut(d, parent, function);
	if (flags || above->plain != parent) {
		/* all above a plain path is plain, so this goes no deeper */
		path.plain = dictionary_path(d, above->plain, function, 0);
		if (!path.plain)
			return 0;
	}
	id = path_push(d, &path);
	if (id && !path.plain)
		dictionary_path_at(d, id)->plain = id;
	return id && intern_add(&d->by_path, hash, id) ? id : 0;
}

static bool series_maps(struct dictionary *d, uint32_t id)
{
	struct dictionary_series *s = dictionary_series_at(d, id);
	uint64_t key, *first = find_group(d, s->service, &key);

	s->group = first ? (uint32_t)*first : id;
	if (!first && !map_put(&d->by_group, key, id))
		return false;
	return find_series(d, s, &key) || map_put(&d->by_series, key, id);
}

uint32_t dictionary_series(struct dictionary *d, const struct dictionary_series *series)
{
	struct dictionary_series copy = *series, *to;
	uint64_t key, *known = find_series(d, series, &key);

	if (known)
		return (uint32_t)*known;
	copy.host = text_of(d, series->host);
	copy.service = text_of(d, series->service);
	copy.version = text_of(d, series->version);
	copy.labels = text_of(d, series->labels);
	if (!copy.host || !copy.service || !copy.version || !copy.labels)
		return 0;
	to = table_push(&d->series);
	if (!to)
		return 0;
	*to = copy;
	return series_maps(d, d->series.count - 1) ? d->series.count - 1 : 0;
}

int dictionary_load_image(struct dictionary *d, const struct film_image *image)
{
	struct film_image copy = *image, *to;

	copy.path = text_of(d, image->path);
	to = copy.path ? table_push(&d->images) : NULL;
	if (!to)
		return d->images.count == d->images.max ? -EBADMSG : -ENOMEM;
	*to = copy;
	return 0;
}

int dictionary_load_function(struct dictionary *d, const struct dictionary_function *function,
			     const char *name, size_t length)
{
	struct dictionary_function copy = *function, *to;

	if (function->image >= d->images.count || memchr(name, 0, length))
		return -EBADMSG;
	copy.name = text_store(d, name, length);
	to = copy.name ? table_push(&d->functions) : NULL;
	if (!to)
		return d->functions.count == d->functions.max ? -EBADMSG : -ENOMEM;
	*to = copy;
	return 0;
}

int dictionary_load_path(struct dictionary *d, const struct dictionary_path *path)
{
	const struct dictionary_path *above, *like;
	struct dictionary_path copy = *path;
	uint32_t id = d->paths.count;

	if (path->parent >= id || path->plain > id || !path->plain || !path->function ||
	    path->function >= d->functions.count)
		return -EBADMSG;
	/* what is plain has only plain ones above; what is not has its like among them */
	above = dictionary_path_at(d, path->parent);
	like = path->plain == id ? path : dictionary_path_at(d, path->plain);
	if (like->plain != path->plain || like->parent != above->plain ||
	    like->function != path->function || (path->plain == id && path->flags))
		return -EBADMSG;
	copy.depth = above->depth + 1;
	if (copy.depth > TREE_DEPTH_MAX)
		return -EBADMSG;
	copy.is_truncated = is_cut(d, path->parent, path->function);
	if (!path_push(d, &copy))
		return d->paths.count == d->paths.max ? -EBADMSG : -ENOMEM;
	return 0;
}

int dictionary_load_series(struct dictionary *d, const struct dictionary_series *series)
{
	uint32_t count = d->series.count, id = dictionary_series(d, series);

	if (id)
		return id == count ? 0 : -EBADMSG;
	return count == d->series.max ? -EBADMSG : -ENOMEM;
}

void dictionary_publish(struct dictionary *d)
{
	struct dictionary_table *tables[] = {&d->images, &d->functions, &d->paths, &d->series};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		atomic_store_explicit(&tables[i]->readable, tables[i]->count, memory_order_release);
}

struct dictionary_counts dictionary_counts(const struct dictionary *d)
{
	return (struct dictionary_counts){d->images.count, d->functions.count, d->paths.count,
					  d->series.count};
}

/* It hardly ever happens, so the maps are just made again. */
int dictionary_roll_back(struct dictionary *d, const struct dictionary_counts *to)
{
	d->images.count = to->images;
	d->functions.count = to->functions;
	d->paths.count = to->paths;
	d->series.count = to->series;
	dictionary_publish(d);
	map_free(&d->by_image);
	map_free(&d->by_function);
	intern_free(&d->by_path);
	map_free(&d->by_series);
	map_free(&d->by_group);
	d->can_find = false;
	for (uint32_t i = 1; i < d->series.count; i++)
		if (!series_maps(d, i))
			return -ENOMEM;
	return 0;
}

int dictionary_init(struct dictionary *d)
{
	*d = (struct dictionary){0};
	if (table_init(&d->images, sizeof(struct film_image), DICTIONARY_IMAGES_MAX) ||
	    table_init(&d->functions, sizeof(struct dictionary_function),
		       DICTIONARY_FUNCTIONS_MAX) ||
	    table_init(&d->paths, sizeof(struct dictionary_path), DICTIONARY_PATHS_MAX) ||
	    table_init(&d->series, sizeof(struct dictionary_series), DICTIONARY_SERIES_MAX))
		return -ENOMEM;
	if (!table_push(&d->images) || !table_push(&d->functions) || !table_push(&d->paths) ||
	    !table_push(&d->series))
		return -ENOMEM;
	dictionary_image_at(d, 0)->path = "";
	dictionary_function_at(d, 0)->name = "";
	return 0;
}

void dictionary_free(struct dictionary *d)
{
	table_free(&d->images);
	table_free(&d->functions);
	table_free(&d->paths);
	table_free(&d->series);
	map_free(&d->by_image);
	map_free(&d->by_function);
	intern_free(&d->by_path);
	map_free(&d->by_series);
	map_free(&d->by_group);
	map_free(&d->by_text);
	vec_free(&d->texts);
	vec_foreach (&d->blocks, block)
		free(*block);
	vec_free(&d->blocks);
}
