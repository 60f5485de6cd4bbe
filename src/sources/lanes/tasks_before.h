/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_LANES_TASKS_BEFORE_H
#define SOURCES_LANES_TASKS_BEFORE_H

#include "bpf/lanes/tasks_abi.h"
#include "sources/probed_images.h"
#include "sources/lanes/task_names.h"
#include "sources/source.h"

/*
 * Tasks of asyncio that wait since before there were probes. No probe meets them until they go on,
 * so they are looked for in the memory of their process, and put into the kernel side's map, with
 * UNWIND_ANY_EXEC, from where a step takes one over.
 */
struct tasks_before {
	struct map looked; /* processes that were looked at, and when */
	uint64_t large;	   /* processes with more memory than is searched */
	uint64_t unread;   /* those whose memory could not be read */
	uint64_t unpooled; /* those whose small objects lie in no pools */
	uint64_t refused;  /* tasks for which there was no room */
};

/* What it works with. */
struct tasks_before_of {
	const struct source_host *host;
	const struct probed_images *images;
	int states; /* the map of struct tasks_state */
	int ran;    /* the one that says until when tasks ran as the probes came */
	struct task_names *names;
};

/* Looks at one process, if one is due; time: ns. */
void tasks_before_look(struct tasks_before *before, const struct tasks_before_of *of,
		       uint64_t time);
void tasks_before_ended(struct tasks_before *before, pid_t pid);
void tasks_before_free(struct tasks_before *before);

static inline bool tasks_before_is(const struct lane_key *key)
{
	return key->exec_id == UNWIND_ANY_EXEC;
}

/*
 * Makes sure that all that were found wait as they did. One that does not is marked as missed; if
 * it was the last time, too, it is removed.
 */
void tasks_before_check(const struct tasks_before_of *of);

#endif
