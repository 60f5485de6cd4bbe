// SPDX-License-Identifier: Apache-2.0
/* What must be known of processes to resolve their stacks, and is shown to the kernel side. */
#include "resolve/samples_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* How often the kernel side is shown anew what was mapped over. */
#define RENEW_NS 10000000ull

/* How often a language runtime that was not ready is looked at again. */
#define RUNTIME_RETRY_NS 100000000ull

struct filmed_process *samples_filmed(struct process *process)
{
	struct filmed_process *filmed = process->owner;

	if (filmed)
		return filmed;
	filmed = process->owner = calloc(1, sizeof(*filmed));
	/* its end was reported before it had an owner */
	if (filmed)
		filmed->ended = process->end != 0;
	return filmed;
}

static void image_new(void *context, struct image *image)
{
	struct samples *samples = context;

	samples->newest = image;
}

static void image_mapped(void *context, struct process *process, const struct image *image)
{
	struct filmed_process *filmed = process->owner;
	struct samples *samples = context;

	/*
	 * A stack through what the kernel side does not know yet is handed over, and the next one
	 * is not; where a runtime makes code, it takes that for the runtime's, and all would be cut
	 */
	if (filmed && filmed->space.process && runtimes_any(&filmed->runtimes))
		filmed->renew = true;
	if (samples->image_new && !process->end)
		samples->image_new(samples->context, process->pid, image);
}

static void emit_images(struct process *process,
			void (*emit)(void *context, pid_t pid, const struct image *image),
			void *context)
{
	size_t i;

	/* an image has several mappings, mostly side by side */
	for (i = 0; i < process->mapping_count; i++)
		if (!i || process->mappings[i].image != process->mappings[i - 1].image)
			emit(context, process->pid, process->mappings[i].image);
}

static void process_new(void *context, struct process *process, const struct process *parent)
{
	struct samples *samples = context;

	(void)parent;
	if (samples->program_new)
		samples->program_new(samples->context, process);
	if (samples->image_new)
		emit_images(process, samples->image_new, samples->context);
}

static void image_gone(void *context, struct image *image)
{
	struct samples *samples = context;

	if (samples->newest == image)
		samples->newest = NULL;
	catalogue_image_gone(samples->catalogue, image);
	spaces_image_gone(samples->spaces, image);
	runtimes_image_gone(samples->runtimes, image);
}

static void mappings_replaced(void *context, struct process *process, uint64_t time, uint64_t start,
			      uint64_t end)
{
	struct samples *samples = context;
	struct filmed_process *filmed = samples_filmed(process);

	if (!filmed)
		return;
	/* no record that is older than that can still come */
	while (filmed->stale.count && filmed->stale.at[0].time + REMEMBER_NS < time) {
		filmed->stale.count--;
		memmove(filmed->stale.at, filmed->stale.at + 1,
			filmed->stale.count * sizeof(*filmed->stale.at));
	}
	/* also tables of its parent may have been used for it: any that are published by now */
	vec_push(&filmed->stale,
		 (struct stale_range){time, start, end, spaces_generation(samples->spaces)});
	/*
	 * A stack that is handed over comes without the frames of its language: where there are
	 * any, the kernel side goes on with what it knows, and stacks through what was replaced are
	 * cut, until the next sample is taken.
	 */
	if (filmed->space.process && runtimes_any(&filmed->runtimes))
		filmed->renew = true;
	else
		spaces_withdraw(samples->spaces, &filmed->space);
}

/*
 * Under another name it is as it was, with all that sources know. Of a process that is gone
 * already, its first image tells which program it ran.
 */
static void process_changed(void *context, struct process *process)
{
	struct samples *samples = context;

	if (samples->program_new)
		samples->program_new(samples->context, process);
	if (samples->image_new && samples->newest && process->exe &&
	    !strcmp(samples->newest->path, process->exe))
		samples->image_new(samples->context, process->pid, samples->newest);
}

/* A process that runs another program is another process to a reader of the film. */
static void process_executed(void *context, struct process *process)
{
	struct filmed_process *filmed = process->owner;
	struct samples *samples = context;

	if (samples->process_gone)
		samples->process_gone(samples->context, process);
	process_changed(samples, process);
	if (!filmed || filmed->row.execs == process->execs)
		return;
	names_process_gone(samples->names, process->pid);
	spaces_withdraw(samples->spaces, &filmed->space);
	runtimes_leave(samples->runtimes, &filmed->runtimes);
	filmed->row = (struct catalogue_process){0};
	filmed->resource_next = filmed->resource_pause = 0;
	filmed->resource_failed = false;
}

/*
 * Called when a process has ended, and again, since its owner is still set, when nothing can be
 * asked about it any more: samples of its last moments in the kernel come in between.
 */
static void process_gone(void *context, struct process *process)
{
	struct filmed_process *filmed = process->owner;
	struct samples *samples = context;

	if (samples->process_gone)
		samples->process_gone(samples->context, process);
	if (!filmed)
		return;
	spaces_withdraw(samples->spaces, &filmed->space);
	runtimes_leave(samples->runtimes, &filmed->runtimes);
	if (process->end && !filmed->ended) {
		filmed->ended = true;
		names_process_gone(samples->names, process->pid);
		catalogue_process_changed(samples->catalogue, &filmed->row, process);
		return;
	}
	vec_free(&filmed->stale);
	free(filmed);
	process->owner = NULL;
}

