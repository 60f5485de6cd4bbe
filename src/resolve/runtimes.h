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
 * The language runtimes of the processes that are filmed: found in their mappings, made known to
 * the kernel side, asked for the names of their frames.
 */
struct runtimes;
struct walkers;

/*
 * pool: where the kernel side's blocks of data go; kept_map: what it keeps for the names of frames;
 * walkers: those that must know of them; may be null;
 * allowance: of the time that reading files may take. All stay the caller's.
 */
int runtimes_new(struct film_writer *film, struct unwind_pool *pool, int kept_map,
		 struct walkers *walkers, struct allowance *allowance, struct runtimes **runtimes);
/* Owners of a process_runtimes must have released it. */
void runtimes_free(struct runtimes *runtimes);

/* The part that each process carries. All zero: not looked at yet. */
struct process_runtimes {
	struct attached *first;
	uint32_t generation;  /* process->generation that was looked at */
	uint32_t execs;	      /* process->execs that it was looked at in */
	bool looked, waiting; /* one of them is not ready yet, */
	bool put_off;	      /* or an image could not be read yet */
};

/*
 * Looks for runtimes in the mappings of the process, if these have changed since. Returns whether
 * what runtimes_mark() says may be another than before.
 */
bool runtimes_look(struct runtimes *runtimes, struct process_runtimes *of,
		   const struct process *process);

/* Looks into an image that will be mapped soon. Whether it has a runtime. */
bool runtimes_expect(struct runtimes *runtimes, const struct image *image);

/* Lets go of what was found: the process has ended, or executes another program. */
void runtimes_leave(struct runtimes *runtimes, struct process_runtimes *of);

/* Whether the process has one that is ready. */
bool runtimes_any(const struct process_runtimes *of);

/* Which runtime's step the kernel side is to ask for code of this mapping, and with which data. */
struct runtimes_mark {
	uint32_t runtime, data; /* as in struct unwind_mapping */
};
struct runtimes_mark runtimes_mark(const struct process_runtimes *of,
				   const struct mapping *mapping);

/*
 * The same for memory that is not known, in which the process runs code: the one that makes code;
 * 0: none does.
 */
struct runtimes_mark runtimes_jit(const struct process_runtimes *of);

/*
 * The one that a walk can begin again at (bpf/unwind/restart.h): of several, one; 0: there is none.
 */
struct runtimes_mark runtimes_home(const struct process_runtimes *of);

/*
 * A frame of one of them, named; 0: the film is full. *is_part is set if it is a part of the
 * runtime's other frames.
 */
uint32_t runtimes_frame(struct runtimes *runtimes, struct process_runtimes *of,
			const struct process *process, const struct runtime_place *place,
			bool *is_part);

/*
 * Whether the code at an address in the mapping is a part of the frames of that runtime (enum
 * unwind_runtime).
 */
bool runtimes_is_part(const struct runtimes *runtimes, const struct mapping *mapping,
		      uint64_t address, uint32_t runtime, bool nearer_to_leaf);

/* runtime_frames_keep_codes() and runtime_frames_code() */
void runtimes_keep_codes(struct runtimes *runtimes);
enum lock_code runtimes_code(const struct runtimes *runtimes, uint32_t frame);

/* The locks that a runtime of the process has of its own (runtime.h). */
struct runtimes_lock {
	const struct runtime_type *type;
	struct lock_runtime where;
};
/* False: none is known by now. */
bool runtimes_locks(const struct process_runtimes *of, const struct process *process,
		    struct runtimes_lock *locks);
/* Whether a thread's structure is one of those that tell of locks. */
bool runtimes_lock_thread(const struct process_runtimes *of, const struct process *process,
			  uint64_t thread);
/* The number of the thread that an owner of one of them means; 0: not known. */
uint32_t runtimes_lock_owner(const struct process_runtimes *of, const struct process *process,
			     uint64_t owner);
/* Whether objects of a class are locks of a language. */
bool runtimes_park_class(const struct process_runtimes *of, const struct process *process,
			 uint64_t klass);

/* The vthreads of struct runtime_type. -EAGAIN: no runtime is known yet that has them. */
int runtimes_vthreads(const struct process_runtimes *of, const struct process *process,
		      uint32_t object, struct vthreads_process *to, struct fail *why);

/* Names a class, as of struct runtime_type. False: it is not known. */
bool runtimes_class_name(const struct process_runtimes *of, const struct process *process,
			 uint64_t klass, char *to, size_t size);

/* Whether the process maps a file that runtimes_spans() would know something of. */
bool runtimes_may_have_spans(const struct process *process);

/* Appends what the runtimes of the process use memory for (runtime.h), which is read by memory. */
void runtimes_spans(const struct process_runtimes *of, const struct process *process,
		    const struct runtime_memory *memory, struct runtime_spans *spans);

/* The image is gone: what was known about it, too. */
void runtimes_image_gone(struct runtimes *runtimes, const struct image *image);

/* Another film. */
void runtimes_turn(struct runtimes *runtimes, struct film_writer *film);

/*
 * Says which runtime's frames are not looked for, and why: that of the most images and processes.
 * "": there is none.
 */
void runtimes_refusal(const struct runtimes *runtimes, char *to, size_t size);

/* Tells the film what was lost so far. */
void runtimes_tell_losses(const struct runtimes *runtimes);

#endif
