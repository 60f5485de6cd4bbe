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
 * What samples keep to themselves: samples.c resolves stacks, samples_processes.c keeps what must
 * be known of their processes.
 */

/* What ended so long ago is not asked for any more: rings are drained several times a second. */
#define REMEMBER_NS 5000000000ull

/* How often the mappings of one process are read again at most. */
#define REREAD_NS 500000000ull

/* Addresses that meant something else up to a moment: stacks through them were unwound wrongly. */
struct stale_range {
	uint64_t time, start, end;
	uint32_t generation; /* the last one of the space that showed the old meaning */
};

/* What hangs on a process that has been sampled (process->owner). */
struct filmed_process {
	struct space space;
	struct catalogue_process row;
	vec(struct stale_range) stale;
	bool ended;
	uint64_t last_reread; /* when its mappings were read again for an unknown address */
	struct process_runtimes runtimes;
	uint64_t last_look; /* when its runtimes were looked at again */
	bool renew;	    /* the kernel side must be shown what has changed */
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
	const struct image *newest; /* the image that was new last; null: it is gone */
	struct samples_statistics statistics;
	uint32_t films; /* that it has had so far */
	uint64_t frames[UNWIND_FRAMES_MAX + CAPTURE_KERNEL_FRAMES_MAX + 1]; /* words */
	uint32_t frame_count; /* of the user stack that was resolved last */
	struct stack_rows rows;
};

/* What hangs on a process, made when it is first asked for; null: no memory. */
struct filmed_process *samples_filmed(struct process *process);

/* What is to be heard of processes and images; its context are the samples. */
struct targets_listener samples_listener(struct samples *samples);

/* Shows the kernel side the process as it is now known: spaces_publish(). */
int samples_publish(struct samples *samples, struct filmed_process *filmed,
		    const struct process *process, uint32_t exec_id);

/*
 * An interpreter, or a compiler, that was just starting: once it is ready, the kernel side must
 * learn that.
 */
void samples_look_again(struct samples *samples, struct filmed_process *filmed,
			const struct process *process, uint64_t now);

/*
 * Shows the kernel side anew what it is shown already: it, or its successor, may have
 * changed. That it does not use what it is shown (no generation) means that something was mapped
 * over a part that is gone for long: mappings without code are not reported.
 */
void samples_renew(struct samples *samples, struct filmed_process *filmed, struct process *process,
		   const struct capture_record *record);

#endif
