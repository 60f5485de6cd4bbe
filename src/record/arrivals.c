// SPDX-License-Identifier: Apache-2.0
#include "record/arrivals.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/vec.h"
#include "attach/filter.h"
#include "resolve/samples.h"
#include "record/sources.h"
#include "process/image_open.h"
#include "process/procfs.h"

/*
 * The hold of a program begins behind the events that announce the program: they are awaited this
 * long.
 */
#define HOLD_COMES_NS 1000000000ull

/* A file whose probes were set when it was mapped already. */
struct arrival {
	pid_t pid;
	uint64_t mapped; /* 0: not known */
	uint64_t ready;	 /* when its probes were set */
	char *path;
	struct source *source; /* whose probes they are */
};

struct arrivals {
	struct arrivals_parts parts;
	struct holds *holds;
	const struct held *held;	    /* the process whose probes are being set, */
	char *held_path;		    /* and its file; null: it could not be read */
	bool each;			    /* and each process that maps it needs its own */
	const struct target_event *subject; /* the event that is being taken */
	struct holds_counts counts;	    /* of holds, once that is gone */
	vec(struct arrival) all;	    /* those that may yet turn out to have been held */
};

/* Some of the arrivals. */
struct choice_of_arrivals {
	pid_t pid;	  /* 0: of any process */
	const char *path; /* null: any */
	uint64_t ready_until;
};

static void notify_missed(struct source *source, const char *path, uint64_t ran_ns)
{
	if (source->type->images.missed)
		source->type->images.missed(source, path, ran_ns);
}

static bool is_chosen(const struct arrival *arrival, const struct choice_of_arrivals *choice)
{
	return (!choice->pid || arrival->pid == choice->pid) &&
	       (!choice->path || !strcmp(arrival->path, choice->path)) &&
	       arrival->ready <= choice->ready_until;
}

/*
 * Their last word: they have run without probes. ran_ns: for how long; 0: since they were mapped.
 */
static void settle_late(struct arrivals *arrivals, const struct choice_of_arrivals *choice,
			uint64_t ran_ns)
{
	size_t kept = 0;

	vec_foreach (&arrivals->all, arrival) {
		if (!is_chosen(arrival, choice)) {
			arrivals->all.at[kept++] = *arrival;
			continue;
		}
		notify_missed(arrival->source, arrival->path,
			      ran_ns		? ran_ns
			      : arrival->mapped ? arrival->ready - arrival->mapped
						: 0);
		free(arrival->path);
	}
	arrivals->all.count = kept;
}

/* They were held until their probes were there. */
static void settle_in_time(struct arrivals *arrivals, const struct choice_of_arrivals *choice)
{
	size_t kept = 0;

	vec_foreach (&arrivals->all, arrival) {
		if (is_chosen(arrival, choice))
			free(arrival->path);
		else
			arrivals->all.at[kept++] = *arrival;
	}
	arrivals->all.count = kept;
}

/*
 * Whether what a process does before the probes are there is missing in the film. Other processes
 * come here, too: those that wake a thread that is filmed. One that has gone may have been
 * filmed.
 */
static bool is_filmed(const struct arrivals *arrivals, pid_t pid)
{
	const struct arrivals_parts *parts = &arrivals->parts;

	return parts->selection->whole_machine ||
	       filter_is_target(parts->probes, parts->selection, pid) ||
	       (kill(pid, 0) && errno == ESRCH);
}

/* A source has set its probes into a file that was mapped already. */
static void keep(struct arrivals *arrivals, struct source *source, pid_t pid,
		 const struct image *image)
{
	struct arrival arrival = {.pid = pid, .ready = clock_ns(), .source = source};

	if (!is_filmed(arrivals, pid))
		return;
	if (arrivals->held)
		arrival.mapped = arrivals->held->began;
	else if (arrivals->subject)
		arrival.mapped = arrivals->subject->time;
	arrival.path = strdup(image->path);
	if (arrival.path && vec_push(&arrivals->all, arrival))
		return;
	notify_missed(source, image->path, 0);
	free(arrival.path);
}

void arrivals_image(struct arrivals *arrivals, pid_t pid, const struct image *image)
{
	unsigned int became;

	sources_foreach (arrivals->parts.sources, source) {
		if (!source->type->images.arrived)
			continue;
		became = source->type->images.arrived(source, pid, image);
		if (became & SOURCE_IMAGE_PROBED)
			keep(arrivals, source, pid, image);
		if (became & SOURCE_IMAGE_EACH)
			arrivals->each = true;
	}
}

