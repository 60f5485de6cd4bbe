// SPDX-License-Identifier: Apache-2.0
#include "sources/gpu/graphs.h"

/* A process may give its sites any numbers: they are its own. */
static uint64_t key_of(uint32_t pid, uint32_t site)
{
	return (uint64_t)pid << 32 | site;
}

static bool keep_frames(struct gpu_graphs *graphs, uint32_t stack,
			const struct stack_frames *frames)
{
	if (graphs->frames.count >= GPU_STACKS_MAX || !vec_push(&graphs->frames, *frames))
		return false;
	if (map_put(&graphs->stacks, stack, graphs->frames.count - 1))
		return true;
	graphs->frames.count--;
	return false;
}

void gpu_graphs_captured(struct gpu_graphs *graphs, struct samples *samples,
			 const struct capture_record *record,
			 const struct capture_handover *handover)
{
	struct stack_frames frames = {0};
	struct samples_place place = samples_resolve_frames(samples, record, handover, &frames);
	const bool is_known = place.stack && map_get(&graphs->stacks, place.stack);

	if (!is_known && !(place.stack && keep_frames(graphs, place.stack, &frames)))
		place.stack = 0;
	/* a stack that is known has its frames */
	if (is_known || !place.stack)
		vec_free(&frames);
	if (place.stack && graphs->sites.count < GPU_SITES_MAX)
		map_put(&graphs->sites,
			key_of(record->identity.pid, (uint32_t)record->identity.key), place.stack);
}

/* Frames are pushed once for each pair that meets. */
static uint32_t join(struct gpu_graphs *graphs, struct samples *samples, uint32_t launch,
		     uint32_t site)
{
	const uint64_t key = (uint64_t)launch << 32 | site, *known = map_get(&graphs->joined, key);
	uint32_t stack;

	if (known)
		return (uint32_t)*known;
	stack = samples_words(samples, launch, "[captured at]");
	if (stack)
		stack = samples_push_frames(samples, stack,
					    &graphs->frames.at[*map_get(&graphs->stacks, site)]);
	if (graphs->joined.count >= GPU_JOINED_MAX)
		map_free(&graphs->joined);
	if (stack)
		map_put(&graphs->joined, key, stack);
	return stack;
}

uint32_t gpu_graphs_stack(struct gpu_graphs *graphs, struct samples *samples,
			  const struct on_gpu_ran *ran, uint32_t launch)
{
	const uint64_t *site = map_get(&graphs->sites, key_of(ran->pid, ran->site));

	if (!site)
		graphs->unknown += ran->count;
	if (!launch)
		return 0;
	return site ? join(graphs, samples, launch, (uint32_t)*site)
		    : samples_words(samples, launch, "[graph capture not known]");
}

void gpu_graphs_forget(struct gpu_graphs *graphs, uint32_t pid)
{
	vec(uint64_t) gone = {0};
	uint64_t key, stack;

	for (size_t i = 0; map_next(&graphs->sites, &i, &key, &stack);)
		if (key >> 32 == pid && !vec_push(&gone, key))
			break;
	vec_foreach (&gone, each)
		map_remove(&graphs->sites, *each);
	vec_free(&gone);
}

void gpu_graphs_empty(struct gpu_graphs *graphs)
{
	vec_foreach (&graphs->frames, frames)
		vec_free(frames);
	vec_free(&graphs->frames);
	map_free(&graphs->sites);
	map_free(&graphs->stacks);
	map_free(&graphs->joined);
}
