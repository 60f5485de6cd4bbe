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
 * A recording without an end: film after film, each of a span of time, no sample lost between two
 * of them.
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
 * A full disk does not end it: the film is closed, what could not be kept is counted as a loss of
 * the next film, which is tried every few seconds. When the wall clock is set, a new film begins.
 */
struct reel;

/* A film in memory that is closed. */
struct reel_taken {
	struct film_bytes film;
	uint64_t from, to; /* ns of the monotonic clock: what of the time it has */
	struct fail why;   /* err: what kept it from being made; then film is all zero */
};

struct reel_options {
	const struct camera_options
		*camera;      /* whose sources can turn; must live as long as the reel */
	uint64_t span_ns;     /* of a film */
	bool aligned;	      /* films begin at multiples of the span in wall time, UTC */
	const char *hostname; /* null: that of the machine */
	const char *labels;   /* film/labels.h; null: none */
	const char *command;  /* the command line, for the film */
	/*
	 * Films are in memory: neither next nor done is called, but taken with each film that is
	 * closed, whose bytes are its own from then on; by the thread that closes films. One whose
	 * bytes were more than bytes_max when it was last looked at, each second, is closed before
	 * its time.
	 */
	bool in_memory;
	uint64_t bytes_max;
	void (*taken)(void *context, const struct reel_taken *taken);
	/* How many bytes the film that is recorded has now, about once a second. May be null. */
	void (*grows)(void *context, uint64_t bytes);
	/*
	 * Where the next film goes, which begins at wall_now (ns since 1970): a path where nothing
	 * is, its folder made. 0 or a negative errno with *why filled: tried again later. Called by
	 * reel_run()'s thread.
	 */
	int (*next)(void *context, uint64_t wall_now, char *path, size_t size, struct fail *why);
	/*
	 * The film at path is closed, and can be read in any case. err: 0, or why it ended early.
	 * Called by a thread that closes films, one after the other; the last one before reel_run()
	 * returns. May be null.
	 */
	void (*done)(void *context, const char *path, int err, const struct fail *why);
	/* A film could not be begun or continued; told once until it works again. May be null. */
	void (*trouble)(void *context, const struct fail *why);
	/*
	 * After trouble, films could be written for a minute; unwritten: how many samples are in
	 * none. May be null.
	 */
	void (*works)(void *context, uint64_t unwritten);
	uint64_t good_ns; /* another time than a minute; 0: a minute */
	void *context;
};

/* Strings are copied. 0 or a negative errno with *why filled. */
int reel_new(const struct reel_options *options, struct reel **reel, struct fail *why);
void reel_free(struct reel *reel); /* null is allowed */

/*
 * Returns 0 when it was stopped, or a negative errno with *why filled: nothing can be recorded any
 * more.
 */
int reel_run(struct reel *reel, struct fail *why);
int reel_await(struct reel *reel); /* not 0: it cannot be, and reel_run() returns why */
void reel_stop(struct reel *reel);
void reel_turn(struct reel *reel);

struct reel_statistics {
	uint64_t samples;   /* taken since the start */
	uint64_t lost;	    /* samples that are in no film */
	uint64_t unwritten; /* of lost: since no film could be written */
	double cpu_seconds; /* of the thread that records */
	uint64_t run_ns;    /* of its programs in the kernel, as far as it times them */
	uint64_t since;	    /* ns since 1970: when it began to record; 0: not yet */
	uint64_t films;	    /* begun */
	unsigned int frequency;
	bool is_writing;     /* a film: no disk is full */
	size_t hung;	     /* file systems of targets that do not answer, */
	uint64_t hung_since; /* and since when, ns of clock_ns() */
	uint64_t seen;	     /* when all this was so, the same; 0: not yet */
	char path[4096];     /* of the film that is being recorded; "": none is */
};

/* From any thread. */
void reel_statistics(struct reel *reel, struct reel_statistics *statistics);

#endif
