// SPDX-License-Identifier: Apache-2.0
#include "query/last_scene.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "film/events.h"
#include "query/filter.h"

/* How the mark of a thread begins that ended with its process (sources/sched/deaths.c). */
#define OF_PROCESS "[its process dies: "

/* The name of the mark on top of a stack; "": there is none. */
static const char *mark_of(const struct film *film, uint32_t stack)
{
	const struct film_frame *frame = &film->frames[film->stacks[stack].frame];

	return stack && frame->kind == FILM_FRAME_MARK && frame->function
		       ? film->functions[frame->function].name
		       : "";
}

void last_scene_words(const struct film *film, const struct scene_thread *thread, char *to,
		      size_t size)
{
	const char *mark = mark_of(film, thread->stack);
	size_t length;

	if (!strncmp(mark, OF_PROCESS, strlen(OF_PROCESS)))
		mark += strlen(OF_PROCESS);
	else if (*mark == '[')
		mark++;
	snprintf(to, size, "%s", mark);
	length = strlen(to);
	if (length && to[length - 1] == ']')
		to[length - 1] = 0;
}

struct loader {
	struct last_scenes *scenes;
	const struct film *film;
	const struct filter_kept *kept;
};

static struct scene *scene_of(struct last_scenes *scenes, uint32_t process, uint64_t time)
{
	vec_foreach (&scenes->all, scene)
		if (scene->process == process)
			return scene;
	if (scenes->all.count == LAST_SCENES_MAX)
		return NULL;
	return vec_push(&scenes->all, ((struct scene){.time = time, .process = process}))
		       ? vec_last(&scenes->all)
		       : NULL;
}

static int add_threads(void *context, const struct film_samples *samples)
{
	struct loader *l = context;

	for (size_t i = 0; i < samples->count; i++) {
		struct scene_thread thread = {
			.time = samples->time[i],
			.thread = samples->thread[i],
			.stack = samples->stack[i],
		};
		const char *mark = mark_of(l->film, thread.stack);
		struct scene *scene;

		if (!l->kept->threads[thread.thread])
			continue;
		thread.is_own = strncmp(mark, OF_PROCESS, strlen(OF_PROCESS)) != 0;
		scene = scene_of(l->scenes, l->film->threads[thread.thread].process, thread.time);
		if (!scene)
			continue;
		if (!vec_push(&scene->threads, thread))
			return -ENOMEM;
		/* the one with the signal first */
		if (thread.is_own && !scene->threads.at[0].is_own) {
			scene->threads.at[scene->threads.count - 1] = scene->threads.at[0];
			scene->threads.at[0] = thread;
		}
	}
	return 0;
}

/* What a thread did in the second before it died. */
static void add_second(const struct histories *histories, struct scene_thread *of)
{
	uint64_t from = of->time > LAST_SCENE_NS ? of->time - LAST_SCENE_NS : 0;
	size_t at = histories_find(histories, of->thread, from);
	size_t next = histories->first[of->thread + 1];

	if (at == HISTORY_NONE)
		at = histories->first[of->thread];
	for (; at < next && histories->slices[at].start < of->time; at++) {
		const struct slice *slice = &histories->slices[at];
		uint64_t begin = slice->start > from ? slice->start : from;
		uint64_t end = slice->end < of->time ? slice->end : of->time;

		if (end > begin)
			of->ns[slice->kind] += end - begin;
	}
}

int last_scenes_load(struct last_scenes *scenes, struct explainer *e, const struct filter *filter,
		     struct fail *why)
{
	uint32_t event = film_find_event(e->film, event_type(EVENT_DEATHS)->name);
	struct filter_kept kept = {0};
	struct loader l = {scenes, e->film, &kept};
	int err;

	*scenes = (struct last_scenes){0};
	if (!event)
		return 0;
	err = filter_apply(filter, e->film, &kept, why);
	if (!err)
		err = film_each_samples(e->film, event, e->from, UINT64_MAX, add_threads, &l, why);
	if (err == -ENOMEM)
		fail_errno(why, err, NULL, "cannot explain");
	filter_kept_free(&kept);
	vec_foreach (&scenes->all, scene)
		vec_foreach (&scene->threads, thread)
			add_second(&e->histories, thread);
	return err;
}

void last_scenes_free(struct last_scenes *scenes)
{
	vec_foreach (&scenes->all, scene)
		vec_free(&scene->threads);
	vec_free(&scenes->all);
}
