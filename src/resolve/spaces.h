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
 * What the kernel side must know of address spaces to unwind by itself: for each sampled process
 * its executable mappings, for each image that a stack went through its unwind table. Both are made
 * when a stack first needs them and shared by all that follow.
 */
struct spaces;

/* File descriptors of the BPF maps (bpf/capture/maps.h). */
struct spaces_maps {
	int chunks, rules, spaces;
};

/*
 * limit: the most bytes of tables, over all images and processes. patience: how many stacks of one
 * process are handed over for addresses that stay unknown until its mappings are written anew; more
 * than can come in while a large table is built. few_processes: not the whole machine is filmed.
 * allowance: of the time that reading files may take; it stays the caller's.
 */
int spaces_new(const struct spaces_maps *maps, uint64_t limit, uint32_t patience,
	       bool few_processes, struct allowance *allowance, struct spaces **spaces,
	       struct fail *why);
void spaces_free(struct spaces *spaces);

/* A process's part, kept by the owner of the process. All zero: not published. */
struct space {
	const struct process *process; /* null: not published */
	uint32_t mappings, count;      /* reference into the pool */
	uint32_t generation;	       /* unique among all spaces ever published */
	uint32_t process_generation;   /* process->generation that it shows */
	uint32_t exec_id;
	struct runtimes_mark jit;    /* of code that its runtime makes */
	struct jit_debug *jit_debug; /* tables of code without a file; null: none were found */
	struct runtimes_mark home;   /* runtimes_home() */
	uint64_t published;	     /* when */
	bool shown;		     /* to the kernel */
};

/*
 * Shows the kernel the process's mappings as they are now known, with the marks of its language
 * runtimes; exec_id: of the program that they belong to. Those of a process that has ended serve
 * only spaces_finish(): its number may be another's by now. Returns 0, or -ENOSPC when the tables'
 * limit is reached.
 */
int spaces_publish(struct spaces *spaces, struct space *space, const struct process *process,
		   const struct process_runtimes *runtimes, uint32_t exec_id);

/* Makes the tables of what a process has mapped, but not those of very large files. */
void spaces_build(struct spaces *spaces, const struct process *process);

/* Where else the kernel side's tables may be kept. */
struct unwind_pool *spaces_pool(const struct spaces *spaces);

/* Its exec_id was UNWIND_ANY_EXEC, and is known now. */
void spaces_confirm(struct spaces *spaces, struct space *space, uint32_t exec_id);

/* The generation of the latest space that was published, of whichever process. */
uint32_t spaces_generation(const struct spaces *spaces);

/*
 * Whether the process's compiler may soon say what the frames of its code look like, and whether it
 * does now.
 */
bool spaces_is_waiting(const struct space *space);
bool spaces_has_waited(const struct space *space);

/* Makes the table of an image that will be mapped soon. */
void spaces_expect(struct spaces *spaces, const struct image *image);

/* Makes tables that were put off, as far as there is time for them now. */
void spaces_catch_up(struct spaces *spaces);

/* Takes it back: stacks of this process are handed over again. */
void spaces_withdraw(struct spaces *spaces, struct space *space);

/*
 * Finishes a stack that the kernel side handed over, building the tables that it needs on the way.
 * space must be published. Returns why the walk ended; UNWIND_END_LATER does not occur:
 * an address outside of all mappings is UNWIND_END_UNMAPPED, and UNWIND_END_PUT_OFF says that a
 * table has to wait.
 *
 * is_still: the thread waits, so that all of its memory can be read, and the stack is walked from
 * its leaf: frames of language runtimes are found as they are in the kernel.
 */
int spaces_finish(struct spaces *spaces, struct space *space, const struct unwind_copy *stack,
		  struct unwind_registers *at, bool is_still, uint64_t *frames, uint32_t *count);

/* No process maps the image any more: its table is kept for its file, or goes. */
void spaces_image_gone(struct spaces *spaces, const struct image *image);

/* Makes memory usable again that was given back; to be called now and then. May sleep some ms. */
void spaces_settle(struct spaces *spaces);

struct spaces_statistics {
	uint64_t bytes, used; /* of the pool */
	unsigned int tables, rules;
	uint64_t no_room;     /* tables or mappings that the limit kept out */
	uint64_t broken;      /* images whose unwind information is unusable */
	uint64_t over_budget; /* and those of which it takes too much to read it */
	uint64_t put_off;     /* tables that had to wait */
	uint64_t unsupported; /* rows with a rule that cannot be expressed */
};
void spaces_statistics(const struct spaces *spaces, struct spaces_statistics *statistics);

#endif
