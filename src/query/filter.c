// SPDX-License-Identifier: Apache-2.0
#include "query/filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "query/names.h"

/* An array with room for id 0 even where a table is empty. */
static uint8_t *new_flags(uint32_t count, uint8_t value)
{
	size_t size = count ? count : 1;
	uint8_t *flags = malloc(size);

	if (flags)
		memset(flags, value, size);
	return flags;
}

static bool is_listed(const uint32_t *at, size_t count, uint32_t number)
{
	for (size_t i = 0; i < count; i++)
		if (at[i] == number)
			return true;
	return false;
}

static bool keeps_thread(const struct filter *f, const struct film *film, uint32_t id)
{
	const struct film_thread *thread = &film->threads[id];
	const struct film_process *process = &film->processes[thread->process];

	if (f->pids.count && !is_listed(f->pids.at, f->pids.count, process->pid))
		return false;
	if (f->keeps && !f->keeps(f->keeps_context, film, thread->process))
		return false;
	if (f->tids.count && !is_listed(f->tids.at, f->tids.count, thread->tid))
		return false;
	if (!f->comms.count)
		return true;
	vec_foreach (&f->comms, glob)
		if (!fnmatch(*glob, thread->comm, 0) || !fnmatch(*glob, process->comm, 0))
			return true;
	return false;
}

/* One byte per frame: whether one of its functions, or its place if it has none, matches. */
static uint8_t *match_frames(const struct film *film, struct regex *regex)
{
	uint8_t *functions = new_flags(film->function_count, 0);
	uint8_t *frames = new_flags(film->frame_count, 0);
	uint32_t i;

	if (!functions || !frames) {
		free(functions);
		free(frames);
		return NULL;
	}
	for (i = 1; i < film->function_count; i++)
		functions[i] = regex_matches(regex, film->functions[i].name);
	for (i = 1; i < film->frame_count; i++) {
		const struct film_frame *frame = &film->frames[i];
		char place[256];

		if (frame->function)
			frames[i] = functions[frame->function];
		else
			frames[i] = regex_matches(regex,
						  name_of_place(film, frame, place, sizeof(place)));
	}
	for (size_t n = 0; n < film->inline_count; n++)
		frames[film->inlines[n].frame] |= functions[film->inlines[n].function];
	free(functions);
	return frames;
}

/* One byte per stack: whether one of its frames matches. A parent comes before its children. */
static uint8_t *match_stacks(const struct film *film, const uint8_t *frames)
{
	uint8_t *stacks = new_flags(film->stack_count, 0);

	for (uint32_t i = 1; stacks && i < film->stack_count; i++)
		stacks[i] = stacks[film->stacks[i].parent] | frames[film->stacks[i].frame];
	return stacks;
}

static int no_memory(struct fail *why)
{
	return fail_errno(why, -ENOMEM, NULL, "cannot filter the samples");
}

static int drop_stacks(const struct film *film, struct regex *regex, uint8_t unwanted,
		       uint8_t *kept, uint8_t **frames, struct fail *why)
{
	uint8_t *matches;

	*frames = match_frames(film, regex);
	matches = *frames ? match_stacks(film, *frames) : NULL;
	if (!matches)
		return no_memory(why);
	for (uint32_t i = 0; i < film->stack_count; i++)
		if (matches[i] == unwanted)
			kept[i] = 0;
	free(matches);
	return regex_check(regex, why);
}

int filter_apply(const struct filter *f, const struct film *film, struct filter_kept *kept,
		 struct fail *why)
{
	int err = 0;

	*kept = (struct filter_kept){.leaks = f->leaks, .grown = f->grown};
	kept->threads = new_flags(film->thread_count, 0);
	kept->stacks = new_flags(film->stack_count, 1);
	if (!kept->threads || !kept->stacks)
		return no_memory(why);
	for (uint32_t i = 0; i < film->thread_count; i++)
		kept->threads[i] = keeps_thread(f, film, i);
	if (f->focus)
		err = drop_stacks(film, f->focus, 0, kept->stacks, &kept->focus, why);
	if (!err && f->ignore)
		err = drop_stacks(film, f->ignore, 1, kept->stacks, &kept->ignored, why);
	return err;
}

void filter_kept_free(struct filter_kept *kept)
{
	free(kept->threads);
	free(kept->stacks);
	free(kept->focus);
	free(kept->ignored);
	*kept = (struct filter_kept){0};
}
