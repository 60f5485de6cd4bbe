// SPDX-License-Identifier: Apache-2.0
#include "query/lane_runs.h"

#include <stdlib.h>
#include <string.h>

static bool open_more(struct lane_runs *runs, uint64_t start, uint64_t end, uint8_t kind)
{
	if (!runs->spent)
		runs->spent = calloc(SLICE_KINDS, sizeof(*runs->spent));
	if (!runs->spent)
		return false;
	if (!runs->open.count)
		runs->open.start = start;
	runs->open.end = end;
	runs->open.count++;
	runs->spent[kind] += end - start;
	return true;
}

bool lane_runs_end(struct lane_runs *runs)
{
	struct lane_run *open = &runs->open;

	if (!open->count)
		return true;
	for (unsigned int kind = 0; kind < SLICE_KINDS; kind++) {
		if (runs->spent[kind] <= open->dominant)
			continue;
		open->dominant = runs->spent[kind];
		open->kind = (uint8_t)kind;
	}
	if (!vec_push(&runs->all, *open))
		return false;
	*open = (struct lane_run){0};
	memset(runs->spent, 0, SLICE_KINDS * sizeof(*runs->spent));
	return true;
}

bool lane_runs_add(struct lane_runs *runs, uint64_t pixel, uint64_t start, uint64_t end,
		   uint8_t kind)
{
	const struct lane_run *open = &runs->open;
	bool is_long = end - start >= pixel;

	if (open->count && (is_long || start != open->end || end - open->start > pixel ||
			    open->count == UINT32_MAX))
		if (!lane_runs_end(runs))
			return false;
	if (!is_long)
		return open_more(runs, start, end, kind);
	return vec_push(&runs->all, (struct lane_run){start, end, end - start, 1, kind});
}

void lane_runs_free(struct lane_runs *runs)
{
	vec_free(&runs->all);
	free(runs->spent);
	*runs = (struct lane_runs){0};
}
