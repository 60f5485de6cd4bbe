/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_CALLS_CALLS_H
#define SOURCES_CALLS_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/shown.h"
#include "bpf/calls/abi.h"
#include "sources/calls/plan.h"
#include "attach/rings.h"
#include "resolve/samples.h"
#include "film/writer.h"
#include "process/targets.h"

/*
 * The function tracer: probes on the functions of a plan, and what they report, as calls of a film
 * or for a listener. Its source (source.c) feeds and ends it:
 *
 *	calls_new()	makes the plan; nothing is probed
 *	calls_prepare()	before the BPF programs are loaded
 *	calls_attach()	measures what probes cost here, and sets them
 *	calls_handle()	each record of its kinds
 *	calls_tick()	about once a second
 *	calls_detach()	all probes are gone; the last records are still to be drained
 *	calls_finish()	what is open at the end
 */
struct calls;
struct probes;

/* A call that begins or ends, as it happens. The strings live as long as the calls. */
struct call_heard {
	bool begins;
	bool inferred, open, gap, unknown; /* as film_call_flag */
	uint64_t time;
	uint32_t pid, tid, lane;
	uint16_t depth, cpu;
	const char *comm, *function;
	uint64_t duration, waited; /* when it ends; without the tracer's own cost, unless raw */
	uint64_t error;		   /* that is known to this many ns */
	/*
	 * of --args: what it was given, where it begins; else what it has returned. null: not known
	 */
	const struct shown_tree *values;
};

struct calls_options {
	struct plan_options plan;
	uint32_t depth;			 /* 0: any */
	uint64_t shortest;		 /* ns: --min-time */
	uint64_t slower;		 /* ns: --slower; 0: all calls are kept */
	uint64_t max_rate;		 /* calls per second of one function; 0: any */
	bool summary;			 /* sums in the kernel, no single calls */
	bool raw;			 /* what a listener hears includes the tracer's own cost */
	bool keep;			 /* in the film */
	void (*warn)(const char *words); /* what must be said at the start; may be null */
	void (*listener)(void *context, const struct call_heard *heard); /* may be null */
	void *context;
};

/*
 * --args: the functions' arguments are taken by inspect, to which this is said once both are there
 * (struct inspect_traced, calls_args_add()).
 */
struct inspect;
struct inspect_record;
void calls_set_inspect(struct calls *calls, const struct inspect *inspect);
void calls_args_add(void *context, const struct inspect_record *record);
/* The tracer's number of its plan's first function. */
uint32_t calls_first_function(void);

int calls_new(const struct calls_options *options, struct calls **calls, struct fail *why);
void calls_free(struct calls *calls);
struct plan *calls_plan(const struct calls *calls);

/* CAPTURE_CALL_STACK records will come. */
bool calls_want_stacks(const struct calls *calls);

void calls_prepare(struct calls *calls, struct probes *probes);
/* All that any plan may need, where there is no plan: to try whether the kernel accepts it. */
void calls_prepare_all(struct probes *probes);

struct calls_camera {
	struct probes *probes; /* loaded */
	struct rings *rings;
	struct samples *samples;
	struct film_writer *film;
	uint32_t event, stack_event; /* of the film; stack_event: of stacks of calls (--stack) */
};
int calls_attach(struct calls *calls, const struct calls_camera *camera, struct fail *why);

void calls_handle(struct calls *calls, const struct capture_head *head);
void calls_handle_stack(struct calls *calls, const struct capture_record *record,
			const struct capture_handover *handover);

/* A target runs this program. */
void calls_program(struct calls *calls, pid_t pid, const char *path);

/*
 * A process, which is a target, maps a file. Returns whether probes were set into it just now.
 * *each: each process that maps it needs its own.
 */
bool calls_image(struct calls *calls, pid_t pid, const struct image *image, bool *each);

/* Another thread than a target's first one has executed a program. */
void calls_executed(struct calls *calls, pid_t pid);

/* A target has ended. */
void calls_process_ended(struct calls *calls, pid_t pid);

/* It had run without them before, for this long (ns; 0: not known): that is reported as a loss. */
void calls_missed(struct calls *calls, const char *path, uint64_t ran_ns);

/* Have its probes been set? */
bool calls_has_file(const struct calls *calls, dev_t device, ino_t inode);

/*
 * A process of that name has run a file, or mapped one, that could not be looked at any more: a
 * loss, too.
 */
void calls_unseen(struct calls *calls, const char *comm);

void calls_tick(struct calls *calls, uint64_t now);
void calls_detach(struct calls *calls);
void calls_finish(struct calls *calls, uint64_t now);

struct calls_statistics {
	size_t functions;		       /* with probes */
	size_t refused;			       /* by the kernel */
	const struct probe_left_out *left_out; /* before, as they cannot be traced */
	uint64_t calls;			       /* that ended, or were summed up */
	uint64_t dropped;		       /* by --slower, as asked for */
	uint64_t
		/* --slower: dropped since too many calls waited for their callers' end */
		not_waited_for;
	size_t taken_out; /* functions that were called more often than max_rate */
	size_t late; /* files that were mapped while tracing: their first calls were not seen */
	const char *hottest; /* the first of them; null: none */
	uint64_t strangers;  /* calls lost: their threads could not be kept */
	pid_t debugged;	     /* a process that got a debugger; 0: none */
	bool gave_way; /* to it: all probes were taken away. Else they were there while it ran */
};
void calls_statistics(const struct calls *calls, struct calls_statistics *statistics);

#endif
