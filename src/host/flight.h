/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_FLIGHT_H
#define HOST_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "sources/happening.h"
#include "film/event_list.h"
#include "process/select.h"
#include "store/keep.h"
#include "host/recorder.h"
#include "store/store.h"

/*
 * The flight recorder: some programs are filmed all the time, and the last minutes are in memory,
 * as short films one after the other. When something happens, or on request, they become one film
 * in a place: a store, a spool, a folder.
 *
 *	flight_new()	loads and attaches, as recorder_new()
 *	flight_start()	starts its threads, the first of which inherits the privileges of the
 *			moment, and waits until what happens is recorded
 *	flight_keep()	keeps what there is, and waits until it is kept; from any thread
 *	flight_stop()	both threads are to end; from any thread
 *	flight_join()	awaits that
 */
struct flight;

struct flight_options {
	const struct selection *selection; /* must live as long as the flight recorder, as all */
	const struct event_list *events;
	const struct event_list *recorded; /* that are recorded all the time beside; null: none */
	const struct sources_settings *sources; /* of these events; null: as usual */
	struct recorder_requests requests;
	const char *host, *labels, *command;
	uint64_t time;	/* ns that are kept at most */
	uint64_t bytes; /* of memory that films take at most */
	uint64_t after; /* ns that are filmed on when something happened, before it is kept */
	struct happening_limits limits; /* of waits and requests that are reasons to keep it */
	uint64_t queue;			/* ns: that an accept queue is full for; 0: no matter */
	uint32_t
		pressure; /* percent of the time that threads wait beyond what is usual; the same */
	bool quiet;	  /* as in struct recorder_options */
	uint32_t cpu;	  /* percent of a CPU that a process takes beyond what is usual; the same */
	unsigned int hour; /* films in an hour that are kept because something happened; 0: any;
			    * and the first of each kind, see host/kept_lately.h */
};

/* Where what is kept goes. These are called by the flight recorder's second thread. */
struct flight_place {
	/* As store_keep(): path becomes that of the film; frees the films. */
	int (*keep)(void *context, const struct store_keep *keep, char *path, size_t size,
		    struct fail *why);
	/* As store_keep_mark(); null: there are no marks there. */
	int (*mark)(void *context, const char *host, uint64_t time, const char *reason,
		    struct fail *why);
	void *context;
};

/* A store; it must live until flight_join(). */
struct flight_place flight_place_in_store(struct store *store);

/* *flight is null after an error. */
int flight_new(const struct flight_options *options, struct flight **flight, struct fail *why);
int flight_start(struct flight *flight, const struct flight_place *place, struct fail *why);

/* These take null, too. */
void flight_stop(struct flight *flight);
/* A descriptor that can be read once its recorder has ended, by itself as well; -1: none. */
int flight_ended(const struct flight *flight);
/* Returns 0, or with *why filled what ended it before it was stopped. */
int flight_join(struct flight *flight, struct fail *why);
void flight_free(struct flight *flight);

/* What was kept. */
struct flight_kept {
	char path[4096];
	uint64_t from, to; /* ns since 1970 */
};

/*
 * 0, or a negative errno with *why filled: -ENODATA: there is nothing that was not kept before;
 * -ECANCELED: it was stopped.
 */
int flight_keep(struct flight *flight, const char *reason, struct flight_kept *kept,
		struct fail *why);

struct flight_state {
	bool is_filming;
	uint64_t bytes;	     /* of films in memory now, */
	uint64_t bytes_most; /* and at most so far */
	uint64_t time;	     /* ns that they have */
	uint64_t kept;	     /* films, since the start */
	uint64_t failed;     /* that could not be kept */
	uint64_t refused;    /* what happened and was not kept, as too much had happened before */
	uint64_t crowded;    /* films that had to go before their time, as memory was full */
	uint64_t lost;	     /* samples */
	double cpu_seconds;  /* of the thread that records */
	uint64_t run_ns;     /* as in struct recorder_state */
	struct loss_table losses;
};
void flight_state(struct flight *flight, struct flight_state *state);

#endif
