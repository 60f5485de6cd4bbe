/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_CATALOGUE_H
#define RESOLVE_CATALOGUE_H

#include <stdint.h>

#include "bpf/capture/abi.h"
#include "resolve/names.h"
#include "film/writer.h"
#include "process/targets.h"

/*
 * Writes the film's rows that samples refer to: processes, threads, images and frames. A row is
 * written when a sample first needs it, so the film has no unused rows.
 */
struct catalogue;

int catalogue_new(struct film_writer *film, struct names *names, struct catalogue **catalogue);
void catalogue_free(struct catalogue *catalogue);

/* The catalogue's state of a process. All zero: not in the film yet. */
struct catalogue_process {
	uint32_t id;	  /* id of the film's row */
	uint32_t jit;	  /* id of the film's image for code that no file backs */
	uint32_t jit_age; /* names_jit_age() of that code */
	uint32_t execs;	  /* process->execs when the row was written */
	uint32_t film;	  /* number of the film that these ids belong to */
};

/* The row of the thread that a record comes from; 0: the film is full. */
uint32_t catalogue_thread(struct catalogue *catalogue, struct catalogue_process *row,
			  const struct process *process, const struct capture_identity *identity);

/* The same for a process about which only the record is known. */
uint32_t catalogue_stranger(struct catalogue *catalogue, const struct capture_identity *identity);

/*
 * The row of a thread of which only the tid and the name are known: its present row, or a new one.
 * start: ns, accurate to a clock tick; 0: not known.
 */
uint32_t catalogue_other_thread(struct catalogue *catalogue, struct catalogue_process *row,
				const struct process *process, pid_t tid, uint64_t start,
				const char comm[16]);

/*
 * Adds a row for a lane that is not a thread, e.g. a goroutine, whose tid in the film is the low
 * bits of its number. The caller remembers the id.
 */
uint32_t catalogue_lane(struct catalogue *catalogue, struct catalogue_process *row,
			const struct process *process, uint64_t number, uint64_t start,
			const char *name);

/* Writes what is known of a process, its end too, into its row, if the film has one. */
void catalogue_process_changed(struct catalogue *catalogue, const struct catalogue_process *row,
			       const struct process *process);

/*
 * The frame of user code, or of kernel code, at an address (for a caller: within the call
 * instruction).
 */
uint32_t catalogue_user_frame(struct catalogue *catalogue, struct catalogue_process *row,
			      const struct process *process, uint64_t at);
uint32_t catalogue_kernel_frame(struct catalogue *catalogue, uint64_t at);

/* The frame that represents a variable of an image; name "": no name. */
uint32_t catalogue_variable(struct catalogue *catalogue, const struct image *image,
			    uint64_t address, const char *name);

/* The mark of a stack that ended before its root. */
uint32_t catalogue_mark(struct catalogue *catalogue, enum unwind_end end);

/* The mark that replaces missing native frames within a stack (UNWIND_GAP). */
uint32_t catalogue_gap(struct catalogue *catalogue);

/*
 * The mark with this text, for something that a sample's code does not show. place: where that is,
 * e.g. the disk of a file, or "".
 */
uint32_t catalogue_words(struct catalogue *catalogue, const char *words, const char *place);

/* Continues with another film: rows are written again when they are next needed. */
void catalogue_turn(struct catalogue *catalogue, struct film_writer *film);

void catalogue_image_gone(struct catalogue *catalogue, const struct image *image);

#endif
