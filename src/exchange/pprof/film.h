/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXCHANGE_PPROF_FILM_H
#define EXCHANGE_PPROF_FILM_H

#include <stdio.h>

#include "base/gzip.h"
#include "base/map.h"
#include "base/vec.h"
#include "film/reader.h"

/*
 * profile.proto, the format of pprof, written by hand: messages are small, and no generator has to
 * be at hand. Field numbers are those of github.com/google/pprof/proto/profile.proto.
 */
enum pprof_field {
	PPROF_SAMPLE_TYPE = 1,
	PPROF_SAMPLE,
	PPROF_MAPPING,
	PPROF_LOCATION,
	PPROF_FUNCTION,
	PPROF_STRING,
	PPROF_TIME_NANOS = 9,
	PPROF_DURATION_NANOS,
	PPROF_PERIOD_TYPE,
	PPROF_PERIOD,
	PPROF_COMMENT,
	PPROF_DEFAULT_SAMPLE_TYPE,
};

/*
 * Writes a profile in the format of pprof, gzip and all, made of what is in a film: which samples,
 * the caller chooses. What goes wrong is kept until pprof_finish().
 *
 *	pprof_start()	then comments, then for each sample
 *	pprof_frame()	for each of its frames, leaf first, and
 *	pprof_sample()	at its end
 *	pprof_finish()	in every case
 */
struct pprof_header {
	const char *counted;	  /* what one sample counts: "samples" */
	const char *name, *unit;  /* of the value; "ns" is written as pprof has it */
	uint64_t period;	  /* in that unit; 0: there is none */
	uint64_t time, duration;  /* ns, time since 1970 */
	const char *const *marks; /* names for frames behind those of the film */
	size_t mark_count;
};

struct pprof {
	const struct film *film;
	const char *const *marks;
	size_t mark_count;
	struct gzip gzip;
	struct buf out;	    /* on its way to gzip */
	struct buf message; /* the message that is being made, … */
	struct buf inner;   /* … and one inside it */
	struct buf frames;  /* of the sample that is being put together */
	struct buf thread;  /* labels of the thread whose samples are being written */
	uint32_t thread_id;
	uint32_t label; /* frame of the sample that stands for labels, or 0 */
	vec(char *) strings;
	struct map string_of;	/* by hash; the next hash where two share one */
	struct map function_of; /* by function and file */
	uint64_t function_count;
	uint8_t *used;	  /* per frame and mark: a sample has it */
	uint64_t *ends;	  /* per image: behind its highest address that is used */
	uint8_t *unnamed; /* per image: an address that is used has no name */
	bool failed;
};

void pprof_start(struct pprof *p, const struct film *film, const struct pprof_header *header,
		 FILE *out);

/* A line for people: words with control characters made harmless. */
void pprof_comment(struct pprof *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* An id of a frame of the film, or the film's frame_count plus the index of a mark. */
void pprof_frame(struct pprof *p, uint32_t frame);

/* The sample had more frames than that. */
void pprof_too_deep(struct pprof *p);

/* A sample without frames has an unknown one. Samples of one thread should follow each other. */
void pprof_sample(struct pprof *p, uint32_t thread, uint64_t samples, uint64_t value);

/* Returns 0 or a negative errno: -ENOMEM; whether out took it all is for the caller to ask. */
int pprof_finish(struct pprof *p);

#endif
