/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_REEL_H
#define RECORD_REEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "record/camera.h"
#include "film/writer.h"

/*
 * A continuous recording: film after film, each of a fixed span of time, without losing a sample
 * between two films.
 *
 *	reel_new()	loads and attaches; afterwards the caller's other threads need no privileges
 *	reel_run()	records, in a thread of its own, until reel_stop(); that thread must still
 *			be allowed to read other processes (CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH) and
 *			to use BPF (CAP_BPF, CAP_PERFMON); capabilities are per thread
 *	reel_await()	waits until what happens is recorded; to be called once, by another thread
 *	reel_turn()	begins another film soon; from any thread
 *	reel_stop()	from any thread, or a signal handler
 *	reel_free()	when reel_run() has returned
 *
 * A full disk does not end the recording: the film is closed, a new film is tried every few
 * seconds, and what could not be written is counted as a loss of the next film. A new film also
 * begins when the wall clock is set.
 */
struct reel;

/* A closed film in memory. */
struct reel_closed_film {
	struct film_bytes film;
	uint64_t from, to; /* time that the film covers, ns of the monotonic clock */
	/* why.err: 0, or why the film could not be completed; then film is all zero */
	struct fail why;
};

struct reel_options {
	const struct camera_options
		*camera;      /* its sources must support turns; must outlive the reel */
	uint64_t span_ns;     /* length of a film */
	bool aligned;	      /* films begin at multiples of span_ns in wall time, UTC */
	const char *hostname; /* null: the machine's hostname */
	const char *labels;   /* film/labels.h; null: none */
	const char *command;  /* the command line, to be stored in films */
	/*
	 * A film on disk whose tables take more than that many bytes of its reader's memory
	 * (film_tables_size()) is closed early, but not before a sixtieth of its span. 0: no limit.
	 * Checked each second.
	 */
	uint64_t tables_max;
	/*
	 * Films are in memory. Instead of next and done, the thread that closes films calls taken
	 * with each closed film, whose bytes the callee then owns. The size is checked each second:
	 * a film of more than bytes_max bytes is closed early.
	 */
	bool in_memory;
	uint64_t bytes_max;
	void (*taken)(void *context, const struct reel_closed_film *taken);
	/* Called about once a second with the size of the present film in bytes. May be null. */
	void (*grows)(void *context, uint64_t bytes);
	/*
	 * Sets path to a free path in an existing folder for the film that begins at wall_now (ns
	 * since 1970). Returns 0, or a negative errno with *why filled: it is called again later.
	 * Called by reel_run()'s thread.
	 */
	int (*next)(void *context, uint64_t wall_now, char *path, size_t size, struct fail *why);
	/*
	 * The film at path is closed and can be read, also after an error. err: 0, or why it ended
	 * early. The thread that closes films calls it for one film after the other, for the last
	 * one before reel_run() returns. May be null.
	 */
	void (*done)(void *context, const char *path, int err, const struct fail *why);
	/*
	 * A film could not be created or continued. Called once until films work again. May be
	 * null.
	 */
	void (*trouble)(void *context, const struct fail *why);
	/*
	 * Called after trouble, when films could be written for a minute. unwritten: number of
	 * samples that are in no film. May be null.
	 */
	void (*works)(void *context, uint64_t unwritten);
	uint64_t good_ns; /* replaces that minute; 0: a minute */
	void *context;
};

/* Strings are copied. Returns 0 or a negative errno with *why filled. */
int reel_new(const struct reel_options *options, struct reel **reel, struct fail *why);
void reel_free(struct reel *reel); /* null is allowed */

/*
 * Returns 0 after reel_stop(), or a negative errno with *why filled if recording became impossible.
 */
int reel_run(struct reel *reel, struct fail *why);
int reel_await(struct reel *reel); /* not 0: recording is impossible, and reel_run() returns why */
void reel_stop(struct reel *reel);
void reel_turn(struct reel *reel);

struct reel_statistics {
	uint64_t samples;   /* recorded since the start */
	uint64_t lost;	    /* samples that are in no film */
	uint64_t unwritten; /* of lost: because no film could be written */
	double cpu_seconds; /* CPU time of the recording thread */
	/* ns that its programs ran in the kernel, as far as the kernel measures it */
	uint64_t run_ns;
	uint64_t since; /* when recording began, ns since 1970; 0: not yet */
	uint64_t films; /* number of films begun */
	unsigned int frequency;
	bool is_writing;	  /* a film is being written: the disk is not full */
	size_t hung;		  /* number of targets' file systems that hang */
	uint64_t hung_since;	  /* since when, by clock_ns() */
	uint64_t seen;		  /* time of these values, by clock_ns(); 0: none yet */
	char path[4096];	  /* of the present film; "": none */
	struct loss_table losses; /* since the start; those of kind sample are lost */
};

/* May be called from any thread. */
void reel_statistics(struct reel *reel, struct reel_statistics *statistics);

#endif