struct targets_listener samples_listener(struct samples *samples)
{
	return (struct targets_listener){
		.context = samples,
		.image_new = image_new,
		.image_gone = image_gone,
		.image_mapped = image_mapped,
		.process_new = process_new,
		.mappings_replaced = mappings_replaced,
		.process_executed = process_executed,
		.process_changed = process_changed,
		.process_gone = process_gone,
	};
}

int samples_publish(struct samples *samples, struct filmed_process *filmed,
		    const struct process *process, uint32_t exec_id)
{
	runtimes_look(samples->runtimes, &filmed->runtimes, process);
	return spaces_publish(samples->spaces, &filmed->space, process, &filmed->runtimes, exec_id);
}

void samples_look_again(struct samples *samples, struct filmed_process *filmed,
			const struct process *process, uint64_t now)
{
	if (now - filmed->last_look < RUNTIME_RETRY_NS || process->end)
		return;
	filmed->last_look = now;
	if (runtimes_look(samples->runtimes, &filmed->runtimes, process) ||
	    spaces_has_waited(&filmed->space))
		filmed->renew = true;
}

void samples_renew(struct samples *samples, struct filmed_process *filmed, struct process *process,
		   const struct capture_record *record)
{
	struct space *space = &filmed->space;
	bool is_outdated = record->has_user && !record->generation && space->shown &&
			   space->exec_id == record->identity.exec_id &&
			   space->published + RENEW_NS < record->head.time;

	if (!space->process || process->end || (!filmed->renew && !is_outdated))
		return;
	if (is_outdated && record->head.time - filmed->last_reread >= REREAD_NS) {
		filmed->last_reread = record->head.time;
		targets_reread(samples->targets, process);
	}
	filmed->renew = false;
	if (process->mapping_count && space->process)
		samples_publish(samples, filmed, process, space->exec_id);
}

void samples_follow(struct samples *samples, pid_t pid)
{
	struct process *process = targets_find(samples->targets, pid);
	struct filmed_process *filmed = process ? samples_filmed(process) : NULL;

	if (!filmed || filmed->space.process)
		return;
	/* the first samples of a language would lack its frames */
	runtimes_look(samples->runtimes, &filmed->runtimes, process);
	if (runtimes_any(&filmed->runtimes))
		samples_publish(samples, filmed, process, UNWIND_ANY_EXEC);
}

/* How long a program that is waited for may be held up by reading its files. */
#define EXPECT_NS 2000000000ull

struct expecting {
	struct samples *samples;
	uint64_t until;
	bool any; /* of the files has a runtime */
};

static void expect_runtime(void *context, const struct image *image)
{
	struct expecting *expecting = context;

	expecting->any |= runtimes_expect(expecting->samples->runtimes, image);
}

static void expect_table(void *context, const struct image *image)
{
	const struct expecting *expecting = context;

	if (clock_ns() < expecting->until)
		spaces_expect(expecting->samples->spaces, image);
}

static void each_file(struct samples *samples, const struct program *program,
		      void (*emit)(void *context, const struct image *image), void *context)
{
	targets_learn(samples->targets, program->path, emit, context);
	for (size_t i = 0; i < program->count; i++)
		targets_learn(samples->targets, program->libraries[i], emit, context);
}

void samples_expect_program(struct samples *samples, const struct program *program)
{
	struct expecting expecting = {samples, clock_ns() + EXPECT_NS, false};

	each_file(samples, program, expect_runtime, &expecting);
	if (expecting.any)
		each_file(samples, program, expect_table, &expecting);
}

void samples_follow_begin(struct samples *samples, pid_t pid)
{
	struct process *process = targets_find(samples->targets, pid);
	struct filmed_process *filmed = process ? samples_filmed(process) : NULL;
	const struct space *space;
	bool changed;

	if (!filmed || process->end)
		return;
	space = &filmed->space;
	changed = runtimes_look(samples->runtimes, &filmed->runtimes, process);
	if (!runtimes_any(&filmed->runtimes) ||
	    (!changed && space->process && space->process_generation == process->generation))
		return;
	spaces_publish(samples->spaces, &filmed->space, process, &filmed->runtimes,
		       space->process ? space->exec_id : UNWIND_ANY_EXEC);
}

void samples_meet(struct samples *samples, pid_t pid)
{
	targets_find(samples->targets, pid);
}

void samples_follow_all(struct samples *samples, pid_t pid)
{
	struct process *process = targets_find(samples->targets, pid);
	struct filmed_process *filmed = process ? samples_filmed(process) : NULL;

	if (!filmed || !process->mapping_count)
		return;
	spaces_build(samples->spaces, process);
	if (!filmed->space.process)
		samples_publish(samples, filmed, process, UNWIND_ANY_EXEC);
}

void samples_each_image(struct samples *samples, pid_t pid,
			void (*emit)(void *context, pid_t pid, const struct image *image),
			void *context)
{
	struct process *process;

	samples_follow(samples, pid);
	process = targets_find(samples->targets, pid);
	if (process)
		emit_images(process, emit, context);
}

void samples_expect(struct samples *samples, pid_t pid, uint64_t address)
{
	struct process *process = targets_find(samples->targets, pid);
	struct filmed_process *filmed = process ? samples_filmed(process) : NULL;
	struct unwind_registers at = {.pc = address, .pc_exact = true};
	const struct unwind_copy nothing = {0};
	uint32_t count = 0;

	if (!filmed || process->end || !process_mapping(process, address) ||
	    (!filmed->space.process && samples_publish(samples, filmed, process, UNWIND_ANY_EXEC)))
		return;
	/* it ends where the stack would be needed */
	spaces_finish(samples->spaces, &filmed->space, &nothing, &at, false, samples->frames,
		      &count);
}
