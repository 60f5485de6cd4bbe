/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_INSPECT_INSPECT_H
#define SOURCES_INSPECT_INSPECT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/fail.h"
#include "base/shown.h"
#include "sources/inspect/steps.h"
#include "sources/calls/plan.h"

/*
 * Calls with their arguments, results and latency. Its source (source.c) feeds and ends it:
 *
 *	inspect_new()	finds the functions, reads their types, and makes the plans of their probes
 *	the source	sets the probes, and takes their records
 *	the listener	is given each call when it has ended
 */
struct inspect;

/* A line of the source, and what the user calls it. */
struct inspect_place {
	struct values_line line;
	const char *text; /* "orders.c:120" */
};

/*
 * A call, as it has ended, or a pass of a line, with its variables as arguments. The whole call
 * lives until the listener returns.
 */
struct inspected {
	uint64_t time; /* when it began, CLOCK_MONOTONIC */
	uint32_t pid, tid;
	uint64_t goroutine;	     /* 0: none */
	const char *comm, *function; /* of a line: "" if it is not known */
	const char *place;	     /* of a line: "orders.c:120"; null: it is a call */
	const char *file;	     /* of a line: its path, as DWARF has it */
	uint32_t line;
	bool is_optimised; /* of a line (probe/values.h) */
	const struct shown_tree *arguments, *results;
	const char *const *stack; /* functions from the called one on; null: it was not asked for */
	size_t stack_count;
	bool has_end; /* else its end was not seen */
	uint64_t latency;
};

#define INSPECT_PARTS_MAX 64

/* trace --args: the values of calls that the tracer sees, for it to keep (sources/calls/args.c). */
struct inspect_traced {
	struct plan *plan; /* the tracer's, whose it stays */
	uint32_t first;	   /* the tracer's number of the plan's first function */
	void (*emit)(void *context, const struct inspect_record *record);
	void *context;
};

struct inspect_options {
	struct plan_options plan;
	const struct inspect_traced
		*traced;       /* null: calls are inspect's own; it must live as long */
	const char *signature; /* with parameters, of C++; null: any */
	const char *condition; /* null: none */
	const struct inspect_place *places; /* lines; with others than functions, or without */
	size_t place_count;		    /* at most VALUES_LINES_MAX */
	const char *const *parts;	    /* --show: expressions (operand.h) */
	size_t part_count;		    /* at most INSPECT_PARTS_MAX; 0: all is shown */
	struct inspect_limits limits;
	struct inspect_redaction redaction;
	bool stacks;	/* with the stack of each call */
	bool keep;	/* in the film */
	bool no_end;	/* calls are shown when they begin, without results and latency */
	uint32_t rate;	/* calls a second of each function that are kept; 0: any */
	uint64_t calls; /* that are shown; 0: any number */
	void (*warn)(const char *words);
	void (*listener)(void *context, const struct inspected *call); /* may be null */
	void (*drained)(void *context); /* no call comes for a while; may be null */
	void *context;
};

int inspect_new(const struct inspect_options *options, struct inspect **inspect, struct fail *why);

/*
 * The same in two steps: functions are listed and their debug information is read beside what the
 * caller does in between, such as to make a camera with *inspect. What options point to must live
 * until then. inspect_wait() says how it went, and may be called again; nothing but
 * inspect_free() is allowed after it failed.
 */
int inspect_read_beside(const struct inspect_options *options, struct inspect **inspect,
			struct fail *why);
int inspect_wait(struct inspect *inspect, struct fail *why);
void inspect_free(struct inspect *inspect);

/*
 * Of --args: are arguments taken of that function of the plan? Are its results, by a record where
 * it returns?
 */
bool inspect_has(const struct inspect *inspect, uint32_t function);
bool inspect_wants_results(const struct inspect *inspect, uint32_t function);
/* The arguments in a record that traced->take() was given; its texts point into the record. */
void inspect_decode_record(const struct inspect *inspect, const struct inspect_record *record,
			   struct shown_tree *tree);
/*
 * The results of a call that has returned. record: the one of its end; null: none has come, which
 * is enough for results of which it is only known that they are not known.
 */
void inspect_decode_results(const struct inspect *inspect, uint32_t function,
			    const struct inspect_record *record, struct shown_tree *tree);

/* Has it shown as many calls as it should? */
bool inspect_is_done(const struct inspect *inspect);

struct inspect_statistics {
	size_t functions;	 /* with probes */
	size_t places;		 /* of lines, with probes */
	size_t refused;		 /* places that the kernel refused */
	uint64_t calls;		 /* shown */
	uint64_t passes;	 /* of them, those of lines */
	uint64_t unfinished;	 /* of them, those whose end was not seen */
	uint64_t ends_alone;	 /* ends whose beginning was lost */
	uint64_t rejected_rate;	 /* what the kernel side counted: --rate, */
	uint64_t lost_ring;	 /* the ring was full, */
	uint64_t lost_condition; /* a value of the condition was not in memory, */
	uint64_t lost_open;	 /* too many calls were open, */
	uint64_t lost_other;	 /* other reasons */
	uint64_t without;	 /* --args: functions whose arguments are not known */
	uint64_t late;		 /* processes or files whose first calls were not seen */
};
void inspect_statistics(const struct inspect *inspect, struct inspect_statistics *statistics);

/* Prints functions with their parameters, types and how each would be read: --list. */
int inspect_list(const struct inspect_options *options, FILE *out, struct fail *why);

#endif
