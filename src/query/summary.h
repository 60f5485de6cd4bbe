/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_SUMMARY_H
#define QUERY_SUMMARY_H

#include "base/vec.h"
#include "film/reader.h"
#include "query/question.h"
#include "query/reasons.h"

/*
 * One page about a film: what it holds, and what stands out. Each number is that of the query
 * that answers the same question by itself: a function's is that of a report, a lock's that of
 * --by lock, an endpoint's that of the sums of requests.
 */

/* What can stand out. The order is that of show/summary_words.c. */
enum summary_kind {
	SUMMARY_FUNCTION, /* a function that took most by itself */
	SUMMARY_STACK,	  /* the stack that most was spent in */
	SUMMARY_WAITING,  /* the same of waits */
	SUMMARY_GROWTH,	  /* the same of what a level has grown by */
	SUMMARY_CALLED,	  /* a traced function whose calls took most */
	SUMMARY_WAIT,	  /* what threads waited for */
	SUMMARY_LOCK,	  /* a lock, with those that held it */
	SUMMARY_STATE,	  /* a state that threads were in */
	SUMMARY_OBJECT,	  /* a file, a connection, a lock that threads waited for */
	SUMMARY_ENDPOINT, /* an endpoint whose requests took most */
	SUMMARY_REQUEST,  /* one of the slowest requests */
	SUMMARY_DEATH,	  /* a thread that a signal ended */
	SUMMARY_KINDS
};

/* Subject and detail are as in the film: hostile, escape them. */
struct summary_finding {
	enum summary_kind kind;
	uint32_t event; /* of the film */
	char *subject;	/* "parse_order", "GET /orders/" and a star */
	char *detail;	/* an image, holders, a thread; "" */
	char *id;	/* by which a request is explained; "" */
	uint64_t value; /* in the event's unit */
	uint64_t whole; /* of which value is a part; 0: it is a part of nothing */
	uint64_t count; /* of waits, calls or requests; 0: not counted */
	uint64_t longest;
	uint64_t median, p99; /* of requests; 0: not known */
	uint64_t failed;
};

struct summary_event {
	uint32_t event;
	uint64_t samples, total; /* total: in the event's unit; of a level the most that it was */
	uint64_t peak;		 /* of a level: when it was that, of the film's clock; else 0 */
	uint64_t complete;	 /* of samples: those whose stacks are whole */
	bool has_total, has_stacks;
	struct view_reasons losses; /* of this event alone */
};

struct summary_process {
	uint32_t process;
	uint64_t total; /* of summary->measure */
};

/* All zero: a page of all kinds. */
struct summary_wanted {
	uint32_t kinds;	   /* a bit for each enum summary_kind; 0: all */
	unsigned int most; /* of each kind and event; 0: a few */
};

struct summary {
	struct film *film;
	struct summary_wanted wanted;
	uint64_t from, to;
	vec(struct summary_event) events;
	struct view_reasons losses; /* of no single event */
	uint32_t measure;	    /* the event by which processes are sorted; 0: none */
	uint64_t measured;
	vec(struct summary_process) processes; /* those that took most first; not all */
	uint32_t process_count, thread_count;  /* of the film */
	vec(struct summary_finding) findings;  /* by event, what is most first */
};

/*
 * Sums up a film, or what a question asks for: its event, threads and time. 0 or a negative errno
 * with *why filled; summary_free() is needed in either case. The film must outlive it.
 */
int summary_make(struct film *film, const struct question *q, const struct summary_wanted *wanted,
		 struct summary *summary, struct fail *why);
void summary_free(struct summary *summary);

#endif
