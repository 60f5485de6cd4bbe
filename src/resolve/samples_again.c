// SPDX-License-Identifier: Apache-2.0
/* Stacks that are resolved once more, in a later film. */
#include "base/map.h"
#include "resolve/samples_state.h"

/*
 * A hash of the code that the native frames are in: which file, and where in it. It is another one
 * if a library was unloaded and something else is at its addresses.
 */
static uint64_t hash_places(const struct process *process, const uint64_t *words, uint32_t count)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < count; i++) {
		const uint64_t at = words[i] & ~UNWIND_GUESS;
		const struct mapping *mapping;

		/* of a runtime's frame the words have a checksum */
		if (words[i] & UNWIND_IS_RUNTIME) {
			i++;
			continue;
		}
		mapping = process_mapping(process, at);
		hash = hash_u64(hash ^ (mapping ? at - mapping->bias : at));
		if (mapping)
			hash = hash_u64(hash ^
					hash_bytes(&mapping->image->identity,
						   sizeof(mapping->image->identity)) ^
					mapping->image->kind);
	}
	return hash;
}

bool samples_last(const struct samples *samples, const struct capture_record *record,
		  struct samples_again *again)
{
	const struct process *process = targets_find(samples->targets, (pid_t)record->identity.pid);

	if (!process || record->kernel_frames)
		return false;
	*again = (struct samples_again){
		.pid = record->identity.pid,
		.end = samples->last_end,
		.count = samples->frame_count,
		.time = record->head.time,
		.context = record->context,
		.places = hash_places(process, samples->frames, samples->frame_count),
		.words = samples->frames,
	};
	return true;
}

uint32_t samples_resolve_again(struct samples *samples, const struct samples_again *again,
			       struct stack_frames *frames)
{
	struct process *process = targets_find(samples->targets, (pid_t)again->pid);
	struct filmed_process *filmed = process ? samples_filmed(process) : NULL;
	struct stack_user user = {.process = process,
				  .words = again->words,
				  .count = again->count,
				  .time = again->time};
	uint32_t stack = 0;

	if (!filmed || hash_places(process, again->words, again->count) != again->places)
		return 0;
	user.row = &filmed->row;
	user.runtimes = &filmed->runtimes;
	samples->rows.pushed = frames;
	if (stack_push_context(&samples->rows, &stack, &user, again->context) &&
	    (again->end == UNWIND_END_ROOT || stack_push_mark(&samples->rows, &stack, again->end)))
		stack_push_user(&samples->rows, &stack, &user);
	samples->rows.pushed = NULL;
	return stack;
}
