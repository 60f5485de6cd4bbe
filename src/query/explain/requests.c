// SPDX-License-Identifier: Apache-2.0
#include "query/explain/requests.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/search.h"
#include "query/connections.h"
#include "query/explain/peers.h"
#include "query/explain/wanted.h"

struct loading {
	struct explain_requests *requests;
	const struct explain_wanted *wanted;
	bool includes_made; /* as of explain_candidates_add() */
	struct filter_kept kept;
	struct explain_candidates candidates;
	const struct film *film;
	struct map by_id; /* an id within a process: the number of the request served; SEVERAL */
};

#define SEVERAL 0

/* Of an id within a process; 0: it has none. */
static uint64_t key_of_id(const struct loading *loading, const struct request *request)
{
	uint32_t process = loading->film->threads[request->row.thread].process;

	return *request->id ? hash_u64(hash_bytes(request->id, strlen(request->id)) ^ process) | 1
			    : 0;
}

static bool keep_id(struct loading *loading, const struct request *request)
{
	uint64_t key = key_of_id(loading, request);

	return !key || map_put(&loading->by_id, key,
			       map_get(&loading->by_id, key) ? SEVERAL : request->row.number);
}

/* Its id may have been known only when the one that it was made for was answered. */
static void find_parents(struct loading *loading)
{
	vec_foreach (&loading->requests->made, made) {
		const uint64_t *known = made->parent ? NULL : map_get(&loading->by_id, made->key);

		if (known && *known != SEVERAL)
			made->parent = *known;
	}
}

/* Of a connection and its stream; 0: it has no addresses. A film is of one machine's loopback. */
static uint64_t key_of_connection(const struct request *request)
{
	uint64_t key[2] = {0, request->row.stream};

	return connection_hash(request, 0, &key[0]) ? hash_bytes(key, sizeof(key)) | 1 : 0;
}

/* Of the socket by which it was sent; 0: it has no addresses. */
static uint64_t key_of_object(const struct request *request)
{
	char own[REQUEST_PEER_MAX], peer[REQUEST_PEER_MAX], name[2 * REQUEST_PEER_MAX + 16];

	if (request->row.flags & FILM_REQUEST_UNIX || !request->row.own_port)
		return 0;
	snprintf(name, sizeof(name), "tcp %s -> %s", request_own(request, own, sizeof(own)),
		 request_peer(request, peer, sizeof(peer)));
	return explain_object_key(name);
}

static bool keep_made(struct loading *loading, const struct request *request)
{
	struct explain_requests *requests = loading->requests;
	struct explain_made made = {
		.parent = request->row.parent,
		.key = key_of_id(loading, request),
		.number = request->row.number,
		.start = request_start(request),
		.end = request->row.end,
		.connection = key_of_connection(request),
		.object = key_of_object(request),
		.endpoint = request->endpoint,
		.lane = request->row.goroutine,
		.thread = request->row.thread,
		.is_unix = request->row.flags & FILM_REQUEST_UNIX,
	};

	request_peer(request, made.peer, sizeof(made.peer));
	return vec_push(&requests->made, made);
}

static int add_request(void *context, const struct request *request)
{
	const struct explain_served served = {
		.start = request_start(request),
		.end = request->row.end,
		.number = request->row.number,
		.thread = request->row.thread,
		.answerer = request->row.answerer,
		.first = request->row.first,
		.lane = request->row.goroutine,
		.connection = key_of_connection(request),
		.ends = request->row.stream ? 0 : explain_ends_of(request),
		.endpoint = request->row.endpoint,
		.protocol = request->row.protocol,
	};
	struct loading *loading = context;
	struct explain_requests *requests = loading->requests;

	if (request->row.role == FILM_REQUEST_SERVED && served.answerer &&
	    !vec_push(&requests->served, served))
		return -ENOMEM;
	if (request->row.role == FILM_REQUEST_SERVED && !keep_id(loading, request))
		return -ENOMEM;
	if (request->row.role == FILM_REQUEST_MADE && !keep_made(loading, request))
		return -ENOMEM;
	return explain_candidates_add(&loading->candidates, loading->wanted, loading->kept.threads,
				      loading->includes_made, request)
		       ? 0
		       : -ENOMEM;
}

