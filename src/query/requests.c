// SPDX-License-Identifier: Apache-2.0
#include "query/requests.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "film/events.h"

uint32_t requests_event(const struct film *film)
{
	uint32_t event = film_find_event(film, event_type(EVENT_REQUESTS)->name);

	return event && film_has_requests(film, event) ? event : 0;
}

struct walk {
	const struct film *film;
	int (*emit)(void *context, const struct request *request);
	void *context;
	struct map last; /* of requests that outlive a part of the film: the end of the last row */
};

static const char *mark_of(const struct film *film, uint32_t frame)
{
	return film->functions[film->frames[frame].function].name;
}

static void fill_texts(const struct film_requests *rows, size_t i, struct request *request)
{
	for (size_t word = 0; word < FILM_REQUEST_PATH / 8; word++)
		memcpy(request->row.path + 8 * word, &rows->path[word][i], 8);
	for (size_t word = 0; word < FILM_REQUEST_ID / 8; word++)
		memcpy(request->row.id + 8 * word, &rows->id[word][i], 8);
	memcpy(request->path, request->row.path, FILM_REQUEST_PATH);
	memcpy(request->id, request->row.id, FILM_REQUEST_ID);
	request->path[FILM_REQUEST_PATH] = request->id[FILM_REQUEST_ID] = 0;
}

static int emit_rows(void *context, const struct film_requests *rows)
{
	const struct walk *walk = context;
	int err = 0;

	for (size_t i = 0; !err && i < rows->count; i++) {
		const uint64_t *last = rows->flags[i] & FILM_REQUEST_GOES_ON
					       ? map_get(&walk->last, rows->number[i])
					       : NULL;
		struct request request = {
			.row =
				{
					.end = rows->end[i],
					.duration = rows->duration[i],
					.first = rows->first[i],
					.received = rows->received[i],
					.sent = rows->sent[i],
					.connection = rows->connection[i],
					.number = rows->number[i],
					.parent = rows->parent[i],
					.goroutine = rows->goroutine[i],
					.peer = {rows->peer[0][i], rows->peer[1][i]},
					.own = {rows->own[0][i], rows->own[1][i]},
					.thread = rows->thread[i],
					.stack = rows->stack[i],
					.endpoint = rows->endpoint[i],
					.place = rows->place[i],
					.answerer = rows->answerer[i],
					.status = rows->status[i],
					.flags = rows->flags[i],
					.stream = rows->stream[i],
					.peer_port = (uint16_t)rows->peer_port[i],
					.own_port = (uint16_t)rows->own_port[i],
					.protocol = (uint8_t)rows->protocol[i],
					.role = (uint8_t)rows->role[i],
					.id_kind = (uint8_t)rows->id_kind[i],
				},
			.endpoint = mark_of(walk->film, rows->endpoint[i]),
			.place = mark_of(walk->film, rows->place[i]),
		};

		if (last && *last != rows->end[i])
			continue;
		fill_texts(rows, i, &request);
		err = walk->emit(walk->context, &request);
	}
	return err;
}

/* Whether a request outlived the film, or one that it is made of: their stacks say it. */
static bool has_not_over(const struct film *film)
{
	size_t words = strlen(FILM_REQUEST_NOT_OVER);

	for (uint32_t i = 1; i < film->function_count; i++) {
		size_t length = strlen(film->functions[i].name);

		if (length > words && length < 32 &&
		    !strcmp(film->functions[i].name + length - words, FILM_REQUEST_NOT_OVER))
			return true;
	}
	return false;
}

static int add_last(void *context, const struct film_requests *rows)
{
	struct map *last = context;

	for (size_t i = 0; i < rows->count; i++)
		if ((rows->flags[i] & FILM_REQUEST_GOES_ON || map_get(last, rows->number[i])) &&
		    !map_put(last, rows->number[i], rows->end[i]))
			return -ENOMEM;
	return 0;
}

int requests_each(struct film *film, uint64_t from, uint64_t to,
		  int (*emit)(void *context, const struct request *request), void *context,
		  struct fail *why)
{
	struct walk walk = {film, emit, context};
	uint32_t event = requests_event(film);
	int err = 0;

	if (event && has_not_over(film))
		err = film_each_requests(film, event, from, UINT64_MAX, add_last, &walk.last, why);
	if (event && !err)
		err = film_each_requests(film, event, from, to, emit_rows, &walk, why);
	map_free(&walk.last);
	return err;
}

const char *request_role_name(const struct request *request)
{
	switch (request->row.role) {
	case FILM_REQUEST_SERVED:
		return "served";
	case FILM_REQUEST_MADE:
		return "made";
	default:
		return "unknown";
	}
}

static void number_name(const struct request *request, char name[REQUEST_NAME_MAX])
{
	snprintf(name, REQUEST_NAME_MAX, "%016" PRIx64, request->row.number);
}

void request_name(const struct request *request, char name[REQUEST_NAME_MAX])
{
	if (*request->id)
		memcpy(name, request->id, REQUEST_NAME_MAX);
	else
		number_name(request, name);
}

bool request_has_id(const struct request *request, const char *id)
{
	char name[REQUEST_NAME_MAX];

	number_name(request, name);
	return *id && (!strcmp(id, name) || !strcmp(id, request->id));
}

void request_peer_place(const struct request *request, uint64_t place[2])
{
	/* each connection has a number there */
	place[0] = request->row.flags & FILM_REQUEST_UNIX ? 0 : request->row.peer[0];
	place[1] = request->row.peer[1];
}

const char *request_peer(const struct request *request, char *to, size_t size)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	const uint8_t *address = (const uint8_t *)request->row.peer;
	char text[INET6_ADDRSTRLEN] = "";

	if (request->row.flags & FILM_REQUEST_UNIX) {
		bool is_named = request->row.role == FILM_REQUEST_MADE && *request->place;

		snprintf(to, size, "unix socket%s%s", is_named ? " " : "",
			 is_named ? request->place : "");
	} else if (request->row.protocol == FILM_PROTOCOL_MARKER) {
		snprintf(to, size, "none");
	} else if (!memcmp(address, mapped, sizeof(mapped))) {
		inet_ntop(AF_INET, address + sizeof(mapped), text, sizeof(text));
		snprintf(to, size, "%s:%u", text, request->row.peer_port);
	} else {
		inet_ntop(AF_INET6, address, text, sizeof(text));
		snprintf(to, size, "[%s]:%u", text, request->row.peer_port);
	}
	return to;
}

const char *request_own(const struct request *request, char *to, size_t size)
{
	struct request swapped = *request;

	swapped.row.peer[0] = request->row.own[0];
	swapped.row.peer[1] = request->row.own[1];
	swapped.row.peer_port = request->row.own_port;
	return request_peer(&swapped, to, size);
}
