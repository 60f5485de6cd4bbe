// SPDX-License-Identifier: Apache-2.0
#include "process/activity.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/vec.h"
#include "process/procfs.h"

struct usage {
	pid_t pid;
	uint64_t start_ticks; /* a pid alone may be another process by now */
	uint64_t cpu_ticks;
};

struct activity {
	vec(struct usage) all; /* sorted by pid once they are read */
};

static int by_pid(const void *a, const void *b)
{
	const struct usage *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static int by_use(const void *a, const void *b)
{
	const struct usage *x = a, *y = b;

	return (x->cpu_ticks < y->cpu_ticks) - (x->cpu_ticks > y->cpu_ticks);
}

static void add(void *context, pid_t pid)
{
	struct activity *activity = context;
	struct procfs_stat stat;

	/* without memory it is one that did not run */
	if (procfs_read_stat(pid, "stat", &stat))
		vec_push(&activity->all, (struct usage){pid, stat.start_ticks, stat.cpu_ticks});
}

struct activity *activity_begin(void)
{
	struct activity *activity = calloc(1, sizeof(*activity));

	if (!activity)
		return NULL;
	procfs_each_number("/proc", add, activity);
	if (activity->all.count)
		qsort(activity->all.at, activity->all.count, sizeof(*activity->all.at), by_pid);
	return activity;
}

static void activity_free(struct activity *activity)
{
	if (activity)
		vec_free(&activity->all);
	free(activity);
}

size_t activity_end(struct activity *activity, pid_t *pids, size_t max)
{
	struct activity *now = activity ? activity_begin() : NULL;
	size_t i, count = 0;

	if (!now)
		goto out;
	vec_foreach (&now->all, usage) {
		const struct usage *before =
			activity->all.count ? bsearch(usage, activity->all.at, activity->all.count,
						      sizeof(*usage), by_pid)
					    : NULL;

		if (before && before->start_ticks == usage->start_ticks &&
		    before->cpu_ticks <= usage->cpu_ticks)
			usage->cpu_ticks -= before->cpu_ticks;
	}
	if (now->all.count)
		qsort(now->all.at, now->all.count, sizeof(*now->all.at), by_use);
	for (i = 0; i < now->all.count && count < max && now->all.at[i].cpu_ticks; i++)
		pids[count++] = now->all.at[i].pid;
out:
	activity_free(now);
	activity_free(activity);
	return count;
}
