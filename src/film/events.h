/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_EVENTS_H
#define FILM_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "film/film.h"

/*
 * The table of events, which both halves use: what stackcam counts and times. Code that depends on
 * the kind of an event asks this table; no other file compares names or units of events.
 *
 * Films may have events without a row, which other tools pushed under their own names. The row for
 * their unit serves them.
 */

/* The events that sources record. */
enum event_id {
	EVENT_ON_CPU,
	EVENT_CALLS,
	EVENT_CALL_STACKS,
	EVENT_OFF_CPU,
	EVENT_RUN_QUEUE,
	EVENT_IDLE,
	EVENT_LOCK,
	EVENT_THREADS, /* every slice of every thread */
	EVENT_DUMP,    /* all threads at one moment */
	EVENT_MEM_GROW,
	EVENT_FILE_FAULTS,
	EVENT_MEM_ALLOC,
	EVENT_MEM_INUSE,
	EVENT_RSS,
	EVENT_MEM_BESIDE,
	EVENT_ON_GPU,		/* run time of kernels on GPUs */
	EVENT_GPU_INSTRUCTIONS, /* samples of the instructions of these */
	EVENT_GPU_COPIES,	/* bytes that GPUs copy and set */
	EVENT_GPU_WAIT,		/* waits of threads for GPUs, and for which work */
	EVENT_GPU_LANES,	/* what streams of GPUs ran, every moment */
	EVENT_HBM_ALLOC,	/* memory of GPUs */
	EVENT_HBM_INUSE,
	EVENT_RDMA,
	EVENT_RDMA_LATENCY,
	EVENT_RDMA_MEMORY,
	EVENT_GO_WAIT,
	EVENT_GO_QUEUE,
	EVENT_GO_IDLE,
	EVENT_GO_LANES,	     /* every slice of every goroutine */
	EVENT_TASK_LANES,    /* every slice of every task of asyncio */
	EVENT_VTHREAD_LANES, /* every slice of every virtual thread of Java */
	EVENT_REQUESTS,
	EVENT_DEATHS,  /* the last stacks of a process that a signal killed */
	EVENT_MACHINE, /* gauges of the machine: CPU, memory, disks … */
	EVENT_LOGS,    /* lines that threads wrote to logs */
	EVENT_IDS,
};

/* The shape of an event's data in a film. */
enum event_shape {
	SHAPE_SAMPLES, /* observations, each with a time, a value and a stack */
	SHAPE_CALLS,   /* entries and exits of functions, or sums of them */
	SHAPE_SLICES,  /* intervals of a thread in one state */
};

enum event_quantity {
	EVENT_COUNT, /* a number of things; also used for unknown units */
	EVENT_TIME,  /* ns */
	EVENT_BYTES,
};

/* Names of an event in other tools. */
struct event_abroad {
	const char *type;      /* type of the values in pprof and OTLP: "cpu" */
	const char *pyroscope; /* name of the series: "process_cpu" */
};

struct event_type {
	const char *name; /* in films and for -e; null: the row for a unit */
	const char *unit; /* "ns", "bytes", "count" */
	enum event_shape shape;
	enum event_quantity quantity;
	/*
	 * A level, such as bytes in use, in contrast to a flow, such as time spent. Values of a
	 * level are never summed over time: a range of time has the last state or the growth.
	 */
	bool is_level;
	/* a sample stands for an interval: time is its end, value its duration */
	bool is_interval;
	/* every running program has observations: if there are none, nothing ran */
	bool is_of_all_that_runs;
	bool has_requests;   /* its samples are served or made requests */
	bool has_locks;	     /* its waits are for locks, which have holders */
	bool has_no_samples; /* its rows are not samples, so profiles do not show them */
	/* -e accepts it: a source records it, and it needs no further options */
	bool is_recordable;
	const char *title; /* "Off-CPU" */
	const char *
		/* unit of its values per second: "CPUs", "bytes/s"; for a level, of its values */
		rate;
	/* for slices: what each lane shows: "goroutine"; null: a thread */
	const char *lane;
	const char *noun;	    /* plural of an observation: "samples", "waits" */
	const char *about;	    /* text for --help: "time that threads wait", or "" */
	struct event_abroad abroad; /* null: the same as name */
};

/* The row of an event that sources record. */
const struct event_type *event_type(enum event_id id);

/* The row for an event of a film: its own, or that of its unit. Never null. */
const struct event_type *event_find(const char *name, const char *unit);

static inline const struct event_type *event_of(const struct film_event *event)
{
	return event_find(event->name, event->unit);
}

/* The row with that name, with any unit; null: none. */
const struct event_type *event_named(const char *name);

/* An event of this table, to be added to a film. source: see struct film_event. */
static inline struct film_event event_from(enum event_id id, const char *source)
{
	const struct event_type *type = event_type(id);

	return (struct film_event){.name = type->name, .unit = type->unit, .source = source};
}

/* Whether a film's event has samples whose values can be summed over time. */
bool event_has_summable_samples(const struct film_event *event);

/* The default event of record and report. */
const struct event_type *event_usual(void);

/*
 * The name of a film's event in pprof and OTLP, and in Pyroscope; its own name if the row has none.
 */
const char *event_type_abroad(const char *name, const char *unit);
const char *event_pyroscope(const char *name, const char *unit);

/*
 * Whether Pyroscope's clients append this suffix to a name to say what was measured: "wall",
 * "alloc_space".
 */
bool event_is_pyroscope_ending(const char *name);

/* The sampling period for a frequency in Hz, in the event's unit; 0: the event has no period. */
uint64_t event_period(const char *unit, uint32_t frequency);

/* -- units ------------------------------------------------------------------------------------- */

enum event_quantity event_quantity(const char *unit);

/*
 * A film's unit in the spelling of pprof, OTLP and speedscope: "nanoseconds"; unknown units are
 * unchanged.
 */
const char *event_unit_abroad(const char *unit);
const char *event_unit_speedscope(const char *unit); /* "none" if speedscope does not know it */

/*
 * Converts a unit of another tool ("milliseconds", "By") to a film's unit: multiply values by
 * scale.
 */
struct event_unit {
	const char *name; /* in the other tool */
	const char *unit; /* in films; "count": the other tool's unit is not known */
	uint64_t scale;
};
const struct event_unit *event_unit_from(const char *name);

/* The event name in films for another tool's type and unit ("cpu", "nanoseconds"). */
const char *event_name_from(const char *type, const char *unit);

/* Whether another tool's unit is a unit of time. */
bool event_is_time_abroad(const char *unit);

/* Whether values of another tool's type are numbers of observations. */
bool event_counts_samples(const char *type, const char *unit);

#endif
