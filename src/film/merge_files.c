// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>

#include "film/load.h"
#include "film/merge.h"
#include "film/merging.h"
#include "film/ordered.h"
#include "film/writing.h"

/*
 * If what films have in their tables takes more memory, it is written in the order in which it
 * comes.
 */
#define ORDERED_BYTES (32u << 20)

/* At most that many films, with tables of that many bytes, stay open for the second reading. */
#define OPEN_FILMS 16
#define OPEN_BYTES (4u << 20)

struct part {
	size_t index;
	uint64_t start; /* ns since 1970 */
};

static int by_start(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* The order in which films are to be added. */
static int sort_parts(const char *const *paths, size_t count, struct part *parts, size_t *bad,
		      struct fail *why)
{
	struct film *film;
	int err;

	for (size_t i = 0; i < count; i++) {
		err = film_open_info(paths[i], &film, why);
		if (err) {
			*bad = i;
			return err;
		}
		parts[i] = (struct part){i, film->info.start + (uint64_t)film->info.wall_offset};
		film_free(film);
	}
	qsort(parts, count, sizeof(*parts), by_start);
	return 0;
}

/* A film of which the tables were added, but not its blocks. */
struct begun {
	struct film *film; /* null: it is to be opened again */
	struct merge_maps maps;
};

/* The films in the order in which they are added, and those that are begun. */
struct parts {
	const char *const *paths;
	size_t count;
	struct part *at;
	struct begun *begun;
	size_t begun_count;
	uint64_t open_bytes; /* of the tables of those that are open, */
	uint64_t map_bytes;  /* and of the maps of those that are begun */
};

/* What is wrong with memory or the disk is not the film's fault. */
static bool is_of_film(int err)
{
	return err == -EBADMSG || err == -EINVAL || err == -ERANGE || err == -ENOENT;
}

static void begin_part(struct film_merge *merge, struct parts *parts, struct film *film)
{
	struct begun *begun = &parts->begun[parts->begun_count];
	uint64_t tables = film_tables_of(film);

	begun->maps = merge->ids.maps;
	merge->ids.maps = (struct merge_maps){0};
	parts->map_bytes += merge_maps_bytes(&begun->maps);
	if (parts->begun_count++ < OPEN_FILMS && parts->open_bytes + tables <= OPEN_BYTES) {
		parts->open_bytes += tables;
		begun->film = film;
	} else {
		film_free(film);
	}
}

/* What is kept in memory until all films are begun is as much as may be. */
static bool is_full(const struct film_merge *merge, const struct parts *parts)
{
	return merge->to && film_batch_size(merge->to->batch) + parts->map_bytes >= ORDERED_BYTES;
}

static void order_maps(struct parts *parts, const struct film_ordered *ordered)
{
	for (size_t i = 0; i < parts->begun_count; i++) {
		vec_foreach (&parts->begun[i].maps.frame_of, id)
			*id = ordered->frames[*id];
		vec_foreach (&parts->begun[i].maps.stack_of, id)
			*id = ordered->stacks[*id];
	}
}

/*
 * Adds the tables of all films, and then has them in a better order. If they are too many to be
 * kept in memory, the films that follow are not begun, and nothing is ordered.
 */
static int begin_parts(struct film_merge *merge, struct parts *parts, size_t *bad, struct fail *why)
{
	struct film_ordered ordered = {0};
	int err = 0;

	for (size_t i = 0; !err && i < parts->count && !is_full(merge, parts); i++) {
		struct film *film;

		err = film_open(parts->paths[parts->at[i].index], &film, why);
		if (!err) {
			err = merge_add_tables(merge, film, why);
			begin_part(merge, parts, film);
		}
		if (is_of_film(err))
			*bad = parts->at[i].index;
	}
	if (err || !merge->to)
		return err;
	if (!is_full(merge, parts)) {
		err = film_order(merge->to, &ordered);
		if (err)
			return fail_errno(why, err, NULL, "cannot merge films");
		order_maps(parts, &ordered);
		film_ordered_free(&ordered);
	}
	return merge_commit(merge);
}

/* Adds the blocks of a film of which the tables were added. */
static int end_part(struct film_merge *merge, const char *path, struct begun *begun,
		    struct fail *why)
{
	struct merge_ids *ids = &merge->ids;
	int err = begun->film ? 0 : film_open(path, &begun->film, why);

	if (!err && !merge_maps_fit(&begun->maps, begun->film))
		err = fail(why, -EINVAL, "try again", "%s was changed while it was read", path);
	if (err)
		return err;
	merge_maps_free(&ids->maps);
	ids->maps = begun->maps;
	begun->maps = (struct merge_maps){0};
	merge->why = why;
	err = merge_add_blocks(merge, begun->film);
	film_free(begun->film);
	begun->film = NULL;
	return err;
}

static int add_parts(struct film_merge *merge, struct parts *parts, size_t *bad, struct fail *why)
{
	int err = merge->is_final ? begin_parts(merge, parts, bad, why) : 0;

	for (size_t i = 0; !err && i < parts->count; i++) {
		const char *path = parts->paths[parts->at[i].index];

		err = i < parts->begun_count ? end_part(merge, path, &parts->begun[i], why)
					     : film_merge_add_file(merge, path, why);
		if (is_of_film(err))
			*bad = parts->at[i].index;
	}
	return err;
}

static void parts_free(struct parts *parts)
{
	for (size_t i = 0; i < parts->begun_count; i++) {
		film_free(parts->begun[i].film);
		merge_maps_free(&parts->begun[i].maps);
	}
	free(parts->begun);
	free(parts->at);
}

int film_merge_files(const char *const *paths, size_t count, const char *to, bool is_final,
		     size_t *bad, struct fail *why)
{
	struct parts parts = {.paths = paths, .count = count};
	struct film_merge *merge = NULL;
	int err;

	*bad = count;
	parts.at = calloc(count ? count : 1, sizeof(*parts.at));
	parts.begun = calloc(count ? count : 1, sizeof(*parts.begun));
	if (parts.at && parts.begun)
		err = sort_parts(paths, count, parts.at, bad, why);
	else
		err = fail_errno(why, -ENOMEM, NULL, "cannot merge films");
	if (!err)
		err = film_merge_begin(to, &merge, why);
	if (!err) {
		merge->is_only = count == 1;
		merge->is_final = is_final;
		err = add_parts(merge, &parts, bad, why);
	}
	parts_free(&parts);
	if (err) {
		if (merge)
			film_merge_end(merge, false, NULL);
		return err;
	}
	return film_merge_end(merge, true, why);
}
