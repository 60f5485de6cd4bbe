/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_RUNTIMES_H
#define RESOLVE_RUNTIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/allowance.h"
#include "resolve/runtime_frames.h"
#include "film/writer.h"
#include "runtime/runtime.h"
#include "process/targets.h"
#include "unwind/pool.h"

/*
 * Handles the language runtimes of recorded processes: detects them in the mappings, publishes them
 * to the kernel side, and names their frames.
 */
struct runtimes;
struct walkers;

/*
 * pool: for the kernel side's blocks of data. kept_map: map of what the kernel side keeps for
 * naming frames. walkers: load the steps of runtimes; may be null. allowance: for reading files.
 * The caller owns all of them.
 */
int runtimes_new(struct film_writer *film, struct unwind_pool *pool, int kept_map,
		 struct walkers *walkers, struct allowance *allowance, struct runtimes **runtimes);
/* Each process_runtimes must have been released with runtimes_leave() before. */
void runtimes_free(struct runtimes *runtimes);

/* The runtimes of a process. All zero: not searched yet. */
struct process_runtimes {
	struct attached *first;
	uint32_t generation;  /* process->generation of the last search */
	uint32_t execs;	      /* process->execs of the last search */
	bool looked, waiting; /* waiting: a runtime is not initialised yet */
	bool put_off;	      /* an image could not be read yet */
};

/*
 * Searches the mappings of a process for runtimes if they have changed. Returns whether the results
 * of runtimes_mark() may have changed.
 */
bool runtimes_look(struct runtimes *runtimes, struct process_runtimes *of,
		   const struct process *process);

/* Whether an image that will be mapped soon has a runtime. */
bool runtimes_expect(struct runtimes *runtimes, const struct image *image);

/* Releases the runtimes of a process that ended or executes another program. */
void runtimes_leave(struct runtimes *runtimes, struct process_runtimes *of);

/* Whether the process has a runtime that is ready. */
bool runtimes_any(const struct process_runtimes *of);

/* The runtime whose step the kernel side uses for code of a mapping, and its data. */
struct runtimes_mark {
	uint32_t runtime, data; /* as in struct unwind_mapping */
};
struct runtimes_mark runtimes_mark(const struct process_runtimes *of,
				   const struct mapping *mapping);

/* The same for code in unknown memory: the runtime that generates code; 0: none. */
struct runtimes_mark runtimes_jit(const struct process_runtimes *of);

/* The runtime at which an interrupted walk can restart (bpf/unwind/restart.h); 0: none. */
struct runtimes_mark runtimes_home(const struct process_runtimes *of);

/* Reference to the data by which its threads' labels are found (labels_threads); 0: none. */
uint32_t runtimes_context(const struct process_runtimes *of);

/*
 * The id of a runtime's frame, named; 0: the film is full. *is_part is set if the frame belongs to
 * an adjacent frame of the runtime.
 */
uint32_t runtimes_frame(struct runtimes *runtimes, struct process_runtimes *of,
			const struct process *process, const struct runtime_place *place,
			bool *is_part);

/*
 * Whether the code at an address in the mapping belongs to the frames of a runtime (enum
 * unwind_runtime).
 */
bool runtimes_is_part(const struct runtimes *runtimes, const struct mapping *mapping,
		      uint64_t address, uint32_t runtime, bool nearer_to_leaf);

/* As runtime_frames_keep_codes() and runtime_frames_code(). */
void runtimes_keep_codes(struct runtimes *runtimes);
enum lock_code runtimes_code(const struct runtimes *runtimes, uint32_t frame);

/* A runtime's own locks (runtime.h). */
struct runtimes_lock {
	const struct runtime_type *type;
	struct lock_runtime where;
};
/* False: no runtime with own locks is known yet. */
bool runtimes_locks(const struct process_runtimes *of, const struct process *process,
		    struct runtimes_lock *locks);
/* Whether an address is that of a thread structure that has information on locks. */
bool runtimes_lock_thread(const struct process_runtimes *of, const struct process *process,
			  uint64_t thread);
/* The tid of the thread that a lock's owner field names; 0: not known. */
uint32_t runtimes_lock_owner(const struct process_runtimes *of, const struct process *process,
			     uint64_t owner);
/* Whether objects of a class are locks of the language. */
bool runtimes_park_class(const struct process_runtimes *of, const struct process *process,
			 uint64_t klass);

/* As vthreads() of struct runtime_type. -EAGAIN: no runtime with virtual threads is known yet. */
int runtimes_vthreads(const struct process_runtimes *of, const struct process *process,
		      uint32_t object, struct vthreads_process *to, struct fail *why);

/* Names a class, as class_name() of struct runtime_type. False: not known. */
bool runtimes_class_name(const struct process_runtimes *of, const struct process *process,
			 uint64_t klass, char *to, size_t size);

/* Whether the process maps a file for which runtimes_spans() may have results. */
bool runtimes_may_have_spans(const struct process *process);

/* Appends what the runtimes of the process use memory for (runtime.h); memory reads the process. */
void runtimes_spans(const struct process_runtimes *of, const struct process *process,
		    const struct runtime_memory *memory, struct runtime_spans *spans);

/* Forgets an image that no process maps any more. */
void runtimes_image_gone(struct runtimes *runtimes, const struct image *image);

/* Continues with another film. */
void runtimes_turn(struct runtimes *runtimes, struct film_writer *film);

/*
 * Formats which runtime is not walked, and why: the one with the most images and processes. "":
 * none.
 */
void runtimes_refusal(const struct runtimes *runtimes, char *to, size_t size);

/* Writes the losses so far to the film. */
void runtimes_report_losses(const struct runtimes *runtimes);

#endif
