// SPDX-License-Identifier: Apache-2.0
#include "sources/gpu/waits.h"

#include <stdio.h>

#include "../inject/gpu_places.h"

/* Threads of a process whose waits are added up: no more wait at a time. */
#define THREADS_MAX 65536u

bool gpu_wait_is_valid(const struct on_gpu_waited *waited)
{
	const bool is_one = (uint32_t)waited->call != 0;

	return waited->ns / (is_one ? 1 : THREADS_MAX) <= waited->head.time &&
	       waited->all_ns <= waited->ns && waited->work_ns <= waited->all_ns;
}

static void add_part(const struct on_gpu_waited *waited, struct samples_place place,
		     struct samples *samples, uint32_t event, uint64_t end, const char *what,
		     uint64_t ns)
{
	uint32_t stream = (uint32_t)(waited->call >> 32);
	char words[256];

	if (!ns)
		return;
	if (stream == GPU_STREAM_EVENT)
		snprintf(words, sizeof(words), "[an event of a stream that is not known]");
	else if (stream == GPU_STREAM_COPY)
		snprintf(words, sizeof(words), "[a copy that has no record]");
	else if (stream == GPU_STREAM_ANY)
		snprintf(words, sizeof(words), "%.200s on any stream", what);
	else
		snprintf(words, sizeof(words), "%.200s on stream %u", what, stream);
	if (place.stack)
		place.stack = samples_words(samples, place.stack, words);
	samples_add(samples, event, end, &place, ns);
}

void gpu_wait_write(const struct on_gpu_waited *waited, const struct samples_place *place,
		    struct samples *samples, uint32_t event, uint64_t end, const char *name)
{
	if (!(uint32_t)waited->call) {
		samples_add(samples, event, end, place, waited->ns);
		return;
	}
	add_part(waited, *place, samples, event, end, name ? name : "[kernel without a name]",
		 waited->work_ns);
	add_part(waited, *place, samples, event, end, "[other work]",
		 waited->all_ns - waited->work_ns);
	add_part(waited, *place, samples, event, end, "[no work recorded]",
		 waited->ns - waited->all_ns);
}

void gpu_wait_write_stream(const struct on_gpu_waited *waited, const struct samples_place *place,
			   struct film_writer *film, uint32_t event, uint64_t end)
{
	const uint32_t stream = (uint32_t)(waited->call >> 32);
	const bool is_all = stream == GPU_STREAM_ANY;

	/* several waits at once, or a stream that is not known */
	if (!(uint32_t)waited->call || !place->thread || stream == GPU_STREAM_EVENT ||
	    stream == GPU_STREAM_COPY)
		return;
	film_work(film, event,
		  &(struct film_work){
			  .end = end,
			  .duration = waited->ns < end ? waited->ns : end,
			  .thread = place->thread,
			  .stack = place->stack,
			  .stream = is_all ? 0 : stream,
			  .flags = FILM_WORK_WAIT | (is_all ? FILM_WORK_ALL_STREAMS : 0),
		  });
}
