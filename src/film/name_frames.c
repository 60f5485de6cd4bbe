// SPDX-License-Identifier: Apache-2.0
/* Names of frames that are found after the film was made, for those who look at it now. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "film/load.h"
#include "film/reader.h"

struct namer {
	struct film *film;
	const char *(*find)(void *context, const struct film_image *image, uint64_t address);
	void *context;
	struct map of_place; /* image and place -> function; 0: it has no name */
	struct map of_name;  /* image and name -> function */
	uint32_t room;	     /* of film->functions */
};

static bool is_wanted(const struct film *film, const struct film_frame *frame)
{
	return frame->kind == FILM_FRAME_NATIVE && !frame->function && frame->image &&
	       film->images[frame->image].build_id_size;
}

/* 0: no memory. */
static uint32_t add(struct namer *n, uint32_t image, const char *name)
{
	struct film *film = n->film;
	struct film_function *grown = film->functions;
	const char *text = arena_text(&film->private->texts, name, strlen(name));

	if (film->function_count == n->room) {
		n->room += n->room / 2 + 64;
		grown = realloc(grown, n->room * sizeof(*grown));
		film->functions = grown ? grown : film->functions;
	}
	if (!text || !grown)
		return 0;
	grown[film->function_count] = (struct film_function){image, FILM_FRAME_NATIVE, text};
	return film->function_count++;
}

/* The function of a name, which is made if it is not there; 0: no memory. */
static uint32_t function_of(struct namer *n, uint32_t image, const char *name)
{
	uint64_t key = hash_u64(hash_bytes(name, strlen(name)) ^ hash_u64(image));
	const uint64_t *known = map_get(&n->of_name, key);
	uint32_t function = known ? (uint32_t)*known : 0;

	/* of two that share a hash the later one is made again for each place */
	if (function && !strcmp(n->film->functions[function].name, name))
		return function;
	function = add(n, image, name);
	return function && (known || map_put(&n->of_name, key, function)) ? function : 0;
}

static int name(struct namer *n, struct film_frame *frame)
{
	uint64_t place = frame->start ? frame->start : frame->address;
	uint64_t key = hash_u64(place ^ hash_u64(frame->image));
	const uint64_t *known = map_get(&n->of_place, key);
	const char *found;
	uint32_t function;

	if (!known) {
		found = n->find(n->context, &n->film->images[frame->image], place);
		function = found ? function_of(n, frame->image, found) : 0;
		if ((found && !function) || !map_put(&n->of_place, key, function))
			return -ENOMEM;
	} else {
		function = (uint32_t)*known;
	}
	frame->function = function;
	/* that its beginning was a guess */
	if (function && !strcmp(frame->file, FILM_START_DECODED))
		frame->file = "";
	return 0;
}

int film_name_frames(struct film *film,
		     const char *(*find)(void *context, const struct film_image *image,
					 uint64_t address),
		     void *context)
{
	struct namer n = {.film = film, .find = find, .context = context};
	int err = 0;

	n.room = film->function_count;
	for (uint32_t i = 1; !err && i < film->frame_count; i++)
		if (is_wanted(film, &film->frames[i]))
			err = name(&n, &film->frames[i]);
	map_free(&n.of_place);
	map_free(&n.of_name);
	return err;
}
