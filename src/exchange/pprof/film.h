/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXCHANGE_PPROF_FILM_H
#define EXCHANGE_PPROF_FILM_H

#include <stdio.h>

#include "base/map.h"
#include "exchange/pprof/profile.h"
#include "film/reader.h"

/*
 * Writes samples of a film, which the caller chooses, as a profile. Errors are kept until
 * pprof_finish().
 *
 *	pprof_start()	then comments, then for each sample
 *	pprof_stack()	and
 *	pprof_sample()
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
	struct pprof_profile out;
	const struct film *film;
	const char *const *marks;
	size_t mark_count;
	struct buf frames, values; /* of the sample under construction */
	struct buf labels;	   /* the same, those of its thread first */
	size_t thread_labels;	   /* how many bytes these are */
	uint32_t thread_id;	   /* whose they are */
	uint32_t label;		   /* frame of the sample that stands for labels, or 0 */
	struct map function_of;	   /* by function and file */
	uint64_t function_count;
	uint8_t *used;	  /* per frame and mark: a sample has it */
	uint64_t *ends;	  /* per image: behind its highest address that is used */
	uint8_t *unnamed; /* per image: an address that is used has no name */
	bool failed;
};

/* film and header's marks must live until pprof_finish(). */
void pprof_start(struct pprof *p, const struct film *film, const struct pprof_header *header,
		 FILE *out);

/* A line for people, which readers show. Control characters are made harmless. */
void pprof_comment(struct pprof *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * The stack of the next sample: `stack` of these stacks, whose frames are ids of frames of the
 * film, or its frame_count plus the index of a mark. Of more than `most` frames the rest is marked
 * as missing.
 */
void pprof_stack(struct pprof *p, const struct film_stack *stacks, uint32_t stack, uint32_t most);

/*
 * Writes a sample with that stack, or an unknown frame where it has none. Samples of one thread
 * should follow each other.
 */
void pprof_sample(struct pprof *p, uint32_t thread, uint64_t samples, uint64_t value);

/* Returns 0 or -ENOMEM; a caller that closes the stream sees whether writing failed. */
int pprof_finish(struct pprof *p);

#endif
