/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_REQUESTS_TRACK_PRIVATE_H
#define SOURCES_REQUESTS_TRACK_PRIVATE_H

/* What is known of connections, for track.c, parents.c, lasting.c. */
#include "base/map.h"
#include "base/vec.h"
#include "sources/requests/early.h"
#include "sources/requests/loops.h"
#include "sources/requests/open.h"
#include "sources/requests/passed.h"
#include "sources/requests/starts.h"
#include "sources/requests/tasks.h"
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
	bool is_slow;	 /* lasts() said so */
	bool is_one_of;	 /* those that its thread served; for which is not known */
	bool may_be_for; /* one of those, or of its process; which may turn out, */
	bool is_of_task; /* by the task that made it */
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
	struct requests_starts *starts;
	struct requests_loops *loops;
	struct requests_passed *passed;
	struct requests_early *early;
	struct requests_tasks *tasks;
	struct requests_marker *marker; /* null: no requests are marked */
	struct requests_counts counts;
};

static inline uint64_t key_of_thread(const struct capture_identity *identity)
{
	return (uint64_t)identity->pid << 32 | identity->tid;
}

/*
 * -- parents.c: for which request another one is made ----------------------------------
 */

/* Whether a process has goroutines: what its threads do says nothing then. */
bool requests_parents_has_goroutines(const struct requests_track *track,
				     const struct capture_identity *identity);

/* By what one is found, within its process; 0: by nothing. */
uint64_t requests_parents_id(const struct capture_identity *identity, const char *id);
uint64_t requests_parents_task(const struct capture_identity *identity, uint64_t number);

/* It begins to be served (1), or ends (-1), at a time; of one that is made nothing happens. */
void requests_parents_serve(struct requests_track *track, const struct asked *asked, int64_t by,
			    uint64_t time);
/* What the thread of a piece has published becomes its id. */
void requests_parents_context(struct requests_track *track, struct asked *asked,
			      const struct requests_record *record);
/* One that is made, by that piece; reader: of its connection. */
void requests_parents_find(struct requests_track *track, struct asked *asked,
			   const struct requests_record *record, uint64_t reader);
/* It turns out that it is made for a goroutine. */
void requests_parents_asker(struct requests_track *track, struct asked *asked, uint64_t number);
/* Writes one that is over, maybe later: once it is known for which one it was made. */
void requests_parents_over(struct requests_track *track, struct asked *asked);
/* A requests_loops_give and a requests_tasks_give, whose context is the track. */
void requests_parents_by_order(void *context, void *kept, uint64_t parent);
void requests_parents_by_task(void *context, void *kept, uint64_t parent);
/* A requests_passed_give, the same. */
void requests_parents_by_content(void *context, void *kept, uint64_t parent);
/* A requests_early_give and a requests_starts_give, the same. */
void requests_parents_by_thread(void *context, void *kept, bool is_wrong);
void requests_parents_by_start(void *context, void *kept, bool is_right);

/* About once a second: those that were kept for the goroutines that made them. */
void requests_parents_tick(struct requests_track *track);

/* A piece, before and behind that it is read. */
void requests_parents_before(struct requests_track *track, struct connection *connection,
			     const struct requests_record *record);
void requests_parents_behind(struct requests_track *track, const struct connection *connection,
			     const struct requests_record *record);

/*
 * -- streams.c: which goroutine handles a stream of HTTP/2, or asks there --------------
 */

/* One that is served was received by that piece. */
void requests_streams_begin(struct requests_track *track, struct asked *asked,
			    const struct requests_record *record);
/*
 * One is made in a stream, which a goroutine reads. Returns the number of the goroutine that has
 * another one send it; 0: not known, so far.
 */
uint64_t requests_streams_made(struct requests_track *track, struct asked *asked, uint64_t reader);
void requests_streams_end(struct requests_track *track, const struct asked *asked);

/*
 * -- track.c, lasting.c --------------------------------------------------------
 */

/* The connection of that number; null: it is not known. */
struct connection *requests_track_connection(struct requests_track *track, uint64_t number);
/* Its request of that stream; null: it has none. */
struct asked *requests_track_of_stream(struct connection *connection, uint32_t stream);

/* A request as it stands at a time, which is its end if it has no byte of an answer. */
void requests_asked_row(struct asked *asked, uint64_t now);

/* Those that last: tells of them once (requests_to.lasts). */
void requests_lasting_look(struct requests_track *track, uint64_t now);

#endif
