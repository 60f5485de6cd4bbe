// SPDX-License-Identifier: Apache-2.0
#include "sources/sched/wait_rows.h"

#include "resolve/samples.h"
#include "sources/sched/wait_parts.h"

void wait_rows_add(const struct source *source, uint32_t event, const struct film_wait *like,
		   uint64_t end, uint64_t time)
{
	struct film_wait row = *like;
	struct wait_part part;

	while (wait_part_next(end, &time, &part)) {
		row.end = part.end;
		row.duration = part.duration;
		row.flags = like->flags | part.flags;
		film_wait(source->host->film, event, &row);
	}
}

void wait_rows_add_short(const struct source *source, uint32_t event, const struct film_wait *like,
			 uint64_t end, uint64_t time, uint32_t count)
{
	static const char words[] = "[waits summed up: one stack for a period of them]";
	struct film_wait row = *like;

	if (!time)
		return;
	row.stack = samples_words(source->host->samples, like->stack, words);
	row.end = end;
	row.duration = time;
	row.count = count ? count : 1;
	row.flags |= FILM_WAIT_SAMPLED;
	film_wait(source->host->film, event, &row);
}
