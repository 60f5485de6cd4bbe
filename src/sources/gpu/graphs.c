// SPDX-License-Identifier: Apache-2.0
#include "sources/gpu/graphs.h"

#include "base/vec.h"

/* A process may give its sites any numbers: they are its own. */
static uint64_t key_of(uint32_t pid, uint32_t site)
{
	return (uint64_t)pid << 32 | site;
}

void gpu_graphs_captured(struct gpu_graphs *graphs, struct samples *samples,
			 const struct capture_record *record,
			 const struct capture_handover *handover)
{
	const struct samples_place place = samples_resolve(samples, record, handover);
	const uint32_t number = kept_stacks_add(&graphs->kept, samples, record, &place);

	if (number && graphs->sites.count < GPU_SITES_MAX)
		map_put(&graphs->sites,
			key_of(record->identity.pid, (uint32_t)record->identity.key), number);
}

/* Frames are pushed once for each pair that meets. 0: the site's are not known, or no room. */
static uint32_t join(struct gpu_graphs *graphs, struct samples *samples, uint32_t launch,
		     uint32_t site)
{
	const uint64_t key = (uint64_t)launch << 32 | site, *known = map_get(&graphs->joined, key);
	const struct stack_frames *frames;
	uint32_t stack;

	if (known)
		return (uint32_t)*known;
	frames = kept_stacks_frames(&graphs->kept, samples, site);
	stack = frames ? samples_words(samples, launch, "[captured at]") : 0;
	if (stack)
		stack = samples_push_frames(samples, stack, frames);
	if (graphs->joined.count >= GPU_JOINED_MAX)
		map_free(&graphs->joined);
	if (stack)
		map_put(&graphs->joined, key, stack);
	return stack;
}

uint32_t gpu_graphs_stack(struct gpu_graphs *graphs, struct samples *samples, uint32_t pid,
			  uint32_t site, uint32_t launch, bool *is_known)
{
	const uint64_t *kept = map_get(&graphs->sites, key_of(pid, site));
	uint32_t stack = 0;

	*is_known = false;
	if (launch && kept)
		stack = join(graphs, samples, launch, (uint32_t)*kept);
	*is_known = stack != 0;
	if (launch && !stack)
		stack = samples_words(samples, launch, "[graph capture not known]");
	return stack;
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
	kept_stacks_forget(&graphs->kept, pid);
}

void gpu_graphs_next_film(struct gpu_graphs *graphs)
{
	uint64_t key, stack;

	map_free(&graphs->joined);
	kept_stacks_next_film(&graphs->kept);
	for (size_t i = 0; map_next(&graphs->sites, &i, &key, &stack);)
		kept_stacks_use(&graphs->kept, (uint32_t)stack);
	kept_stacks_film_begun(&graphs->kept);
}

void gpu_graphs_free(struct gpu_graphs *graphs)
{
	map_free(&graphs->sites);
	map_free(&graphs->joined);
	kept_stacks_free(&graphs->kept);
}
