/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_REQUESTS_TRACK_PRIVATE_H
#define SOURCES_REQUESTS_TRACK_PRIVATE_H

/* What is known of connections, for track.c, lasting.c and the rows of evidence.h. */
#include "base/map.h"
#include "base/vec.h"
#include "sources/requests/evidence.h"
#include "sources/requests/open.h"
#include "sources/requests/starts.h"
#include "sources/requests/threads.h"
#include "sources/requests/track.h"

/* A request that is not over. */
struct asked {
	struct film_request row;
	char endpoint[PROTOCOL_ENDPOINT_MAX];
	uint64_t begun, first, last;
	struct capture_identity identity, answerer;
	uint64_t id_key; /* 0: it has none */
	uint64_t says;	 /* of struct protocol_request */
	/* of the one that received it, or handles its stream; 0: none, or not known */
	uint64_t goroutine_key;
	/* of its stream, by the goroutine that received it, and by the one that started that; 0 */
	uint64_t stream_keys[2];
	uint32_t stream; /* its number there; 0: answers come in order */
	bool is_answered;
	bool is_slow;		/* lasts() said so */
	bool is_one_of;		/* it was made for one of several, and for which is not known */
	uint64_t thread_serves; /* how many its thread served when it made this one */
	/* goroutines between the one that made it, and the one that serves row.parent */
	struct requests_line line;
};

struct connection {
	uint64_t number;
	const struct protocol *protocol;
	void *state;
	uint8_t role;	     /* enum film_request_role; 0: not known yet */
	uint64_t moved[2];   /* where the next piece of each direction begins */
	bool is_met[2];	     /* it had a piece in that direction */
	uint64_t threads[2]; /* key_of_thread() of the last one in each direction; 0 */
	uint64_t last;
	vec(struct asked) queue;      /* in the order in which they were asked */
	struct requests_record about; /* addresses, ports, flags: of its first piece */
	uint64_t reader; /* of Go, the goroutine that has received there last; 0: not known */
};

struct requests_track {
	struct requests_to to;
	uint64_t next;	  /* number */
	struct map index; /* number of a connection: its place */
	vec(struct connection) all;
	struct requests_open by_thread, by_id, by_goroutine;
	struct requests_open by_stream; /* numbers of connections */
	/* numbers of goroutines that ask in streams which have not been sent, by the same key */
	struct map askers;
	struct requests_threads threads;
	struct requests_starts *starts;	      /* that of requests_by_lane */
	struct requests_marker *marker;	      /* null: no requests are marked */
	void *states[REQUESTS_EVIDENCES_MAX]; /* of the rows of evidence.c */
	struct requests_counts counts;
};

static inline uint64_t key_of_thread(const struct capture_identity *identity)
{
	return (uint64_t)identity->pid << 32 | identity->tid;
}

/*
 * -- served.c: which requests are served just now ---------------------------------------
 */

/* Whether a process has lanes of its own, goroutines: its threads say nothing then. */
bool requests_served_has_lanes(const struct requests_track *track,
			       const struct capture_identity *identity);

/* By what one is found, within its process; 0: by nothing. */
uint64_t requests_served_id(const struct capture_identity *identity, const char *id);
uint64_t requests_served_task(const struct capture_identity *identity, uint64_t number);

/* It begins to be served (1), or ends (-1), at a time; of one that is made nothing happens. */
void requests_served_change(struct requests_track *track, const struct asked *asked, int64_t by,
			    uint64_t time);
/* What the thread of a piece has published becomes its id. */
void requests_served_context(struct requests_track *track, struct asked *asked,
			     const struct requests_record *record);

/*
 * -- by_lane.c, streams.c: which goroutine handles a stream, or asks there ---------
 */

/* One that is served was received by that piece. */
void requests_streams_begin(struct requests_track *track, struct asked *asked,
			    const struct requests_record *record);
/*
 * One is made in a stream, which a goroutine reads. Returns the number of the goroutine that has
 * another one send it; 0: not known, so far.
 */
uint64_t requests_streams_made(struct requests_track *track, struct asked *asked, uint64_t reader);
/* It turns out that it is made for a goroutine. */
void requests_streams_asker(struct requests_track *track, struct asked *asked, uint64_t number);
void requests_streams_end(struct requests_track *track, const struct asked *asked);

/*
 * -- track.c, lasting.c --------------------------------------------------------
 */

/* The connection of that number; null: it is not known. */
struct connection *requests_track_connection(struct requests_track *track, uint64_t number);
/* Its request of that stream; null: it has none. */
struct asked *requests_track_of_stream(struct connection *connection, uint32_t stream);

/* The number of its request, if it has just one, and no streams; else 0. */
uint64_t requests_track_only_one(const struct connection *connection);

/* A request as it stands at a time, which is its end if it has no byte of an answer. */
void requests_asked_row(struct asked *asked, uint64_t now);

/* Those that last: tells of them once (requests_to.lasts). */
void requests_lasting_look(struct requests_track *track, uint64_t now);

#endif
