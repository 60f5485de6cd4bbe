// SPDX-License-Identifier: Apache-2.0
#include "sources/sched/scheduler.h"

#include <stdbool.h>
#include <string.h>

#include "resolve/kernel_names.h"

/* So near to the leaf they stand: the probe, what calls it, and these. */
#define LOOKED_AT 12

/* Each kernel address costs a question once. */
#define KNOWN_MAX 65536

static void found(void *context, size_t n, const struct symbol_name *names, size_t count)
{
	static const char *const scheduler[] = {"__schedule", "schedule", "schedule_idle",
						"preempt_schedule_common"};
	bool *is_scheduler = context;
	size_t length, i;

	(void)n;
	if (!count || !names->function)
		return;
	/* the compiler gives parts of functions names such as schedule.part.0 */
	length = strcspn(names->function, ".+ ");
	for (i = 0; i < sizeof(scheduler) / sizeof(scheduler[0]); i++)
		if (strlen(scheduler[i]) == length &&
		    !strncmp(names->function, scheduler[i], length))
			*is_scheduler = true;
}

static bool is_scheduler(struct scheduler *scheduler, struct probes *probes, uint64_t at)
{
	const uint64_t *known = map_get(&scheduler->known, at);
	struct kernel_names names = {.probes = probes};
	bool answer = false;

	if (known)
		return *known;
	kernel_names_ask(&names, &at, 1, found, &answer);
	kernel_names_free(&names);
	if (scheduler->known.count < KNOWN_MAX)
		map_put(&scheduler->known, at, answer);
	return answer;
}

/*
 * How many of a kernel stack's frames, from its leaf, belong to the scheduler and to the probe that
 * runs in it.
 */
static uint32_t own_frames(struct scheduler *scheduler, struct probes *probes,
			   const uint64_t *frames, uint32_t count)
{
	uint32_t i, own = 0;

	scheduler->innermost = 0;
	for (i = 0; i < count && i < LOOKED_AT; i++)
		if (is_scheduler(scheduler, probes, frames[i] - 1)) {
			if (!own)
				scheduler->innermost = frames[i];
			own = i + 1;
		}
	return own;
}

const struct capture_record *scheduler_cut(struct scheduler *scheduler, struct probes *probes,
					   const struct capture_record *record)
{
	const uint64_t *kernel = (const uint64_t *)(record + 1) + record->user_frames;
	uint32_t own = own_frames(scheduler, probes, kernel, record->kernel_frames);
	uint32_t left = record->kernel_frames - own;

	if (!own || record->user_frames + left > SCHEDULER_FRAMES_MAX)
		return record;
	scheduler->cut.record = *record;
	scheduler->cut.record.kernel_frames = (uint16_t)left;
	memcpy(scheduler->cut.frames, record + 1, record->user_frames * sizeof(uint64_t));
	memcpy(scheduler->cut.frames + record->user_frames, kernel + own, left * sizeof(uint64_t));
	/* it has called the scheduler, and the leaf of a stack stands for itself */
	if (left)
		scheduler->cut.frames[record->user_frames]--;
	return &scheduler->cut.record;
}

void scheduler_free(struct scheduler *scheduler)
{
	map_free(&scheduler->known);
}
