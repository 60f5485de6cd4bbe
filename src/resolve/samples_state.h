/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_SAMPLES_STATE_H
#define RESOLVE_SAMPLES_STATE_H

#include "base/allowance.h"
#include "base/vec.h"
#include "resolve/catalogue.h"
#include "resolve/names.h"
#include "resolve/runtimes.h"
#include "resolve/samples.h"
#include "resolve/spaces.h"
#include "resolve/stack_rows.h"

/*
 * Private state of samples: samples.c resolves stacks, samples_processes.c tracks their processes,
 * samples_resources.c asks them what they are.
 */

/* Processes that ended longer ago are forgotten: rings are drained several times a second. */
#define REMEMBER_NS 5000000000ull

/* Shortest interval between two reads of one process's mappings. */
#define REREAD_NS 500000000ull

/* A range of addresses whose mapping changed at `time`: stacks from before were unwound wrongly. */
struct stale_range {
	uint64_t time, start, end;
	uint32_t generation; /* last generation of the space that had the old mapping */
};

/* The state of a sampled process (process->owner). */
struct filmed_process {
	struct space space;
	struct catalogue_process row;
	vec(struct stale_range) stale;
	bool ended;
	uint64_t last_reread; /* time of the last read of its mappings for an unknown address */
	struct process_runtimes runtimes;
	uint64_t last_look; /* time of the last search for its runtimes */
	bool renew;	    /* changes must be published to the kernel side */
	/* when it is asked again what it says of itself, and after which pause, ns */
	uint64_t resource_next, resource_pause;
	bool resource_failed; /* and that could not be read */
};

struct samples {
	struct film_writer *film;
	struct far_files *far;
	struct targets *targets;
	struct spaces *spaces;
	struct names *names;
	struct runtimes *runtimes;
	struct catalogue *catalogue;
	struct allowance allowance; /* for reading files */
	void (*image_new)(void *context, pid_t pid, const struct image *image);
	void (*program_new)(void *context, const struct process *process);
	void (*process_gone)(void *context, const struct process *process);
	void *context;
	const struct image *newest; /* the image that was reported last; null: it is gone */
	struct samples_statistics statistics;
	uint32_t films; /* number of films so far */
	uint64_t frames[UNWIND_FRAMES_MAX + CAPTURE_KERNEL_FRAMES_MAX + 1]; /* words */
	uint32_t frame_count;	  /* words of the user stack that was resolved last */
	enum unwind_end last_end; /* why it ended */
	struct stack_rows rows;
	uint64_t resources_unread; /* processes whose own words could not be read */
};

/* The state of a process, created on the first call; null: no memory. */
struct filmed_process *samples_filmed(struct process *process);

/* The listener for processes and images; its context is samples. */
struct targets_listener samples_listener(struct samples *samples);

/* Publishes what is known of a process: see spaces_publish(). */
int samples_publish(struct samples *samples, struct filmed_process *filmed,
		    const struct process *process, uint32_t exec_id);

/* Searches again for a runtime that was still starting, and publishes it when it is ready. */
void samples_look_again(struct samples *samples, struct filmed_process *filmed,
			const struct process *process, uint64_t now);

/*
 * Asks processes what they say of themselves, as far as it is time. is_last: all that said nothing.
 */
void samples_ask_resources(struct samples *samples, bool is_last);

/*
 * Publishes a process again that may have changed. If the kernel side ignores what was published
 * (no generation), a mapping without code, which the kernel does not report, has replaced a part
 * long ago.
 */
void samples_renew(struct samples *samples, struct filmed_process *filmed, struct process *process,
		   const struct capture_record *record);

#endif
