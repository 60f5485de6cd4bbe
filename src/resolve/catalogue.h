/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_CATALOGUE_H
#define RESOLVE_CATALOGUE_H

#include <stdint.h>

#include "bpf/capture/abi.h"
#include "resolve/names.h"
#include "film/writer.h"
#include "process/targets.h"

/*
 * The film's rows for what samples refer to: processes, threads, images and frames. A row is
 * written when a sample first needs it, so a film holds nothing that does not occur in it.
 */
struct catalogue;

int catalogue_new(struct film_writer *film, struct names *names, struct catalogue **catalogue);
void catalogue_free(struct catalogue *catalogue);

/* The part that each process carries. All zero: not in the film yet. */
struct catalogue_process {
	uint32_t id;	  /* of the film's row */
	uint32_t jit;	  /* film image for its code without a file */
	uint32_t jit_age; /* names_jit_age() of that */
	uint32_t execs;	  /* process->execs that the row shows */
	uint32_t film;	  /* number of the film that all of this is of */
};

/* The row of the thread that a record was taken of; 0: the film is full. */
uint32_t catalogue_thread(struct catalogue *catalogue, struct catalogue_process *row,
			  const struct process *process, const struct capture_identity *identity);

/* The same for a process of which nothing but the record is known. */
uint32_t catalogue_stranger(struct catalogue *catalogue, const struct capture_identity *identity);

/*
 * The row of a thread of which only the number and the name are known: whichever it has, or a new
 * one. start: ns, to a tick; 0: not known.
 */
uint32_t catalogue_other_thread(struct catalogue *catalogue, struct catalogue_process *row,
				const struct process *process, pid_t tid, uint64_t start,
				const char comm[16]);

/*
 * A new row for what has a lane beside threads, a goroutine say, which stands in the film as a
 * thread with the lowest bits of its number: the caller keeps it.
 */
uint32_t catalogue_lane(struct catalogue *catalogue, struct catalogue_process *row,
			const struct process *process, uint64_t number, uint64_t start,
			const char *name);

/* It has ended: its row says when. */
void catalogue_process_ended(struct catalogue *catalogue, const struct catalogue_process *row,
			     const struct process *process);

/* The frame of code at address at (for a caller: inside the call), and of kernel code. */
uint32_t catalogue_user_frame(struct catalogue *catalogue, struct catalogue_process *row,
			      const struct process *process, uint64_t at);
uint32_t catalogue_kernel_frame(struct catalogue *catalogue, uint64_t at);

/* The frame that stands for a variable of an image; name "": it has none. */
uint32_t catalogue_variable(struct catalogue *catalogue, const struct image *image,
			    uint64_t address, const char *name);

/* The frame that marks a stack which ended before its root. */
uint32_t catalogue_mark(struct catalogue *catalogue, enum unwind_end end);

/* The one that stands for native frames which are missing within a stack (UNWIND_GAP). */
uint32_t catalogue_gap(struct catalogue *catalogue);

/*
 * The frame with these words, which tell of a sample what no code of its says; place: where that
 * lies, as a file on a disk, or "".
 */
uint32_t catalogue_words(struct catalogue *catalogue, const char *words, const char *place);

/* Another film: all that samples refer to is written again when it is next needed. */
void catalogue_turn(struct catalogue *catalogue, struct film_writer *film);

void catalogue_image_gone(struct catalogue *catalogue, const struct image *image);

#endif
