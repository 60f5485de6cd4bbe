/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_RECORDER_H
#define HOST_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "record/reel.h"
#include "record/sources.h"
#include "film/event_list.h"

/*
 * The recorder of what runs for long: the machine, or some of its programs, are filmed, film after
 * film (record/reel.h), in a thread of its own. That films cannot be written, and that they are
 * again, it tells by itself (host/say.h).
 *
 *	recorder_new()		loads and attaches, and raises the priority of the calling thread
 *	recorder_start()	starts the thread, which inherits that and the privileges of the
 *				moment; the caller's own priority is as before
 *	recorder_await()	waits until what happens is recorded; once, after recorder_start()
 *	recorder_stop()		the film that is under way is ended; from any thread
 *	recorder_join()		awaits the end of the thread
 */
struct recorder;

/* What requests are, and what is kept of them. */
struct recorder_requests {
	const char *markers; /* as --markers takes it; null: the usual ones */
	bool keep_query;
};

/* Strings must live as long as the recorder. next, done and context: as in struct reel_options. */
struct recorder_options {
	const struct event_list *events;
	/*
	 * with these events turned on, and then the frequency below means nothing; null: as usual
	 */
	const struct sources_settings *sources;
	const struct selection *selection; /* null: the whole machine */
	const char *thread;		   /* its name; null: recorder */
	unsigned int frequency;		   /* Hz; 0: the usual one */
	bool sample_cpu;		   /* samples of on-cpu have their CPU */
	struct recorder_requests requests;
	uint64_t span_ns;   /* of a film */
	bool aligned;	    /* films begin at multiples of the span in wall time, UTC */
	bool leaves_builds; /* as in struct symbol_options */
	bool names_soon;    /* films are looked at while they grow */
	bool quiet;	    /* as in struct camera_options */
	const char *hostname, *labels, *command;
	int (*next)(void *context, uint64_t wall_now, char *path, size_t size, struct fail *why);
	void (*done)(void *context, const char *path, int err, const struct fail *why);
	/* films in memory: as in struct reel_options */
	bool in_memory;
	uint64_t bytes_max;
	void (*taken)(void *context, const struct reel_closed_film *taken);
	void (*grows)(void *context, uint64_t bytes);
	/* what happens: as in struct camera_options; with the same context */
	void (*happened)(void *context, const struct happening *happening);
	struct happening_limits limits;
	void *context;
};

/* *recorder is null after an error. */
int recorder_new(const struct recorder_options *options, struct recorder **recorder,
		 struct fail *why);
int recorder_start(struct recorder *recorder, struct fail *why);
int recorder_await(struct recorder *recorder, struct fail *why);

/* All of these take null, and a recorder that was not started, too. */
void recorder_turn(struct recorder *recorder); /* another film begins soon; from any thread */
void recorder_stop(struct recorder *recorder);
/* Returns 0, or with *why filled what ended it before it was stopped. */
int recorder_join(struct recorder *recorder, struct fail *why);
void recorder_free(struct recorder *recorder); /* not before recorder_join() */

/* A descriptor that can be read once the thread has ended; -1 of null. */
int recorder_ended(const struct recorder *recorder);

struct recorder_state {
	bool is_filming; /* no disk is full */
	uint64_t samples, lost;
	unsigned int frequency;
	double cpu_seconds; /* of its thread */
	size_t hung;	    /* file systems of targets that do not answer, */
	uint64_t hung_ns;   /* and for how long the first of them */
	uint64_t still_ns;  /* for how long it has recorded nothing, as it waits for something */
	uint64_t run_ns; /* of its programs in the kernel, as far as it times them (host/cost.h) */
	struct loss_table losses; /* as in struct reel_statistics */
};

/* From any thread. */
void recorder_state(struct recorder *recorder, struct recorder_state *state);

/*
 * One descriptor per image, ring and probe: as many as are allowed, but not for a command that is
 * started.
 */
void recorder_raise_descriptors(void);

#endif
