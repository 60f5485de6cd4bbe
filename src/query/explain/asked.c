// SPDX-License-Identifier: Apache-2.0
#include "query/explain/asked.h"

#include "base/search.h"
#include "query/objects.h"

/* How many places there are of requests that a thread made by then, and of threads before it. */
static size_t asked_by(const struct explain_requests *requests, uint32_t thread, uint64_t time)
{
	const struct explain_made *made = requests->made.at;
	const uint32_t *places = requests->by_thread.at;

	return search_first(requests->by_thread.count, i,
			    made[places[i]].thread < thread || (made[places[i]].thread == thread &&
								made[places[i]].start <= time));
}

/* The request made before the place, if the thread had no answer by to. */
static const struct explain_made *unanswered(const struct explain_requests *requests, size_t place,
					     uint32_t thread, uint64_t to)
{
	const struct explain_made *made;

	if (!place)
		return NULL;
	made = &requests->made.at[requests->by_thread.at[place - 1]];
	return made->thread == thread && made->end >= to ? made : NULL;
}

const struct explain_made *explain_asked_in(const struct explain_requests *requests,
					    uint32_t thread, uint64_t from, uint64_t to)
{
	size_t place = asked_by(requests, thread, from);
	const struct explain_made *made = unanswered(requests, place, thread, to);

	return made && !unanswered(requests, place - 1, thread, to) ? made : NULL;
}

/* Whether the thread alone served a request all over [from, to). */
static bool serves(const struct explain_requests *requests, uint32_t thread, uint64_t from,
		   uint64_t to)
{
	const struct explain_served *served = requests->served.at;
	size_t count = requests->served.count;
	size_t at = search_first(count, i,
				 served[i].answerer < thread ||
					 (served[i].answerer == thread && served[i].end <= from));

	return at < count && served[at].answerer == thread && served[at].thread == thread &&
	       served[at].start <= from && served[at].end >= to;
}

/*
 * An event loop may wait for the answer or for new work: it is not known for which. A thread that
 * polls one connection alone does nothing else until something comes there.
 */
static bool polls_one(const struct slice *slice)
{
	return slice->kind == SLICE_WAIT + WAIT_POLL && slice->object &&
	       (slice->descriptor == FILM_FD_SOCKET || slice->descriptor == FILM_FD_UNIX_SOCKET);
}

void explain_asked_mark(const struct explain_requests *requests, struct histories *histories)
{
	for (size_t i = 0; i < histories->count; i++) {
		struct slice *slice = &histories->slices[i];

		if (!polls_one(slice))
			continue;
		if (unanswered(requests, asked_by(requests, slice->thread, slice->start),
			       slice->thread, slice->end) ||
		    serves(requests, slice->thread, slice->start, slice->end))
			slice->flags |= HISTORY_ASKED;
	}
}

const struct explain_made *explain_asked_by_waiter(const struct explain_requests *requests,
						   const struct histories *histories,
						   const struct film *film,
						   const struct critical_path *path, size_t place)
{
	const struct critical_step *step = &path->steps.at[place], *event = step;
	const struct slice *slice;
	const struct explain_made *made;
	const struct critical_wait *wait;

	if (step->ended == CRITICAL_EARLIER && place + 1 < path->steps.count)
		event = step + 1;
	if (!step->wait || event->wait != step->wait || event->ended != CRITICAL_IDLE)
		return NULL;
	wait = &path->waits.at[step->wait - 1];
	slice = &histories->slices[event->slice];
	if (!slice->object || slice->thread != wait->waker)
		return NULL;
	made = explain_asked_in(requests, wait->thread, wait->start, wait->end);
	if (!made || !made->object ||
	    made->object != explain_object_key(object_name(film, slice->object)))
		return NULL;
	return made;
}
