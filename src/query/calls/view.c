// SPDX-License-Identifier: Apache-2.0
#include "query/calls/view.h"

#include <stdlib.h>

void call_view_free(struct call_view *calls)
{
	for (uint32_t i = 0; calls->of_frame && i < calls->frame_count; i++)
		call_stats_free(calls->of_frame[i]);
	free(calls->of_frame);
	free(calls->costs);
	call_paths_free(&calls->paths);
	*calls = (struct call_view){0};
}

struct call_stats *call_view_stats(struct call_view *calls, uint32_t frame)
{
	if (!calls->of_frame[frame])
		calls->of_frame[frame] = calloc(1, sizeof(struct call_stats));
	return calls->of_frame[frame];
}