static int by_answerer_and_end(const void *left, const void *right)
{
	const struct explain_served *a = left, *b = right;

	if (a->answerer != b->answerer)
		return a->answerer < b->answerer ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

static int by_parent_and_start(const void *left, const void *right)
{
	const struct explain_made *a = left, *b = right;

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

/* By answerer and end, so the last of each comes first here. */
static void find_earliest(struct explain_requests *requests)
{
	for (size_t i = requests->served.count; i--;) {
		struct explain_served *served = &requests->served.at[i];
		const struct explain_served *later =
			i + 1 < requests->served.count ? &requests->served.at[i + 1] : NULL;

		served->earliest = served->start;
		if (later && later->answerer == served->answerer &&
		    later->earliest < served->earliest)
			served->earliest = later->earliest;
	}
}

static uint64_t middle_of(const struct explain_served *served)
{
	return served->start + (served->end - served->start) / 2;
}

static int by_connection_and_middle(const void *left, const void *right, void *context)
{
	const struct explain_served *served = context;
	const struct explain_served *a = &served[*(const uint32_t *)left];
	const struct explain_served *b = &served[*(const uint32_t *)right];

	if (a->connection != b->connection)
		return a->connection < b->connection ? -1 : 1;
	return middle_of(a) < middle_of(b) ? -1 : middle_of(a) > middle_of(b);
}

static bool sort_by_connection(struct explain_requests *requests)
{
	for (size_t i = 0; i < requests->served.count; i++)
		if (requests->served.at[i].connection &&
		    !vec_push(&requests->by_connection, (uint32_t)i))
			return false;
	if (requests->by_connection.count)
		qsort_r(requests->by_connection.at, requests->by_connection.count,
			sizeof(*requests->by_connection.at), by_connection_and_middle,
			requests->served.at);
	return true;
}

static int by_thread_and_start(const void *left, const void *right, void *context)
{
	const struct explain_requests *requests = context;
	const struct explain_made *a = &requests->made.at[*(const uint32_t *)left];
	const struct explain_made *b = &requests->made.at[*(const uint32_t *)right];

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

static int sort_made(struct explain_requests *requests)
{
	if (!requests->made.count)
		return 0;
	qsort(requests->made.at, requests->made.count, sizeof(*requests->made.at),
	      by_parent_and_start);
	for (size_t i = 0; i < requests->made.count; i++)
		if (!vec_push(&requests->by_thread, (uint32_t)i))
			return -ENOMEM;
	qsort_r(requests->by_thread.at, requests->by_thread.count, sizeof(*requests->by_thread.at),
		by_thread_and_start, requests);
	return 0;
}

int explain_requests_load(struct explain_requests *requests, struct film *film,
			  const struct filter *filter, const struct explain_wanted *wanted,
			  uint64_t from, uint64_t to, struct fail *why)
{
	struct loading loading = {requests, wanted, .film = film};
	int err = filter_apply(filter, film, &loading.kept, why);

	/* of a client there may be no other requests */
	loading.includes_made = wanted->endpoint || filter->comms.count || filter->pids.count;

	if (!err)
		err = explain_candidates_init(&loading.candidates, film);
	if (!err)
		err = requests_each(film, from, to, add_request, &loading, why);
	if (requests->served.count)
		qsort(requests->served.at, requests->served.count, sizeof(*requests->served.at),
		      by_answerer_and_end);
	find_earliest(requests);
	if (!err && !sort_by_connection(requests))
		err = -ENOMEM;
	find_parents(&loading);
	map_free(&loading.by_id);
	if (!err)
		err = sort_made(requests);
	if (err == -ENOMEM)
		fail_errno(why, err, NULL, "cannot read the requests");
	if (!err)
		err = explain_candidates_choose(&loading.candidates, wanted, film, requests, why);
	explain_candidates_free(&loading.candidates);
	filter_kept_free(&loading.kept);
	return err;
}

void explain_requests_free(struct explain_requests *requests)
{
	vec_free(&requests->served);
	vec_free(&requests->made);
	vec_free(&requests->by_connection);
	vec_free(&requests->by_thread);
	vec_free(&requests->wanted);
}

size_t explain_first_made(const struct explain_requests *requests, uint64_t parent)
{
	size_t low = 0, high = requests->made.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (requests->made.at[middle].parent < parent)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool explain_has_made(const struct explain_requests *requests, uint64_t parent)
{
	size_t first = explain_first_made(requests, parent);

	return first < requests->made.count && requests->made.at[first].parent == parent;
}

const struct explain_made *explain_made_numbered(const struct explain_requests *requests,
						 uint64_t number)
{
	/* once for each explanation */
	vec_foreach (&requests->made, made)
		if (made->number == number)
			return made;
	return NULL;
}

const struct explain_made *explain_made_in(const struct explain_requests *requests, uint64_t parent,
					   uint64_t from, uint64_t to)
{
	size_t low = explain_first_made(requests, parent);

	for (; low < requests->made.count && requests->made.at[low].parent == parent &&
	       requests->made.at[low].start <= from;
	     low++)
		if (requests->made.at[low].end >= to)
			return &requests->made.at[low];
	return NULL;
}

/* goroutine: of those made for that one alone; 0: of all. */
static const struct explain_made *only_made(const struct explain_requests *requests,
					    uint64_t parent, uint32_t lane, uint64_t from,
					    uint64_t to)
{
	const struct explain_made *found = NULL;

	for (size_t i = explain_first_made(requests, parent);
	     i < requests->made.count && requests->made.at[i].parent == parent &&
	     requests->made.at[i].start < to;
	     i++) {
		if (requests->made.at[i].end <= from ||
		    (lane && (uint32_t)requests->made.at[i].lane != lane))
			continue;
		if (found)
			return NULL;
		found = &requests->made.at[i];
	}
	return found;
}

const struct explain_made *explain_made_beside(const struct explain_requests *requests,
					       uint64_t parent, uint64_t from, uint64_t to)
{
	return only_made(requests, parent, 0, from, to);
}

const struct explain_made *explain_made_by(const struct explain_requests *requests, uint64_t parent,
					   uint32_t lane, uint64_t from, uint64_t to)
{
	return only_made(requests, parent, lane, from, to);
}

const struct explain_served *explain_served_of(const struct explain_requests *requests,
					       const struct explain_made *made)
{
	const struct explain_served *served = requests->served.at, *found = NULL;
	const uint32_t *places = requests->by_connection.at;
	size_t count = requests->by_connection.count;

	if (!made->connection)
		return NULL;
	for (size_t i = search_first(count, k,
				     served[places[k]].connection < made->connection ||
					     (served[places[k]].connection == made->connection &&
					      middle_of(&served[places[k]]) < made->start));
	     i < count && served[places[i]].connection == made->connection &&
	     middle_of(&served[places[i]]) < made->end;
	     i++) {
		if (found)
			return NULL;
		found = &served[places[i]];
	}
	return found;
}

/* The place of the first one served by a thread that ends behind a time. */
static size_t first_behind(const struct explain_requests *requests, uint32_t thread, uint64_t time)
{
	size_t low = 0, high = requests->served.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct explain_served *served = &requests->served.at[middle];

		if (served->answerer < thread ||
		    (served->answerer == thread && served->end <= time))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct explain_served *explain_served_at(const struct explain_requests *requests,
					       uint32_t thread, uint64_t time)
{
	size_t at = first_behind(requests, thread, time);
	const struct explain_served *served = &requests->served.at[at];

	if (at == requests->served.count || served->answerer != thread ||
	    served->thread != thread || served->start > time)
		return NULL;
	return served;
}

const struct explain_served *explain_same_connection(const struct explain_requests *requests,
						     const struct explain_served *served,
						     uint64_t from, uint64_t to)
{
	const struct explain_served *all = requests->served.at;
	const uint32_t *places = requests->by_connection.at;
	size_t count = requests->by_connection.count;
	size_t i = search_first(count, k,
				all[places[k]].connection < served->connection ||
					(all[places[k]].connection == served->connection &&
					 middle_of(&all[places[k]]) < from));

	/* the middle of the one before may be earlier */
	if (i && all[places[i - 1]].connection == served->connection &&
	    all[places[i - 1]].end > from)
		i--;
	if (!served->connection || i == count || all[places[i]].connection != served->connection ||
	    all[places[i]].start >= to || all[places[i]].end > served->start)
		return NULL;
	return &all[places[i]];
}

uint64_t explain_queued_until(const struct explain_requests *requests,
			      const struct request *request, uint64_t *others)
{
	uint32_t thread = request_answerer(request);
	uint64_t until = request_start(request);
	size_t at = first_behind(requests, thread, until);

	*others = 0;
	/* a thread that reads requests itself may have several at a time, as an event loop has */
	if (thread == request->row.thread)
		return until;
	for (; at < requests->served.count; at++) {
		const struct explain_served *served = &requests->served.at[at];

		if (served->answerer != thread || served->end >= request->row.end)
			break;
		if (served->number == request->row.number)
			continue;
		until = served->end;
		++*others;
	}
	return until;
}

bool explain_serves_others(const struct explain_requests *requests, uint32_t thread,
			   uint64_t number, uint64_t from, uint64_t to)
{
	for (size_t at = first_behind(requests, thread, from); at < requests->served.count; at++) {
		const struct explain_served *served = &requests->served.at[at];

		if (served->answerer != thread || served->earliest >= to)
			return false;
		if (served->thread == thread && served->number != number && served->start < to)
			return true;
	}
	return false;
}

struct explain_at_once explain_at_once(const struct explain_requests *requests,
				       const struct request *request)
{
	uint32_t thread = request_answerer(request);
	uint64_t start = request_start(request), end = request->row.end;
	struct explain_at_once others = {0};

	if (thread != request->row.thread)
		return others;
	for (size_t at = first_behind(requests, thread, start); at < requests->served.count; at++) {
		const struct explain_served *served = &requests->served.at[at];
		uint64_t from, to;

		if (served->answerer != thread || served->earliest >= end)
			break;
		if (served->number == request->row.number || served->start >= end)
			continue;
		from = served->start > start ? served->start : start;
		to = served->end < end ? served->end : end;
		others.count++;
		if (to - from > others.longest) {
			others.longest = to - from;
			others.endpoint = served->endpoint;
		}
	}
	return others;
}

const struct explain_served *explain_served_before(const struct explain_requests *requests,
						   const struct explain_served *served,
						   uint64_t sent,
						   const struct explain_served *before)
{
	size_t at = before ? (size_t)(before - requests->served.at) + 1
			   : first_behind(requests, served->answerer, sent);

	if (served->thread != served->answerer)
		return NULL;
	for (; at < requests->served.count; at++) {
		const struct explain_served *other = &requests->served.at[at];
		const struct request request = explain_served_request(other);

		if (other->answerer != served->answerer || other->end > served->start)
			return NULL;
		if (other->thread == other->answerer && !explain_at_once(requests, &request).count)
			return other;
	}
	return NULL;
}

struct explain_at_once explain_at_once_there(const struct explain_requests *requests,
					     const struct request *request)
{
	const struct explain_made *made = explain_made_numbered(requests, request->row.number);
	const struct explain_served *served = made ? explain_served_of(requests, made) : NULL;
	struct request there;

	if (!served)
		return (struct explain_at_once){0};
	there = explain_served_request(served);
	if (made->start < served->start)
		there.row.duration = served->end - made->start;
	return explain_at_once(requests, &there);
}
