/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_SUMMARY_H
#define QUERY_SUMMARY_H

#include "base/vec.h"
#include "film/reader.h"
#include "query/question.h"
#include "query/reasons.h"

/*
 * A summary of a film: what it contains, and what is remarkable. Each number equals that of the
 * dedicated query: a function's that of a report, a lock's that of --by lock, an endpoint's that of
 * the sums of requests.
 */

/* Kinds of findings, in the order of show/summary_words.c. */
enum summary_kind {
	SUMMARY_FUNCTION, /* a function with the largest self value */
	SUMMARY_STACK,	  /* the stack with the largest value */
	SUMMARY_WAITING,  /* the same for waits */
	SUMMARY_GROWTH,	  /* the same for the growth of a level */
	SUMMARY_CALLED,	  /* a traced function with the largest total */
	SUMMARY_WAIT,	  /* a cause of waits */
	SUMMARY_LOCK,	  /* a lock, with its holders */
	SUMMARY_STATE,	  /* a state of threads */
	SUMMARY_OBJECT,	  /* an object of waits: a file, a connection, a lock */
	SUMMARY_ENDPOINT, /* an endpoint with the largest total */
	SUMMARY_REQUEST,  /* one of the slowest requests */
	SUMMARY_DEATH,	  /* a thread that a signal killed */
	SUMMARY_KINDS
};

/* subject and detail come from the film: hostile, escape them. */
struct summary_finding {
	enum summary_kind kind;
	uint32_t event; /* id in the film */
	char *subject;	/* "parse_order", "GET /orders/" and a star */
	char *detail;	/* an image, holders, a thread; or "" */
	char *id;	/* id of a request, for explain; or "" */
	uint64_t value; /* in the event's unit */
	uint64_t whole; /* total of which value is a part; 0: none */
	uint64_t count; /* number of waits, calls or requests; 0: not counted */
	uint64_t longest;
	uint64_t median, p99; /* for requests; 0: not known */
	uint64_t failed;
};

struct summary_event {
	uint32_t event;
	uint64_t samples, total; /* total: in the event's unit; for a level its peak */
	uint64_t peak;		 /* for a level: time of the peak, by the film's clock; else 0 */
	uint64_t complete;	 /* number of samples with complete stacks */
	bool has_total, has_stacks;
	struct view_reasons losses; /* of this event alone */
};

struct summary_process {
	uint32_t process;
	uint64_t total; /* in the event summary->measure */
};

/* What a summary contains. All zero: all kinds. */
struct summary_wanted {
	uint32_t kinds;	   /* set of enum summary_kind; 0: all */
	unsigned int most; /* most findings per kind and event; 0: a few */
};

struct summary {
	struct film *film;
	struct summary_wanted wanted;
	uint64_t from, to;
	vec(struct summary_event) events;
	struct view_reasons losses; /* that belong to no single event */
	uint32_t measure;	    /* id of the event by which processes are sorted; 0: none */
	uint64_t measured;
	vec(struct summary_process) processes; /* largest total first; not all */
	size_t processes_of_all;	       /* number of processes with a total */
	uint32_t process_count, thread_count;  /* of the film */
	vec(struct summary_finding) findings;  /* by event, largest first */
};

/*
 * Sums up a film, or the event, threads and time that a question selects. Returns 0 or a negative
 * errno with *why filled; call summary_free() in both cases. The film must outlive the summary.
 */
int summary_make(struct film *film, const struct question *q, const struct summary_wanted *wanted,
		 struct summary *summary, struct fail *why);
void summary_free(struct summary *summary);

/* By which findings of one kind and one event are sorted; the order of summary_order_name(). */
enum summary_order {
	SUMMARY_BY_VALUE, /* largest first, as summary_make() has them; so are the next but names */
	SUMMARY_BY_NAME,
	SUMMARY_BY_COUNT,
	SUMMARY_BY_LONGEST,
	SUMMARY_ORDERS
};
const char *summary_order_name(enum summary_order order); /* "value" */
void summary_sort(struct summary *summary, enum summary_order order, bool is_reversed);

#endif
