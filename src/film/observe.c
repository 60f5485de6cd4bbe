// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "film/writing.h"

/* What waits for a commit: some 200 MB of each, for a caller that never commits. */
#define PENDING_SAMPLES_MAX (8u << 20)
#define PENDING_CALLS_MAX   (4u << 20)
#define PENDING_PROBES_MAX  (8u << 20)
#define PENDING_SUMS_MAX    (1u << 19)

void film_sample(struct film_writer *w, uint32_t event, uint64_t time, uint32_t thread,
		 uint32_t stack, uint64_t value)
{
	struct film_sample_list *list;

	if (!event || event > w->events || thread > w->threads || stack >= w->next.stack ||
	    w->pending_samples >= PENDING_SAMPLES_MAX) {
		lost(w, LOST_SAMPLE);
		return;
	}
	list = &w->batch->samples[event];
	if (vec_push(list, (struct film_sample){time, value, thread, stack}))
		w->pending_samples++;
	else
		lost(w, LOST_SAMPLE);
}

/* Another chunk for an event's calls, or null. */
static struct film_call_chunk *new_chunk(struct film_batch *batch, uint32_t event)
{
	/* memory that is not touched costs nothing: a chunk may stay nearly empty */
	struct film_call_chunk *chunk = malloc(sizeof(*chunk));

	if (!chunk)
		return NULL;
	chunk->next = NULL;
	chunk->event = event;
	chunk->count = 0;
	if (batch->calls)
		batch->last_calls->next = chunk;
	else
		batch->calls = chunk;
	batch->last_calls = batch->open[event] = chunk;
	return chunk;
}

void film_call(struct film_writer *w, uint32_t event, const struct film_call *call)
{
	struct film_batch *batch = w->batch;
	struct film_call_chunk *chunk;
	struct film_call *copy;

	if (!event || event > w->events || call->thread > w->threads ||
	    call->frame >= w->next.frame || call->duration > call->end ||
	    batch->call_count >= PENDING_CALLS_MAX) {
		lost(w, LOST_CALL);
		return;
	}
	chunk = batch->open[event];
	if (!chunk || chunk->count == FILM_BLOCK_MAX)
		chunk = new_chunk(batch, event);
	if (!chunk) {
		lost(w, LOST_CALL);
		return;
	}
	copy = &chunk->at[chunk->count++];
	*copy = *call;
	batch->call_count++;
	if (copy->waited > copy->duration) {
		copy->waited = copy->duration;
		lost(w, LOST_WAIT);
	}
}

void film_probe(struct film_writer *w, uint32_t event, const struct film_probe *probe)
{
	struct film_probe_given given = {event, *probe};

	if (!event || event > w->events || probe->frame >= w->next.frame ||
	    w->batch->probes.count >= PENDING_PROBES_MAX || !vec_push(&w->batch->probes, given))
		lost(w, LOST_PROBE);
}

void film_sum(struct film_writer *w, uint32_t event, uint64_t from, uint64_t to,
	      const struct film_sum *sum)
{
	struct film_sum_given given = {event, from, to, *sum};

	if (!event || event > w->events || sum->frame >= w->next.frame || from > to ||
	    w->batch->sums.count >= PENDING_SUMS_MAX || !vec_push(&w->batch->sums, given))
		lost(w, LOST_SUM);
}
