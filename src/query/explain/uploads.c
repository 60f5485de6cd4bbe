// SPDX-License-Identifier: Apache-2.0
#include "query/explain/uploads.h"

#include "base/search.h"
#include "query/explain/peers.h"
#include "query/objects.h"

/* Whether all of a wait lies between a request's first byte and the first one of its answer. */
static bool is_before_answer(const struct explain_served *served, const struct history_slice *slice)
{
	uint64_t until = served->first ? served->start + served->first : served->end;

	return slice->start >= served->start && slice->end <= until;
}

static bool is_of_upload(const struct explain_requests *requests, const struct film *film,
			 const struct history_slice *slice)
{
	const struct explain_served *served = requests->served.at;
	size_t count = requests->served.count;
	uint64_t ends = explain_ends_of_object(object_name(film, slice->object));
	size_t at = search_first(
		count, i,
		served[i].answerer < slice->thread ||
			(served[i].answerer == slice->thread && served[i].end <= slice->start));

	return ends && at < count && served[at].answerer == slice->thread &&
	       served[at].ends == ends && is_before_answer(&served[at], slice);
}

void explain_uploads_mark(const struct explain_requests *requests, struct histories *histories)
{
	for (size_t i = 0; requests->served.count && i < histories->count; i++) {
		struct history_slice *slice = &histories->slices[i];

		if ((slice->kind == SLICE_WAIT + WAIT_RECEIVE ||
		     slice->kind == SLICE_WAIT + WAIT_POLL) &&
		    slice->object && slice->descriptor == FILM_FD_SOCKET &&
		    is_of_upload(requests, histories->film, slice))
			slice->flags |= HISTORY_UPLOAD;
	}
}
