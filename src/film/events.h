/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_EVENTS_H
#define FILM_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/fail.h"
#include "film/film.h"

/*
 * What stackcam counts and times: a row for each event, for both halves. Code that must know what
 * an event is asks here; no other file compares an event's name or its unit.
 *
 * Films also hold events without a row: those that others pushed under names of their own. Each of
 * them is served by its unit.
 */

/* The events that stackcam films; sources name theirs by these. */
enum event_id {
	EVENT_ON_CPU,
	EVENT_CALLS,
	EVENT_CALL_STACKS,
	EVENT_OFF_CPU,
	EVENT_RUN_QUEUE,
	EVENT_IDLE,
	EVENT_LOCK,
	EVENT_THREADS, /* every slice of every thread */
	EVENT_DUMP,    /* threads at one moment */
	EVENT_MEM_GROW,
	EVENT_FILE_FAULTS,
	EVENT_MEM_ALLOC,
	EVENT_MEM_INUSE,
	EVENT_RSS,
	EVENT_MEM_BESIDE,
	EVENT_ON_GPU,	 /* what kernels take on GPUs */
	EVENT_HBM_ALLOC, /* memory of devices: GPUs */
	EVENT_HBM_INUSE,
	EVENT_GO_WAIT,
	EVENT_GO_QUEUE,
	EVENT_GO_IDLE,
	EVENT_GO_LANES,	     /* every slice of every goroutine */
	EVENT_TASK_LANES,    /* every slice of every task of asyncio */
	EVENT_VTHREAD_LANES, /* every slice of every virtual thread of Java */
	EVENT_REQUESTS,
	EVENT_DEATHS,  /* the last stacks of what dies of a signal */
	EVENT_MACHINE, /* what the machine did beside, as values */
	EVENT_LOGS,    /* what threads wrote to logs */
	EVENT_IDS,
};

/* What a film holds of an event. */
enum event_shape {
	SHAPE_SAMPLES, /* observations at a time, each with a value and a stack */
	SHAPE_CALLS,   /* entries and exits of functions, or sums of them */
	SHAPE_SLICES,  /* intervals of threads in a state */
};

enum event_quantity {
	EVENT_COUNT, /* of things; also what is in a unit that is not known */
	EVENT_TIME,  /* ns */
	EVENT_BYTES,
};

/* What other tools call an event. */
struct event_abroad {
	const char *type;      /* of values in pprof and OTLP: "cpu" */
	const char *pyroscope; /* the name of its series: "process_cpu" */
};

struct event_type {
	const char *name; /* in films and for -e; null: events of any name that have no row */
	const char *unit; /* in films: "ns", "bytes", "count" */
	enum event_shape shape;
	enum event_quantity quantity;
	/*
	 * What is there at a moment, such as bytes in use, and no flow, such as time that passed:
	 * values of a level are never summed over time. Over a range it has its last state, or its
	 * growth.
	 */
	bool is_level;
	/* a sample is at the end of what it measured, and its value is how long that lasted */
	bool is_interval;
	/* each program that runs has observations: without any, nothing ran */
	bool is_of_all_that_runs;
	bool has_requests;   /* its samples are requests that were served or made */
	bool has_locks;	     /* its waits are for locks, each of which has a holder */
	bool has_no_samples; /* its rows are no samples, so no profile shows them */
	bool is_recordable; /* -e takes it: a source films it, and it needs no options of its own */
	const char *title;  /* "Off-CPU" */
	const char *
		/*
		 * what its values per second are: "CPUs", "bytes/s"; of a level, what its values
		 * are
		 */
		rate;
	/* of slices: what has each of its lanes, "goroutine"; null: a thread */
	const char *lane;
	const char *noun;	    /* for several observations: "samples", "waits" */
	const char *about;	    /* for help: "time that threads wait"; "" */
	struct event_abroad abroad; /* null where they call it by its name */
};

/* The row of one of our events. */
const struct event_type *event_type(enum event_id id);

