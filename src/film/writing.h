/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_WRITING_H
#define FILM_WRITING_H

#include "base/vec.h"
#include "film/arena.h"
#include "film/create.h"
#include "film/disk.h"
#include "film/losses.h"
#include "film/known.h"
#include "film/writer.h"

/*
 * What a writer keeps to itself; writer.c (a film from its start to its end), describe.c (what is
 * in it: tables with ids) and observe.c (what was seen when) share it.
 */
struct film_writer {
	struct film_disk *disk;
	struct film_batch *batch; /* what the next commit writes */
	bool replaces;		  /* a film, which has the name FILM_REPLACED now */
	uint64_t since;		  /* what began before is left out */
	bool naming; /* of an existing film: nothing but names and losses may be written */
	uint32_t events, processes, threads, images;
	uint64_t block_span; /* ns: the longest time of a block whose rows are sorted, */
	uint32_t block_rows; /* unless they are fewer than this */
	bool is_final;	     /* it is written once and never again: time counts less than bytes */
	/* film_pack_rows(): all of them, by id, kept until the end; else empty */
	vec(struct film_process) packed_processes;
	vec(struct film_thread) packed_threads;
	bool names_follow, names_settled;

	/*
	 * What is new goes into the batch. Here is only what was used lately, for a film has no
	 * end: what was forgotten is written again when it is used again, and then stands in the
	 * film twice.
	 */
	struct known known_functions, known_frames, known_stacks, known_files;
	bool all_is_new;	/* frames and stacks: each that is given is another one */
	struct film_first next; /* ids of the next ones */
	uint32_t files;
	vec(uint32_t) kinds; /* of frames, by id: image << 8 | kind, for who names them later */

	uint64_t name_bytes; /* of all functions */
	uint64_t inlines;    /* inlined calls given so far */
	uint32_t calls;	     /* of film_name_frame() and film_start_frame() */
	struct losses losses;
	struct arena texts;
	char *cuts; /* CUTS strings of FILM_TEXT_MAX + 1 bytes */
	unsigned int next_cut;
};

/* Counts a loss. Returns 0, the id of nothing. */
static inline uint32_t lost(struct film_writer *w, enum own_loss what)
{
	w->losses.own[what]++;
	return 0;
}

/* s, or the part that a film can hold, with a mark at its end. Lives until a few more are cut. */
const char *film_fit(struct film_writer *w, const char *s);

/*
 * Writes rows of that kind. from, to: the time that they are of, where that is given; else 0.
 * False: not all of them, which is counted; none if what one says is not so: its ids must be there,
 * its time not shorter than what it took.
 */
bool film_put(struct film_writer *w, enum film_block_kind kind, uint32_t event, uint64_t from,
	      uint64_t to, const void *rows, size_t count);

/* For known_functions. */
static inline struct known_key film_function_key(uint32_t image, uint32_t kind, const char *name)
{
	return (struct known_key){.a = (uint64_t)image << 8 | kind, .text = name};
}

/* For known_files. */
static inline struct known_key film_file_key(const char *path)
{
	return (struct known_key){.text = path};
}

/*
 * Nothing is written twice, however much memory that takes: for films that are made of others, and
 * have an end.
 */
void film_forget_nothing(struct film_writer *w);

#endif
