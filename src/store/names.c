// SPDX-License-Identifier: Apache-2.0
#include "store/names.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/database.h"
#include "store/index_private.h"
#include "store/room.h"

#define NAME "names.db"

int store_find_names(struct store *store, struct fail *why)
{
	char path[PATH_MAX];
	int err = store_path_of(store, NAME, path, sizeof(path));

	if (!err && !(store->names = build_names_new(path)))
		err = -ENOMEM;
	return err ? fail_errno(why, err, NULL, "cannot open the store") : 0;
}

struct build_names *store_build_names(struct store *store)
{
	return store->names;
}

/* Clients send them again: the films do not need them. */
static int begin_anew(struct store *store, struct fail *why)
{
	char path[PATH_MAX], to[PATH_MAX];
	int err = store_path_of(store, NAME, path, sizeof(path));

	store_say(store, "%s: it was moved to aside/" NAME ", and another one begins", why->what);
	snprintf(to, sizeof(to), "%.4000s/aside/" NAME, store->path);
	build_names_close(store->names);
	if (!err)
		err = database_move(path, to);
	/* a question may have opened it once more before it was moved */
	build_names_close(store->names);
	return err ? fail_errno(why, err, NULL, "cannot move %s aside", path) : 0;
}

int store_add_names(struct store *store, const struct build_names_build *build,
		    struct build_names_added *added, struct fail *why)
{
	int err;

	if (!store->names)
		return fail(why, -EROFS, NULL, "one film is shown, nothing is kept");
	err = build_names_add(store->names, build, added, why);
	if (err == -EBADMSG && !fseek(build->lines, 0, SEEK_SET) && !begin_anew(store, why))
		err = build_names_add(store->names, build, added, why);
	if (!err && added->dropped)
		store_say(store,
			  "the names of the builds that came first are dropped, for want of room");
	return err;
}

/*
 * Images of the dictionary that a function without a name is of. A byte for each; null: no memory.
 */
static uint8_t *images_of_places(const struct dictionary *d, uint32_t images)
{
	uint32_t functions = dictionary_readable(&d->functions);
	uint8_t *wanted = calloc(images + 1ull, 1);

	for (uint32_t i = 1; wanted && i < functions; i++) {
		const struct dictionary_function *f = dictionary_function_at(d, i);

		if (f->is_place && f->kind == FILM_FRAME_NATIVE && f->image < images)
			wanted[f->image] = 1;
	}
	return wanted;
}

size_t store_unnamed_builds(struct store *store, struct map *tried, struct film_image *to,
			    size_t max)
{
	struct index *index = store_index(store);
	const struct dictionary *d = &index->dictionary;
	uint32_t images = dictionary_readable(&d->images);
	uint8_t *wanted = store->names ? images_of_places(d, images) : NULL;
	size_t count = 0;

	for (uint32_t i = 1; wanted && i < images && count < max; i++) {
		const struct film_image *image = dictionary_image_at(d, i);
		uint64_t key;

		if (!wanted[i] || !image->build_id_size)
			continue;
		key = hash_bytes(image->build_id, image->build_id_size);
		if (map_get(tried, key) || !map_put(tried, key, 1) ||
		    build_names_has(store->names, image))
			continue;
		to[count] = *image;
		to[count++].path = "";
	}
	free(wanted);
	index_free(index);
	return count;
}
