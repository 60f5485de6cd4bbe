// SPDX-License-Identifier: Apache-2.0
#include "record/running.h"

#include "base/clock.h"
#include "resolve/samples.h"
#include "sources/source.h"
#include "process/activity.h"
#include "process/executing.h"
#include "process/targets.h"

/* Processes that use the CPU, and are looked at first. */
#define RUNNING_MAX 64
/* How long recording may put off its begin to read what processes have mapped. */
#define FOLLOW_ALL_NS 2000000000ull

/*
 * Pages of code that are made ready before the first sample; large libraries take 0.1 s for each
 * part of them.
 */
#define EXECUTED_MAX 32

/* The processes that are looked at in one way. */
struct following {
	struct samples *samples;
	const struct selection *selection;
	void (*follow)(struct samples *samples, pid_t pid);
	uint64_t until;
};

void running_look(struct running *running, const struct selection *selection, bool where)
{
	running->activity = activity_begin();
	if (where && selection->pid_count)
		running->executing = executing_begin(selection->pids, selection->pid_count);
}

void running_forget(struct running *running)
{
	activity_end(running->activity, NULL, 0);
	executing_end(running->executing, NULL, 0);
	*running = (struct running){0};
}

static void follow(void *context, pid_t pid)
{
	const struct following *following = context;
	const struct selection *selection = following->selection;

	if (clock_ns() < following->until &&
	    (selection->whole_machine || selection_wants(selection, pid)))
		following->follow(following->samples, pid);
}

/*
 * Also what rests. First the files of all: sources look at those once, and the tables of stacks
 * through them take much longer. What cannot be listed is handed over.
 */
static void follow_all(struct following *following, const pid_t *first, size_t count,
		       bool has_stacks)
{
	struct fail ignored = {0};

	following->until = clock_ns() + FOLLOW_ALL_NS;
	following->follow = samples_meet;
	targets_each_pid(follow, following, &ignored);
	if (!has_stacks)
		return;
	following->follow = samples_follow_all;
	for (size_t i = 0; i < count; i++)
		follow(following, first[i]);
	targets_each_pid(follow, following, &ignored);
}

void running_follow(struct running *running, struct samples *samples,
		    const struct selection *selection, unsigned int needs)
{
	struct following following = {samples, selection, samples_follow, UINT64_MAX};
	pid_t active[RUNNING_MAX];
	struct executed places[EXECUTED_MAX];
	size_t count = activity_end(running->activity, active, RUNNING_MAX);
	size_t place_count = executing_end(running->executing, places, EXECUTED_MAX);

	*running = (struct running){0};
	for (size_t i = 0; i < selection->pid_count; i++)
		samples_follow(samples, selection->pids[i]);
	for (size_t i = 0; i < count; i++)
		follow(&following, active[i]);
	for (size_t i = 0; i < place_count; i++)
		samples_expect(samples, places[i].pid, places[i].address);
	if (needs & SOURCE_RESTING)
		follow_all(&following, active, count, needs & SOURCE_STACKS);
}
