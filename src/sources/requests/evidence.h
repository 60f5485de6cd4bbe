/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_REQUESTS_EVIDENCE_H
#define SOURCES_REQUESTS_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "sources/requests/record.h"

/*
 * For which request that is served a program makes another one. Each kind of evidence is a row of
 * the table in evidence.c, at its rank. A row needs the files of its kind only, and no other row
 * needs it.
 *
 * As a request is made, made() of each row is called in the order of the ranks, and may set the
 * parent. As that request is over, keep() of each row is called in the same order, until one keeps
 * it, because its kind of evidence is yet to come. That one gives it back by
 * requests_evidence_settle(), and the rows behind it follow. When no row keeps it, it is written. A
 * wrong parent is worse than none.
 */
struct requests_track;
struct connection;
struct asked;

/* What happens meanwhile. */
enum requests_fact {
	REQUESTS_FACT_RECORD,	/* record: something is moved; before all that follows from it */
	REQUESTS_FACT_CONNECTS, /* record: its thread begins to connect */
	REQUESTS_FACT_MOVES,	/* connection, record: a piece is moved, and not read yet */
	REQUESTS_FACT_MOVED,	/* the same piece has been read */
	REQUESTS_FACT_CLOSED,	/* number: of a connection */
	REQUESTS_FACT_SERVES,	/* asked, record, time: one begins to be served */
	REQUESTS_FACT_STREAMS,	/* asked, record: it turns out to be of a stream */
	REQUESTS_FACT_ANSWERS,	/* asked, time: the first piece of its answer */
	/* number: key_of_thread(), time: the thread answers one from before the recording */
	REQUESTS_FACT_ANSWERS_OLDER,
	REQUESTS_FACT_OVER, /* asked, time: it is over, and written or kept */
	REQUESTS_FACT_TICK, /* about once a second */
	REQUESTS_FACT_ENDS, /* a film ends: what is kept is to be given back */
};

struct requests_event {
	enum requests_fact fact;
	struct requests_track *track;
	struct connection *connection;
	struct asked *asked;
	const struct requests_record *record;
	uint64_t number;
	uint64_t time; /* ns */
};

struct requests_evidence {
	/* all FILM_REQUEST_PARENT_BY_* that it sets; 0: the parent of a request without one */
	uint32_t flags;
	/* Makes its state, which the other functions receive; null: no memory. */
	void *(*create)(struct requests_track *track);
	void (*free)(void *state);
	/* event: asked, connection, record. Returns whether rows behind it are not to be asked. */
	bool (*made)(void *state, const struct requests_event *event);
	/*
	 * A request that was made is over. Returns whether kept, a copy, now belongs to the row.
	 * Without memory kept is null: then false.
	 */
	bool (*keep)(void *state, const struct asked *asked, struct asked *kept);
	void (*see)(void *state, const struct requests_event *event);
};

/* Functions of a row whose state is made by NAME_new(settle, track) and freed by NAME_free(). */
#define REQUESTS_EVIDENCE_STATE(name, settle)             \
	static void *create(struct requests_track *track) \
	{                                                 \
		return name##_new(settle, track);         \
	}                                                 \
	static void free_state(void *state)               \
	{                                                 \
		name##_free(state);                       \
	}

extern const struct requests_evidence requests_by_marker, requests_by_lane, requests_by_task,
	requests_by_order, requests_by_content, requests_by_thread_alone;

enum {
	REQUESTS_EVIDENCES_MAX = 16
};

/* False: no memory. requests_evidence_free() is needed in both cases. */
bool requests_evidence_create(struct requests_track *track);
void requests_evidence_free(struct requests_track *track);

/* One is made. event: as of made(). */
void requests_evidence_made(const struct requests_event *event);
void requests_evidence_see(const struct requests_event *event);

/* One is over, at a time: writes it, now, or once it is known for which one it was made. */
void requests_evidence_over(struct requests_track *track, struct asked *asked, uint64_t time);

/*
 * A row gives back what it kept. parent: for which one it was made, by this evidence; 0: it does
 * not say.
 */
void requests_evidence_settle(struct requests_track *track, const struct requests_evidence *row,
			      struct asked *kept, uint64_t parent);

/* Whether only its thread says for which one it was made: the thread served that one alone. */
bool requests_evidence_is_thread(const struct asked *asked);

#endif
