// SPDX-License-Identifier: Apache-2.0
#include "store/index_builds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Returned by emit() of a walk when all is known. */
#define ALL_KNOWN 1

static uint64_t hash_path(const char *path)
{
	return hash_bytes(path, strlen(path));
}

static bool same_build(const struct film_image *a, const struct film_image *b)
{
	return a->build_id_size == b->build_id_size &&
	       !memcmp(a->build_id, b->build_id, a->build_id_size);
}

/* *again: a path has got more than one build, which processes that are known may have run. */
static int list_paths(struct index_builds *builds, const struct film *film, bool *again)
{
	for (uint32_t i = builds->images ? builds->images : 1; i < film->image_count; i++) {
		const struct film_image *image = &film->images[i];
		uint64_t key = hash_path(image->path), *known;

		if (image->kind != FILM_IMAGE_FILE || !image->build_id_size)
			continue;
		known = map_get(&builds->by_path, key);
		if (!known) {
			if (!map_put(&builds->by_path, key, i))
				return -ENOMEM;
		} else if (*known && !same_build(&film->images[*known], image)) {
			*known = 0;
			*again = true;
		}
	}
	builds->images = film->image_count;
	return 0;
}

struct search {
	struct index_builds *builds;
	const struct film *film;
	uint64_t left; /* processes whose image is not known yet */
};

/* Of a process that may run one of several builds, until its image is known. */
#define NOT_YET UINT32_MAX

static bool is_program(const struct film_image *image, const struct film_process *process)
{
	return image->kind == FILM_IMAGE_FILE && image->build_id_size &&
	       !strcmp(image->path, process->exe);
}

/* The image of the process's program that a stack goes through, or 0. */
static uint32_t image_in(const struct film *film, uint32_t stack,
			 const struct film_process *process)
{
	for (; stack; stack = film->stacks[stack].parent) {
		uint32_t image = film->frames[film->stacks[stack].frame].image;

		if (is_program(&film->images[image], process))
			return image;
	}
	return 0;
}

static int match_samples(void *context, const struct film_samples *samples)
{
	struct search *s = context;

	for (size_t i = 0; s->left && i < samples->count; i++) {
		uint32_t process = s->film->threads[samples->thread[i]].process, image;

		if (s->builds->of[process] != NOT_YET)
			continue;
		image = image_in(s->film, samples->stack[i], &s->film->processes[process]);
		if (!image)
			continue;
		s->builds->of[process] = image;
		s->left--;
	}
	return s->left ? 0 : ALL_KNOWN;
}

/* Room for the processes that are new. */
static int add_processes(struct index_builds *builds, const struct film *film)
{
	size_t count = film->process_count, known = builds->processes;
	uint32_t *of = realloc(builds->of, (count + 1) * sizeof(*of));

	if (!of)
		return -ENOMEM;
	builds->of = of;
	if (count > known)
		memset(of + known, 0, (count - known) * sizeof(*of));
	builds->processes = (uint32_t)count;
	return 0;
}

/* How many processes may run one of several builds, and have not been seen in one yet. */
static uint64_t list_open(struct index_builds *builds, const struct film *film)
{
	uint64_t left = 0;

	for (uint32_t i = 1; i < film->process_count; i++) {
		const struct film_process *process = &film->processes[i];
		const uint64_t *known = map_get(&builds->by_path, hash_path(process->exe));
		uint32_t *of = &builds->of[i];

		if (!known || *known)
			*of = 0;
		else if (!*of || (*of != NOT_YET && !is_program(&film->images[*of], process)))
			*of = NOT_YET; /* it may have executed another program since */
		left += *of == NOT_YET;
	}
	return left;
}

static int search_stacks(struct index_builds *builds, struct film *film)
{
	struct search s = {builds, film, 0};
	uint64_t to = film_block_count(film);
	int err = add_processes(builds, film);

	if (err)
		return err;
	s.left = list_open(builds, film);
	for (uint32_t i = 1; !err && s.left && i < film->event_count; i++)
		err = film_each_new_samples(film, i, builds->blocks, to, match_samples, &s, NULL);
	builds->blocks = to;
	/* a block that cannot be read is reported where its samples are asked for */
	return err == -ENOMEM ? err : 0;
}

int index_builds_find(struct index_builds *builds, struct film *film)
{
	bool again = false;
	int err = list_paths(builds, film, &again);

	if (again)
		builds->blocks = 0;
	return err || (!again && !builds->of) ? err : search_stacks(builds, film);
}

uint32_t index_builds_image(const struct index_builds *builds, const struct film *film,
			    const struct film_process *process)
{
	const uint64_t *known = map_get(&builds->by_path, hash_path(process->exe));
	uint32_t image;

	if (!known || !*process->exe)
		return 0;
	image = *known ? (uint32_t)*known : builds->of[process - film->processes];
	if (image == NOT_YET)
		return 0;
	return is_program(&film->images[image], process) ? image : 0;
}

void index_builds_free(struct index_builds *builds)
{
	map_free(&builds->by_path);
	free(builds->of);
	*builds = (struct index_builds){0};
}
