// SPDX-License-Identifier: Apache-2.0
#include "query/explain/peers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "query/objects.h"
#include "query/requests.h"

#define ARROW		" -> "
#define CLIENTS_FROM	32768
#define CLIENTS_TO	60999
#define PROCESS_SEVERAL 0

struct peers {
	const struct film *film;
	struct map ends;    /* an end of a connection: the process that has it, PROCESS_SEVERAL */
	uint64_t *own;	    /* by frame: a hash of the connection, seen from the one end, */
	uint64_t *reversed; /* and from the other one; 0: not a connection */
};

/*
 * A hash of "ADDRESS:PORT". A socket of IPv6 that a client has reached by IPv4 names both addresses
 * as "[::ffff:10.0.0.7]:5432"; the client's socket does not.
 */
static uint64_t hash_end(const char *end, size_t size)
{
	static const char mapped[] = "[::ffff:";
	const size_t before = sizeof(mapped) - 1;
	const char *close = memchr(end, ']', size);
	char plain[64];
	size_t address, port;

	if (!close || size <= before || size > sizeof(plain) || memcmp(end, mapped, before) != 0 ||
	    close < end + before || !memchr(end + before, '.', (size_t)(close - end) - before))
		return hash_bytes(end, size);
	address = (size_t)(close - end) - before;
	port = size - (size_t)(close + 1 - end);
	memcpy(plain, end + before, address);
	memcpy(plain + address, close + 1, port);
	return hash_bytes(plain, address + port);
}

static uint64_t hash_ends(const char *own, size_t own_size, const char *peer, size_t peer_size)
{
	const uint64_t parts[] = {hash_end(own, own_size), hash_end(peer, peer_size)};

	return hash_bytes(parts, sizeof(parts));
}

/* Of a connection, as texts within its name. */
struct ends {
	const char *own, *peer;
	size_t own_size, peer_size;
};

/* "tcp 10.0.0.1:40212 -> 10.0.0.7:5432"; false: it is not such a connection */
static bool find_ends(const char *name, struct ends *ends)
{
	const char *arrow;

	if (strncmp(name, "tcp ", 4) != 0 || !(arrow = strstr(name, ARROW)))
		return false;
	ends->own = name + 4;
	ends->own_size = (size_t)(arrow - ends->own);
	ends->peer = arrow + strlen(ARROW);
	ends->peer_size = strlen(ends->peer);
	return true;
}

uint64_t explain_ends_of(const struct request *request)
{
	char own[REQUEST_PEER_MAX], peer[REQUEST_PEER_MAX];

	if (request->row.flags & FILM_REQUEST_UNIX)
		return 0;
	request_own(request, own, sizeof(own));
	request_peer(request, peer, sizeof(peer));
	return hash_ends(own, strlen(own), peer, strlen(peer));
}

uint64_t explain_ends_of_object(const char *object)
{
	struct ends ends;

	return find_ends(object, &ends)
		       ? hash_ends(ends.own, ends.own_size, ends.peer, ends.peer_size)
		       : 0;
}

static void learn_object(struct peers *peers, uint32_t frame)
{
	struct ends ends;

	if (!find_ends(object_name(peers->film, frame), &ends))
		return;
	peers->own[frame] = hash_ends(ends.own, ends.own_size, ends.peer, ends.peer_size);
	peers->reversed[frame] = hash_ends(ends.peer, ends.peer_size, ends.own, ends.own_size);
}

static bool is_port_of_client(const char *end, size_t size)
{
	const char *colon = memrchr(end, ':', size);
	long port = colon ? strtol(colon + 1, NULL, 10) : 0;

	return port >= CLIENTS_FROM && port <= CLIENTS_TO;
}

bool explain_seems_opened(const char *object)
{
	struct ends ends;

	return find_ends(object, &ends) && is_port_of_client(ends.own, ends.own_size) &&
	       !is_port_of_client(ends.peer, ends.peer_size);
}

static bool learn_end(struct peers *peers, uint64_t end, uint32_t process)
{
	const uint64_t *known = map_get(&peers->ends, end);

	if (known && *known != process)
		process = PROCESS_SEVERAL;
	return map_put(&peers->ends, end, process);
}

