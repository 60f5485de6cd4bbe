/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_SPACES_H
#define RESOLVE_SPACES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/allowance.h"
#include "base/fail.h"
#include "resolve/runtimes.h"
#include "process/targets.h"
#include "unwind/jit_debug.h"
#include "unwind/walk.h"

/*
 * Publishes to the kernel side what it needs to unwind by itself: the executable mappings of each
 * sampled process, and the unwind table of each image on a stack. Both are built when a stack first
 * needs them, and then serve all later stacks.
 */
struct spaces;

/* File descriptors of the BPF maps (bpf/capture/maps.h). */
struct spaces_maps {
	int chunks, rules, spaces;
};

/*
 * limit: most bytes of tables for all images and processes. patience: number of stacks of one
 * process that are handed over because of unknown addresses before its mappings are published
 * again; more than can arrive while a large table is built. few_processes: not the whole machine is
 * recorded. allowance: for reading files; owned by the caller.
 */
int spaces_new(const struct spaces_maps *maps, uint64_t limit, uint32_t patience,
	       bool few_processes, struct allowance *allowance, struct spaces **spaces,
	       struct fail *why);
void spaces_free(struct spaces *spaces);

/* The published state of a process, stored by the owner of the process. All zero: not published. */
struct space {
	const struct process *process; /* null: not published */
	uint32_t mappings, count;      /* reference into the pool */
	uint32_t generation;	       /* unique among all spaces ever published */
	uint32_t process_generation;   /* process->generation that was published */
	uint32_t exec_id;
	struct runtimes_mark jit;    /* for code that its runtime generates */
	struct jit_debug *jit_debug; /* tables of code that no file backs; null: none were found */
	struct runtimes_mark home;   /* runtimes_home() */
	uint32_t context;	     /* runtimes_context() */
	uint64_t published;	     /* time of publication, ns */
	bool shown;		     /* the kernel side can see it */
};

/*
 * Publishes the known mappings of a process, with the marks of its language runtimes. exec_id: id
 * of the execution that they belong to. The mappings of an ended process are only for
 * spaces_finish(): its pid may have been reused. Returns 0, or -ENOSPC if the limit of tables is
 * reached.
 */
int spaces_publish(struct spaces *spaces, struct space *space, const struct process *process,
		   const struct process_runtimes *runtimes, uint32_t exec_id);

/* Builds the tables of all images of a process, except very large ones. */
void spaces_build(struct spaces *spaces, const struct process *process);

/* The pool that holds the tables, for other tables of the kernel side. */
struct unwind_pool *spaces_pool(const struct spaces *spaces);

/* Sets the exec_id of a space that was published with UNWIND_ANY_EXEC. */
void spaces_confirm(struct spaces *spaces, struct space *space, uint32_t exec_id);

/* The generation of the space that was published last, for any process. */
uint32_t spaces_generation(const struct spaces *spaces);

/*
 * Whether the process's compiler may soon publish the unwind information of its code, and whether
 * it has now.
 */
bool spaces_is_waiting(const struct space *space);
bool spaces_has_waited(const struct space *space);

/* Builds the table of an image that will be mapped soon. */
void spaces_expect(struct spaces *spaces, const struct image *image);

/* Builds postponed tables, as far as the allowance permits. */
void spaces_catch_up(struct spaces *spaces);

/* Withdraws a space: stacks of this process are handed over again. */
void spaces_withdraw(struct spaces *spaces, struct space *space);

/*
 * Finishes a stack that the kernel side handed over, and builds the tables that it needs. space
 * must be published. Returns why the walk ended, but never UNWIND_END_LATER: an address outside of
 * all mappings is UNWIND_END_UNMAPPED; UNWIND_END_PUT_OFF means that a table was postponed.
 *
 * is_still: the thread sleeps, so all of its memory can be read, and the stack is walked from its
 * leaf, including the frames of language runtimes, as in the kernel.
 */
int spaces_finish(struct spaces *spaces, struct space *space, const struct unwind_copy *stack,
		  struct unwind_registers *at, bool is_still, uint64_t *frames, uint32_t *count);

/* No process maps the image any more: its table is cached for its file, or freed. */
void spaces_image_gone(struct spaces *spaces, const struct image *image);

/* Makes released memory of the pool usable again. Call it now and then; it may sleep some ms. */
void spaces_settle(struct spaces *spaces);

struct spaces_statistics {
	uint64_t bytes, used; /* of the pool */
	unsigned int tables, rules;
	uint64_t no_room;     /* tables or mappings that exceeded the limit */
	uint64_t broken;      /* images with invalid unwind information */
	uint64_t over_budget; /* images whose unwind information is too expensive to read */
	uint64_t put_off;     /* tables that were postponed */
	uint64_t unsupported; /* rows with a rule that tables cannot express */
};
void spaces_statistics(const struct spaces *spaces, struct spaces_statistics *statistics);

#endif
