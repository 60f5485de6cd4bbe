// SPDX-License-Identifier: Apache-2.0
#include "query/served.h"

#include <errno.h>
#include <stdlib.h>

#include "query/requests.h"
#include "query/served_lanes.h"

/* The time in which a thread worked on a request. */
struct work {
	uint64_t from, to;
	uint32_t thread, endpoint, request;
	bool is_handed; /* from another thread: from is when that one received it */
	bool is_wanted;
};

struct edge {
	uint64_t time;
	uint32_t thread, endpoint, request;
	bool begins, is_wanted;
};

struct loading {
	struct served *served;
	const struct film *film;
	const char *id;
	bool each;
	struct served_lanes lanes;
	vec(struct work) works;
	vec(struct edge) edges;
};

/* The works that are open at a time of a thread. */
struct open {
	uint64_t wanted, others;
	/* of the endpoints of those wanted: all are one where count * squares is sum * sum */
	uint64_t sum;
	unsigned __int128 squares;
	uint64_t requests; /* sum of their numbers */
};

/* The goroutine of a request, and each thread that ran it meanwhile, worked on it. */
static bool add_lane(struct loading *l, uint32_t lane, const struct work *like)
{
	struct work work = *like;
	size_t count;
	const struct served_run *runs =
		served_lane_runs(&l->lanes, lane, like->from, like->to, &count);

	work.is_handed = false;
	work.thread = lane;
	if (!vec_push(&l->works, work))
		return false;
	for (size_t i = 0; i < count; i++) {
		work.thread = runs[i].on;
		work.from = runs[i].from > like->from ? runs[i].from : like->from;
		work.to = runs[i].to < like->to ? runs[i].to : like->to;
		if (!vec_push(&l->works, work))
			return false;
	}
	return true;
}

static bool add_each(struct loading *l, const struct request *request, struct work *work)
{
	struct served_request one = {.endpoint = request->endpoint};

	request_name(request, one.name);
	work->request = (uint32_t)l->served->each.count + 1;
	return vec_push(&l->served->each, one);
}

static int add_request(void *context, const struct request *request)
{
	struct loading *l = context;
	const struct film_request *row = &request->row;
	bool is_wanted = !l->id || request_has_id(request, l->id);
	struct work work = {
		.from = request_start(request),
		.to = row->end,
		.thread = row->answerer ? row->answerer : row->thread,
		.endpoint = row->endpoint,
		.is_handed = row->answerer && row->answerer != row->thread,
		.is_wanted = is_wanted,
	};
	uint32_t lane;

	if (row->role != FILM_REQUEST_SERVED && !(l->id && is_wanted))
		return 0;
	l->served->requests += is_wanted;
	if (l->each && !add_each(l, request, &work))
		return -ENOMEM;
	lane = served_lane_of(&l->lanes, request);
	if (lane)
		return add_lane(l, lane, &work) ? 0 : -ENOMEM;
	l->served->no_lane += is_wanted && served_has_lanes(&l->lanes, l->film, request);
	return vec_push(&l->works, work) ? 0 : -ENOMEM;
}