static bool learn_ends(struct peers *peers, const struct histories *histories)
{
	for (size_t i = 0; i < histories->count; i++) {
		const struct slice *slice = &histories->slices[i];
		uint32_t process = peers->film->threads[slice->thread].process;
		uint64_t end = slice->object ? peers->own[slice->object] : 0;

		if (end && !learn_end(peers, end, process))
			return false;
	}
	return true;
}

/* A process that serves by an event loop never waits for a connection itself. */
static int learn_request(void *context, const struct request *request)
{
	struct peers *peers = context;
	/* of a Unix socket the kernel tells the waker */
	uint64_t end = explain_ends_of(request);

	if (!end)
		return 0;
	return learn_end(peers, end, peers->film->threads[request->row.thread].process) ? 0
											: -ENOMEM;
}

/* The one thread of a process that ran at a ns; 0: none did, or several. */
static uint32_t runner_of(const struct peers *peers, const struct occupants *ran, uint64_t process,
			  uint64_t time)
{
	uint32_t found = 0;

	for (uint32_t cpu = 0; cpu < ran->cpus; cpu++) {
		size_t at = occupants_find(ran, cpu, time);
		const struct slice *slice = &ran->histories->slices[ran->ran[at]];

		if (at == ran->first[cpu + 1] || slice->start > time ||
		    peers->film->threads[slice->thread].process != process)
			continue;
		if (found)
			return 0;
		found = slice->thread;
	}
	return found;
}

static void mark(const struct peers *peers, const struct occupants *ran,
		 struct histories *histories)
{
	for (size_t i = 0; i < histories->count; i++) {
		struct slice *slice = &histories->slices[i];
		uint64_t end = slice->object ? peers->reversed[slice->object] : 0;
		const uint64_t *process = end ? map_get(&peers->ends, end) : NULL;
		uint32_t waker;

		if (!process || *process == PROCESS_SEVERAL || slice->flags & FILM_WAIT_OPEN ||
		    (slice->context != FILM_WAIT_BY_SOFTIRQ &&
		     slice->context != FILM_WAIT_BY_EITHER))
			continue;
		waker = runner_of(peers, ran, *process, slice->end - 1);
		if (!waker || waker == slice->thread)
			continue;
		slice->waker = waker;
		slice->context = FILM_WAIT_BY_THREAD;
		slice->flags |= HISTORY_PEER;
	}
}

/* The process at the other end of each connection. */
static void keep(const struct peers *peers, uint32_t *by_frame)
{
	for (uint32_t frame = 1; frame < peers->film->frame_count; frame++) {
		const uint64_t *process = peers->reversed[frame]
						  ? map_get(&peers->ends, peers->reversed[frame])
						  : NULL;

		by_frame[frame] = process ? (uint32_t)*process : PROCESS_SEVERAL;
	}
}

int explain_peers(struct explainer *e, struct fail *why)
{
	struct film *film = e->film;
	struct peers peers = {.film = film};
	int err = 0;

	peers.own = calloc(film->frame_count + 1ull, sizeof(*peers.own));
	peers.reversed = calloc(film->frame_count + 1ull, sizeof(*peers.reversed));
	e->peers = calloc(film->frame_count + 1ull, sizeof(*e->peers));
	if (!peers.own || !peers.reversed || !e->peers)
		err = -ENOMEM;
	for (uint32_t frame = 1; !err && frame < film->frame_count; frame++)
		if (film->frames[frame].kind == FILM_FRAME_MARK)
			learn_object(&peers, frame);
	if (!err && !learn_ends(&peers, &e->histories))
		err = -ENOMEM;
	if (!err)
		err = requests_each(film, 0, UINT64_MAX, learn_request, &peers, why);
	if (!err)
		keep(&peers, e->peers);
	if (!err && peers.ends.count)
		err = occupants_make(&e->occupants, &e->histories);
	if (!err && peers.ends.count)
		mark(&peers, &e->occupants, &e->histories);
	free(peers.own);
	free(peers.reversed);
	map_free(&peers.ends);
	return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot follow connections") : err;
}