static void add_image(void *context, pid_t pid, const struct image *image)
{
	arrivals_image(context, pid, image);
}

/* The file at the beginning of which a process waits. */
static void set_probes(struct arrivals *arrivals, const struct held *held)
{
	char program[PATH_MAX];
	struct image image;

	if (held->is_child) {
		samples_each_image(arrivals->parts.samples, held->pid, add_image, arrivals);
		return;
	}
	if (held->by_thread)
		sources_executed(arrivals->parts.sources, held->pid);
	if (held->is_program && procfs_link(held->pid, "exe", program, sizeof(program)))
		sources_program(arrivals->parts.sources, (pid_t)held->pid, program);
	/* what cannot be read here is read again when its event comes, and its failure told */
	if (image_at(arrivals->parts.sources->host.far, held->pid, held->address, &image))
		return;
	arrivals->held_path = strdup(image.path);
	arrivals_image(arrivals, held->pid, &image);
	image_at_close(&image);
}

static bool prepare(void *context, const struct held *held, bool *each)
{
	struct arrivals *arrivals = context;
	bool gone;

	if (held->undecided && !filter_decide(arrivals->parts.probes, arrivals->parts.selection,
					      held->pid, held->comm, &gone))
		return false;
	arrivals->held = held;
	arrivals->each = false;
	set_probes(arrivals, held);
	*each = arrivals->each;
	if (held->is_program)
		samples_follow(arrivals->parts.samples, held->pid);
	arrivals->held = NULL;
	return true;
}

/* It could not be looked at, and may be one that has its probes. */
static void notify_unseen(struct arrivals *arrivals, const struct held *held)
{
	sources_foreach (arrivals->parts.sources, source)
		if (source->type->images.has_probes &&
		    !source->type->images.has_probes(source, held->device, held->inode))
			source->type->images.unprobed(source, held->comm);
}

static void released(void *context, const struct held *held, uint64_t ran_ns)
{
	struct arrivals *arrivals = context;
	struct choice_of_arrivals its = {held->pid, arrivals->held_path, UINT64_MAX};

	if (!its.path && !held->is_child && ran_ns)
		notify_unseen(arrivals, held);
	else if (its.path || held->is_child)
		ran_ns ? settle_late(arrivals, &its, ran_ns) : settle_in_time(arrivals, &its);
	free(arrivals->held_path);
	arrivals->held_path = NULL;
}

int arrivals_new(const struct arrivals_parts *parts, struct arrivals **result, struct fail *why)
{
	struct arrivals *arrivals = calloc(1, sizeof(*arrivals));
	int err;

	if (!arrivals)
		return fail_errno(why, -ENOMEM, NULL, "cannot trace");
	arrivals->parts = *parts;
	err = holds_start(parts->probes, &arrivals->holds, why);
	if (err)
		arrivals_free(arrivals);
	else
		*result = arrivals;
	return err;
}

void arrivals_handle(struct arrivals *arrivals)
{
	struct holds_listener listener = {prepare, released, arrivals};

	if (arrivals && arrivals->holds)
		holds_handle(arrivals->holds, &listener);
}

void arrivals_stop(struct arrivals *arrivals)
{
	struct choice_of_arrivals all = {0, NULL, UINT64_MAX};

	if (!arrivals)
		return;
	arrivals_handle(arrivals);
	arrivals->counts = arrivals_held(arrivals);
	holds_stop(arrivals->holds);
	arrivals->holds = NULL;
	settle_late(arrivals, &all, 0);
}

struct holds_counts arrivals_held(const struct arrivals *arrivals)
{
	if (!arrivals)
		return (struct holds_counts){0};
	return arrivals->holds ? holds_counts(arrivals->holds) : arrivals->counts;
}

void arrivals_free(struct arrivals *arrivals)
{
	if (!arrivals)
		return;
	arrivals_stop(arrivals);
	vec_free(&arrivals->all);
	free(arrivals);
}

void arrivals_event(struct arrivals *arrivals, const struct target_event *event)
{
	struct choice_of_arrivals its = {event ? event->pid : 0, NULL, UINT64_MAX};

	if (!arrivals)
		return;
	arrivals->subject = event;
	/* what has come before with the process's last program was not held */
	if (event && event->kind == TARGET_EXEC)
		settle_late(arrivals, &its, 0);
}

void arrivals_tick(struct arrivals *arrivals, uint64_t now)
{
	struct choice_of_arrivals old = {0, NULL, now - HOLD_COMES_NS};

	if (arrivals)
		settle_late(arrivals, &old, 0);
}
