// SPDX-License-Identifier: Apache-2.0
#include "sources/inspect/film.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sources/source.h"
#include "resolve/value_rows.h"

/* What is open on a thread, or on a goroutine, whichever threads that has run on. */
struct track {
	uint64_t who;	    /* key in tracks_of */
	uint32_t thread;    /* of the film */
	vec(uint64_t) open; /* keys, the outermost first */
	uint32_t next_free; /* + 1; of a track without open calls */
};

/* Of the film; 0: not there yet. */
struct ids {
	vec(uint32_t) all;
};

struct inspect_film {
	struct inspect *inspect;
	struct samples *samples;
	struct film_writer *to;
	uint32_t event;
	struct ids images; /* by image of the plan */
	struct ids frames; /* by function */
	vec(struct track) tracks;
	struct map tracks_of; /* place, + 1 */
	uint32_t free_track;  /* + 1 */
	uint64_t lost;
};

int inspect_film_new(struct inspect *inspect, const struct source_host *host, uint32_t event,
		     struct inspect_film **film)
{
	*film = calloc(1, sizeof(**film));
	if (!*film)
		return -ENOMEM;
	(*film)->inspect = inspect;
	(*film)->samples = host->samples;
	(*film)->to = host->film;
	(*film)->event = event;
	return 0;
}

void inspect_film_free(struct inspect_film *film)
{
	if (!film)
		return;
	vec_foreach (&film->tracks, track)
		vec_free(&track->open);
	vec_free(&film->tracks);
	map_free(&film->tracks_of);
	vec_free(&film->images.all);
	vec_free(&film->frames.all);
	free(film);
}

uint64_t inspect_film_lost(const struct inspect_film *film)
{
	return film ? film->lost : 0;
}

/* -- functions --------------------------------------------------------------------------------- */

/* The id that an index of a list has; new ones are 0. Null: no memory. */
static uint32_t *id_at(struct ids *ids, uint32_t index)
{
	while (ids->all.count <= index)
		if (!vec_push(&ids->all, 0))
			return NULL;
	return &ids->all.at[index];
}

static uint32_t image_of(struct inspect_film *film, uint32_t number)
{
	size_t count;
	const struct plan_image *image = &plan_images(film->inspect->plan, &count)[number];
	uint32_t *known = id_at(&film->images, number);
	struct film_image words = {
		.kind = FILM_IMAGE_FILE,
		.path = image->path,
		.build_id_size = image->build_id_size,
	};

	if (!known || *known)
		return known ? *known : 0;
	memcpy(words.build_id, image->build_id, image->build_id_size);
	return *known = film_add_image(film->to, &words);
}

/* "orders.c:120 sum": a line is a place of its own in the film. */
static uint32_t frame_of(struct inspect_film *film, uint32_t number)
{
	const struct inspect_function *f = &film->inspect->functions.at[number];
	uint32_t *known = id_at(&film->frames, number);
	struct film_name name = {.function = f->name};
	char *words = NULL;

	if (!known || *known)
		return known ? *known : 0;
	if (f->site) {
		if (asprintf(&words, "%s %s", f->place->text, f->name) < 0)
			return 0;
		name = (struct film_name){words, f->site->file, f->place->line.number};
	}
	*known = film_frame(film->to, image_of(film, f->image), FILM_FRAME_NATIVE,
			    f->site ? f->site->address : f->probe->address);
	film_name_frame(film->to, *known, &name, 1);
	free(words);
	return *known;
}

/* -- tracks ------------------------------------------------------------------------------------ */

static uint64_t who_of(const struct inspect_record *record)
{
	struct {
		uint64_t goroutine;
		uint32_t pid, tid;
	} who = {record->goroutine, record->identity.pid,
		 record->goroutine ? 0 : record->identity.tid};

	return hash_bytes(&who, sizeof(who));
}

static struct track *track_of(struct inspect_film *film, const struct inspect_record *record)
{
	const uint64_t *place = map_get(&film->tracks_of, who_of(record));

	return place ? &film->tracks.at[*place - 1] : NULL;
}

static struct track *new_track(struct inspect_film *film, const struct inspect_record *record)
{
	uint64_t who = who_of(record);
	uint32_t place = film->free_track;
	struct track *track;

	if (!place && vec_push(&film->tracks, (struct track){0}))
		place = (uint32_t)film->tracks.count;
	if (!place || !map_put(&film->tracks_of, who, place))
		return NULL;
	track = &film->tracks.at[place - 1];
	if (place == film->free_track)
		film->free_track = track->next_free;
	track->who = who;
	track->thread = samples_thread(film->samples, &record->identity);
	track->open.count = 0;
	return track;
}

bool inspect_film_begin(struct inspect_film *film, const struct inspect_record *record,
			uint64_t key)
{
	struct track *track = track_of(film, record);

	if (!track)
		track = new_track(film, record);
	if (track && vec_push(&track->open, key))
		return true;
	film->lost++;
	return false;
}

/* Pops the call off its track. Returns its depth; a track without calls is free for another. */
static uint16_t pop_call(struct inspect_film *film, struct track *track, uint64_t key)
{
	size_t at = track->open.count;

	while (at && track->open.at[at - 1] != key)
		at--;
	if (!at)
		return (uint16_t)track->open.count;
	memmove(&track->open.at[at - 1], &track->open.at[at],
		(track->open.count - at) * sizeof(*track->open.at));
	if (!--track->open.count) {
		map_remove(&film->tracks_of, track->who);
		track->next_free = film->free_track;
		film->free_track = (uint32_t)(track - film->tracks.at) + 1;
	}
	return (uint16_t)(at - 1);
}

void inspect_film_end(struct inspect_film *film, const struct inspect_record *record, uint64_t key,
		      uint32_t function, const struct inspect_film_end *end,
		      const struct shown_tree *arguments, const struct shown_tree *results)
{
	struct track *track = track_of(film, record);
	struct film_call call = {
		.end = end->time,
		.duration = end->time - record->head.time,
		.thread = track ? track->thread : samples_thread(film->samples, &record->identity),
		.frame = frame_of(film, function),
		.lane = (uint32_t)record->goroutine,
		.depth = track ? pop_call(film, track, key) : 0,
		.flags = end->flags,
	};
	struct film_value value = {
		.end = call.end,
		.duration = call.duration,
		.goroutine = record->goroutine,
		.thread = call.thread,
		.frame = call.frame,
		.flags = (uint8_t)call.flags,
	};

	film_call(film->to, film->event, &call);
	if (!value_rows_put(film->to, film->event, &value, arguments, results))
		film->lost++;
}