/* The row for an event of a film: its own, or the one for its unit. Never null. */
const struct event_type *event_find(const char *name, const char *unit);

static inline const struct event_type *event_of(const struct film_event *event)
{
	return event_find(event->name, event->unit);
}

/* The row of a name that is known, in any unit; null: there is none. */
const struct event_type *event_named(const char *name);

/* One of our events, to be added to a film. source: as in struct film_event. */
static inline struct film_event event_from(enum event_id id, const char *source)
{
	const struct event_type *type = event_type(id);

	return (struct film_event){.name = type->name, .unit = type->unit, .source = source};
}

/* The event that is filmed, and shown, if the user names none. */
const struct event_type *event_usual(void);

/*
 * The names for an event of a film in pprof and OTLP, and in Pyroscope: its own, if the row has
 * none.
 */
const char *event_type_abroad(const char *name, const char *unit);
const char *event_pyroscope(const char *name, const char *unit);

/*
 * Whether this is an ending of names in Pyroscope's clients that says what was measured: "wall",
 * "alloc_space".
 */
bool event_is_pyroscope_ending(const char *name);

/*
 * What the value of that many Hz is worth, in the event's unit: a period of time; 0: the event has
 * none.
 */
uint64_t event_period(const char *unit, uint32_t frequency);

/* -- units ------------------------------------------------------------------------------------- */

enum event_quantity event_quantity(const char *unit);

/*
 * A unit of films as pprof, OTLP and speedscope write it: "nanoseconds"; what they have no word for
 * stays.
 */
const char *event_unit_abroad(const char *unit);
const char *event_unit_speedscope(const char *unit); /* "none", if it has none */

/*
 * A unit as others write it ("milliseconds", "By"): ours, and what a value must be multiplied with.
 */
struct event_unit {
	const char *name; /* theirs */
	const char *unit; /* ours; "count", if theirs is not known */
	uint64_t scale;
};
const struct event_unit *event_unit_from(const char *name);

/*
 * What others call a type and a unit ("cpu", "nanoseconds"), as an event of ours: the name that it
 * has in films.
 */
const char *event_name_from(const char *type, const char *unit);

/* Whether a unit, as others write it, is one of time. */
bool event_is_time_abroad(const char *unit);

/* Whether values of that type, as others write it, say how many observations there were. */
bool event_counts_samples(const char *type, const char *unit);

/* -- -e ---------------------------------------------------------------------------------------- */

/* Events that are to be filmed, in the order in which they were asked for, each once. */
struct event_list {
	const struct event_type *at[EVENT_IDS];
	size_t count;
	bool yields; /* only until others are asked for, which come in its place: defaults, say */
};

/*
 * Reads "on-cpu,off-cpu" into *list, which it replaces. Returns 0, or -EINVAL with *why filled:
 * there is no such event, or no source films it.
 */
int event_list_parse(const char *text, struct event_list *list, struct fail *why);
/* The same, added to what the list has: of an option that may be repeated. */
int event_list_parse_more(const char *text, struct event_list *list, struct fail *why);

/* One more, if it is not there yet. */
void event_list_add(struct event_list *list, enum event_id id);

/* The usual event alone. */
struct event_list event_list_usual(void);

/* What is recorded where that goes on all the time: what costs next to nothing. */
struct event_list event_list_always(void);

/* Whether they hold the same events, in any order. */
bool event_list_is_same(const struct event_list *a, const struct event_list *b);

bool event_list_has(const struct event_list *list, enum event_id id);

/* Those of a that b has, too; b may be null. */
struct event_list event_list_common(const struct event_list *a, const struct event_list *b);

/*
 * Lines for help: each event that -e takes and what it is, indented by that many columns; those
 * that are recorded by default are marked.
 */
void event_list_help(FILE *out, int indent, const struct event_list *by_default);

/* "on-cpu, off-cpu": what -e takes. */
void event_list_choices(char *to, size_t size);

#endif
