// SPDX-License-Identifier: Apache-2.0
#include "camera/lane_threads.h"

uint32_t lane_threads_row(struct map *known, const struct source *source, pid_t pid, pid_t tid)
{
	uint64_t key = (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;
	const uint64_t *found = map_get(known, key);
	char comm[16] = "";
	uint32_t row;

	if (found)
		return (uint32_t)*found;
	samples_has_thread(source->host->samples, pid, tid, 0, comm);
	row = samples_other_thread(source->host->samples, pid, tid, 0, comm);
	/* without memory it is looked up again each time */
	(void)!map_put(known, key, row);
	return row;
}