static int by_thread_and_end(const void *left, const void *right)
{
	const struct work *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

static int by_thread_and_time(const void *left, const void *right)
{
	const struct edge *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->begins - b->begins;
}

static bool make_edges(struct loading *l)
{
	if (l->works.count)
		qsort(l->works.at, l->works.count, sizeof(*l->works.at), by_thread_and_end);
	for (size_t i = 0; i < l->works.count; i++) {
		struct work work = l->works.at[i];
		const struct work *before = i ? &l->works.at[i - 1] : NULL;

		if (work.is_handed && before && before->thread == work.thread &&
		    before->to > work.from)
			work.from = before->to;
		if (work.from >= work.to)
			continue;
		if (!vec_push(&l->edges, (struct edge){work.from, work.thread, work.endpoint,
						       work.request, true, work.is_wanted}) ||
		    !vec_push(&l->edges, (struct edge){work.to, work.thread, work.endpoint,
						       work.request, false, work.is_wanted}))
			return false;
	}
	if (l->edges.count)
		qsort(l->edges.at, l->edges.count, sizeof(*l->edges.at), by_thread_and_time);
	return true;
}

static uint32_t endpoint_of(const struct open *open)
{
	if (!open->wanted)
		return SERVED_NONE;
	return open->wanted * open->squares == (unsigned __int128)open->sum * open->sum
		       ? (uint32_t)(open->sum / open->wanted)
		       : SERVED_SEVERAL;
}

static void apply(struct open *open, const struct edge *edge)
{
	unsigned __int128 square = (uint64_t)edge->endpoint * edge->endpoint;

	if (!edge->is_wanted) {
		open->others += edge->begins ? 1 : -1ull;
		return;
	}
	open->wanted += edge->begins ? 1 : -1ull;
	open->sum += edge->begins ? edge->endpoint : -(uint64_t)edge->endpoint;
	open->squares += edge->begins ? square : -square;
	open->requests += edge->begins ? edge->request : -(uint64_t)edge->request;
}

static bool sweep(struct loading *l)
{
	struct served *served = l->served;
	struct open open = {0};

	vec_foreach (&l->edges, edge) {
		struct served_change *last =
			served->changes.count ? vec_last(&served->changes) : NULL;
		struct served_change change = {edge->time, edge->thread};

		if (last && last->thread != edge->thread)
			last = NULL;
		if (edge->begins && edge->is_wanted && !open.wanted)
			served->others += open.others;
		else if (edge->begins && !edge->is_wanted && open.wanted)
			served->others++;
		apply(&open, edge);
		change.endpoint = endpoint_of(&open);
		change.request = open.wanted == 1 ? (uint32_t)open.requests : 0;
		if (last && last->time == edge->time) {
			last->endpoint = change.endpoint;
			last->request = change.request;
		} else if (((last ? last->endpoint : SERVED_NONE) != change.endpoint ||
			    (last ? last->request : 0) != change.request) &&
			   !vec_push(&served->changes, change)) {
			return false;
		}
	}
	return true;
}

static int load(struct served *served, struct film *film, const char *id, bool each,
		struct fail *why)
{
	struct loading l = {.served = served, .film = film, .id = id, .each = each};
	int err;

	*served = (struct served){0};
	if (!requests_event(film))
		return fail(why, -EINVAL,
			    "'stackcam record -e requests,threads,on-cpu' records "
			    "them, and what their threads did",
			    "the film has no requests");
	err = served_lanes_load(&l.lanes, film, why);
	if (!err)
		err = requests_each(film, 0, UINT64_MAX, add_request, &l, why);
	served->has_goroutines = l.lanes.processes;
	if (!err && id && !served->requests)
		err = fail(why, -ENOENT, "'stackcam report --format requests' lists the slowest",
			   "no request of the film has the id '%s'", id);
	else if (!err && (!make_edges(&l) || !sweep(&l)))
		err = -ENOMEM;
	served_lanes_free(&l.lanes);
	vec_free(&l.works);
	vec_free(&l.edges);
	return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot read the requests") : err;
}

int served_load(struct served *served, struct film *film, const char *id, struct fail *why)
{
	return load(served, film, id, false, why);
}

int served_load_each(struct served *served, struct film *film, struct fail *why)
{
	return load(served, film, NULL, true, why);
}

void served_free(struct served *served)
{
	vec_free(&served->changes);
	vec_free(&served->each);
}

/* The place of the first change of a thread behind a time, or of a later thread. */
static size_t first_behind(const struct served *served, uint32_t thread, uint64_t time)
{
	size_t low = 0, high = served->changes.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct served_change *change = &served->changes.at[middle];

		if (change->thread < thread || (change->thread == thread && change->time <= time))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct served_part served_part(const struct served *served, uint32_t thread, uint64_t from,
			       uint64_t to)
{
	size_t next = first_behind(served, thread, from);
	struct served_part part = {to, SERVED_NONE};

	if (next && served->changes.at[next - 1].thread == thread)
		part.endpoint = served->changes.at[next - 1].endpoint;
	if (next < served->changes.count && served->changes.at[next].thread == thread &&
	    served->changes.at[next].time < to)
		part.to = served->changes.at[next].time;
	return part;
}

const struct served_request *served_request_at(const struct served *served, uint32_t thread,
					       uint64_t time)
{
	size_t next = first_behind(served, thread, time);
	const struct served_change *change = next ? &served->changes.at[next - 1] : NULL;

	return change && change->thread == thread && change->request
		       ? &served->each.at[change->request - 1]
		       : NULL;
}
