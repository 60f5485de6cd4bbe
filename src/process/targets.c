// SPDX-License-Identifier: Apache-2.0
#include "process/targets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "process/process.h"
#include "process/procfs.h"

#define PROCESSES_MAX 131072

/* /proc tells births in ticks, events to the nanosecond: so far apart the two may lie. */
#define TICKS_NS 20000000ull

/* So many mappings that may be gone are kept for a process. */
#define UNMAPPED_MAX 4096

/* Processes whose life is checked at one targets_forget_before() after events were lost. */
#define CHECKS_AT_ONCE 64

struct targets {
	struct targets_listener listener;
	struct images *images;
	struct threads threads;
	struct map processes; /* pid to struct tracked */
	struct {
		struct tracked **at;
		size_t count, room;
	} ended;
	size_t living;
	bool ignore_strangers;
	bool some_distrusted;
	struct target_counts counts; /* the refused ones */
};

/* Calls what the listener has for it, if anything. */
#define tell(targets, what, ...)                                                            \
	do {                                                                                \
		if ((targets)->listener.what)                                               \
			(targets)->listener.what((targets)->listener.context, __VA_ARGS__); \
	} while (0)

int targets_new(const struct targets_listener *listener, struct targets **targets)
{
	struct targets *all = calloc(1, sizeof(*all));
	struct images_listener images = {listener->context, listener->image_new,
					 listener->image_gone};
	int err;

	if (!all)
		return -ENOMEM;
	all->listener = *listener;
	err = images_new(&images, &all->images);
	if (err) {
		free(all);
		return err;
	}
	*targets = all;
	return 0;
}

/* Beside so many processes, the rest of a long command line is left out. */
#define PROCESSES_MANY 8192

static bool has_many(const struct targets *targets)
{
	return targets->processes.count > PROCESSES_MANY;
}

static struct tracked *lookup(const struct targets *targets, pid_t pid)
{
	uint64_t *found = map_get(&targets->processes, (uint64_t)pid);

	return found ? (struct tracked *)(uintptr_t)*found : NULL;
}

/* Puts a new process into the table, in the place of an ended one with its number. */
static struct tracked *enter(struct targets *targets, pid_t pid)
{
	struct tracked *t = NULL;

	/* room in ended, so that a process can always end */
	if (targets->processes.count < PROCESSES_MAX &&
	    vec_reserve(&targets->ended, targets->ended.count + targets->living + 1))
		t = tracked_new(pid);
	if (t && !map_put(&targets->processes, (uint64_t)pid, (uintptr_t)t)) {
		tracked_free(t, targets->images, 0);
		t = NULL;
	}
	if (t)
		targets->living++;
	else
		targets->counts.refused_processes++;
	return t;
}

static void end_process(struct targets *targets, struct tracked *t, uint64_t time)
{
	if (t->process.end)
		return;
	t->process.end = time ? time : 1;
	threads_clear(&targets->threads, t, NULL);
	vec_push(&targets->ended, t);
	targets->living--;
	tell(targets, process_gone, &t->process);
}

/* Only threads that have ended and wait for their parent. */
static bool is_over(const struct procfs_stat *stat)
{
	return (stat->state == 'Z' || stat->state == 'X') && stat->threads <= 1;
}

static void read_identity(struct targets *targets, struct tracked *t,
			  const struct procfs_stat *stat)
{
	struct thread *first;

	t->process.parent = stat->parent;
	memcpy(t->process.comm, stat->comm, sizeof(t->process.comm));
	t->start_ticks = stat->start_ticks;
	if (!t->process.start)
		t->process.start = procfs_ticks_to_ns(stat->start_ticks);
	tracked_read_strings(t, has_many(targets));
	targets->counts.refused_threads += threads_read(&targets->threads, t);
	first = thread_find(&targets->threads, t->process.pid);
	if (first) {
		memcpy(first->comm, stat->comm, sizeof(first->comm));
		first->named = true;
	}
}

/* Reads the mappings anew and tells of what has changed. */
static void read_mappings(struct targets *targets, struct tracked *t)
{
	struct mappings now = {0};
	uint64_t time = procfs_now(), start, end;
	int refused = tracked_read_mappings(t, targets->images, &now);

	t->read_at = time;
	t->distrusted = false;
	t->read_mappings = refused < 0 ? t->mappings.count : now.count;
	if (refused < 0) {
		mappings_free(&now, targets->images, time);
		/* no use to try again: what events tell is all there is to be had */
		if (refused == -EACCES || refused == -EPERM) {
			targets->counts.unreadable_processes += !t->complete;
			t->complete = true;
		}
		return;
	}
	targets->counts.refused_mappings += (uint64_t)refused;
	t->complete = true;
	if (mappings_equal(&t->mappings, &now)) {
		mappings_free(&now, targets->images, time);
		return;
	}
	if (mappings_lost(&t->mappings, &now, &start, &end))
		tell(targets, mappings_replaced, &t->process, time, start, end);
	mappings_free(&t->mappings, targets->images, time);
	t->mappings = now;
	tracked_publish(t);
}

/* Makes a process known from /proc. Null: it is gone, or there is no memory. */
static struct tracked *meet(struct targets *targets, pid_t pid)
{
	struct procfs_stat stat;
	struct tracked *t;

	if (!procfs_read_stat(pid, "stat", &stat))
		return NULL;
	t = enter(targets, pid);
	if (!t)
		return NULL;
	read_identity(targets, t, &stat);
	if (is_over(&stat))
		t->read_at = procfs_now();
	else
		read_mappings(targets, t);
	tell(targets, process_new, &t->process, NULL);
	if (is_over(&stat))
		end_process(targets, t, t->read_at);
	return t;
}

/* The living process of an event; an ended one with its number makes room. */
static struct tracked *living(struct targets *targets, pid_t pid, uint64_t time)
{
	struct tracked *t = lookup(targets, pid);

	if (t && t->process.end && time > t->process.end) {
		map_remove(&targets->processes, (uint64_t)pid);
		return NULL;
	}
	return t;
}

/*
 * The process that an event is about; null: it is of no interest. One that is unknown and gone already
 * is known by the event alone.
 */
static struct tracked *subject(struct targets *targets, const struct target_event *event)
{
	struct tracked *t = living(targets, event->pid, event->time);

	if (t || targets->ignore_strangers)
		return t;
	t = meet(targets, event->pid);
	if (t)
		return t;
	t = enter(targets, event->pid);
	if (!t)
		return NULL;
	memcpy(t->process.comm, event->comm, sizeof(t->process.comm));
	t->process.comm[sizeof(t->process.comm) - 1] = 0;
	t->exe_unknown = true;
	if (!thread_add(&targets->threads, t, event->tid))
		targets->counts.refused_threads++;
	tell(targets, process_new, &t->process, NULL);
	return t;
}

static void name_thread(struct targets *targets, struct tracked *t, pid_t tid, const char *comm)
{
	struct thread *thread = thread_add(&targets->threads, t, tid);

	if (thread) {
		snprintf(thread->comm, sizeof(thread->comm), "%s", comm);
		thread->named = true;
	} else {
		targets->counts.refused_threads++;
	}
	tell(targets, thread_named, &t->process, tid, comm);
}

/* A new thread bears the name of the one that made it. */
static void name_of_newborn(const struct targets *targets, const struct target_event *event,
			    const struct tracked *of, char comm[16])
{
	struct thread *maker = thread_find(&targets->threads, event->parent_tid);

	if (maker && maker->named)
		memcpy(comm, maker->comm, 16);
	else
		target_thread_of(event->pid, event->tid, comm, NULL);
	if (!comm[0] && of)
		memcpy(comm, of->process.comm, 16);
}

/* Whether a process that is known already is the one whose birth the event tells. */
static bool is_same_birth(const struct tracked *t, uint64_t time)
{
	uint64_t start = t->process.start;

	if (!t->read_at || time > t->read_at || (t->process.end && time > t->process.end))
		return false;
	return start < time ? time - start < TICKS_NS : start - time < TICKS_NS;
}

static void take_new_process(struct targets *targets, const struct target_event *event)
{
	struct tracked *t = lookup(targets, event->pid), *parent;
	char comm[16];

	if (t && is_same_birth(t, event->time)) {
		t->process.start = event->time;
		t->process.parent = event->parent_pid;
		return;
	}
	if (t) {
		end_process(targets, t, event->time);
		map_remove(&targets->processes, (uint64_t)event->pid);
	}
	parent = living(targets, event->parent_pid, event->time);
	if (!parent && targets->ignore_strangers)
		return;
	if (!parent && event->parent_pid > 0)
		parent = meet(targets, event->parent_pid);
	t = enter(targets, event->pid);
	if (!t)
		return;
	t->process.parent = event->parent_pid;
	t->process.start = event->time;
	if (parent && !tracked_inherit(t, parent) &&
	    mappings_copy(&t->mappings, &parent->mappings, targets->images)) {
		/* what was read of the parent after the fork need not be what the child got */
		t->complete =
			parent->complete && !parent->distrusted && event->time >= parent->read_at;
		tracked_publish(t);
	}
	name_of_newborn(targets, event, parent, comm);
	memcpy(t->process.comm, comm, sizeof(comm));
	tell(targets, process_new, &t->process, parent ? &parent->process : NULL);
	name_thread(targets, t, event->tid, comm);
}

static void take_fork(struct targets *targets, const struct target_event *event)
{
	struct tracked *t;
	char comm[16];

	if (event->pid != event->parent_pid) {
		take_new_process(targets, event);
		return;
	}
	t = subject(targets, event);
	if (!t || t->process.end)
		return;
	name_of_newborn(targets, event, t, comm);
	name_thread(targets, t, event->tid, comm);
}

static void take_exec(struct targets *targets, const struct target_event *event)
{
	struct tracked *t = subject(targets, event);
	struct thread *thread;

	if (!t)
		return;
	if (t->mappings.count)
		tell(targets, mappings_replaced, &t->process, event->time, 0, UINT64_MAX);
	mappings_clear(&t->mappings, targets->images, event->time, true);
	tracked_publish(t);
	t->complete = true;
	t->distrusted = false;
	t->process.execs++;
	memcpy(t->process.comm, event->comm, sizeof(t->process.comm));
	t->process.comm[sizeof(t->process.comm) - 1] = 0;
	tracked_read_strings(t, has_many(targets));
	if (!t->process.end) {
		/* the others are dead, and the one that executes has become the first */
		thread = thread_add(&targets->threads, t, event->pid);
		threads_clear(&targets->threads, t, thread);
	}
	tell(targets, process_changed, &t->process);
	if (!t->process.end)
		name_thread(targets, t, event->pid, t->process.comm);
}

static void take_comm(struct targets *targets, const struct target_event *event)
{
	struct tracked *t = subject(targets, event);
	char comm[16];

	if (!t || t->process.end)
		return;
	snprintf(comm, sizeof(comm), "%.15s", event->comm);
	if (event->tid == event->pid && strcmp(comm, t->process.comm)) {
		memcpy(t->process.comm, comm, sizeof(comm));
		tell(targets, process_changed, &t->process);
	}
	name_thread(targets, t, event->tid, comm);
}

/* The first file that a program maps is the program itself. */
static void learn_exe(struct targets *targets, struct tracked *t, const struct image *image)
{
	char *path;

	if (!t->exe_unknown || !t->process.execs || image->kind != IMAGE_FILE)
		return;
	path = strdup(image->path);
	if (!path)
		return;
	free(t->process.exe);
	t->process.exe = path;
	t->exe_unknown = false;
	tell(targets, process_changed, &t->process);
}

static void take_mmap(struct targets *targets, const struct target_event *event)
{
	struct tracked *t = subject(targets, event);
	struct mapping m = {.start = event->start, .offset = event->offset};
	uint64_t start, end;
	int changed;

	if (!t || !event->length || event->start > UINT64_MAX - event->length)
		return;
	m.end = event->start + event->length;
	m.image = images_get(targets->images,
			     &(struct image_question){event->pid, m.start, m.end, event->device,
						      event->inode, event->path});
	if (!m.image) {
		targets->counts.refused_mappings++;
		t->complete = false;
		return;
	}
	if (m.image->kind != IMAGE_FILE && m.image->kind != IMAGE_VDSO)
		m.offset = 0;
	m.bias = images_bias(m.image, m.start, m.offset);
	learn_exe(targets, t, m.image);
	if (mappings_conflict(&t->mappings, &m, &start, &end))
		tell(targets, mappings_replaced, &t->process, event->time, start, end);
	changed = mappings_put(&t->mappings, &m, targets->images, event->time);
	if (changed > 0)
		tracked_publish(t);
	/* nobody tells that memory is unmapped: a runtime that compiles leaves more and more of it behind */
	if (t->mappings.count > t->read_mappings + UNMAPPED_MAX)
		t->distrusted = true;
	if (changed < 0) {
		targets->counts.refused_mappings++;
		t->complete = false;
	}
}

static void take_exit(struct targets *targets, const struct target_event *event)
{
	struct tracked *t = lookup(targets, event->pid);
	struct thread *thread = thread_find(&targets->threads, event->tid);
	struct procfs_stat stat;

	if (!t)
		return;
	if (t->process.end && event->tid == event->pid && t->read_at &&
	    event->time < t->process.end && event->time > t->process.start) {
		t->process.end = event->time;
		return;
	}
	if (!thread || thread->of != t)
		return;
	thread_remove(&targets->threads, thread);
	if (t->thread_count)
		return;
	/* an event from before it was read may be about an earlier bearer of the same number */
	if (event->time < t->read_at && procfs_read_stat(event->pid, "stat", &stat) &&
	    !is_over(&stat) && stat.start_ticks == t->start_ticks) {
		targets->counts.refused_threads += threads_read(&targets->threads, t);
		if (t->thread_count)
			return;
	}
	end_process(targets, t, event->time);
}

void targets_take(struct targets *targets, const struct target_event *event)
{
	/* 0 and -1: a process of another pid namespace, or one that is gone */
	if (event->pid <= 0 || event->tid <= 0)
		return;
	switch (event->kind) {
	case TARGET_FORK:
		take_fork(targets, event);
		break;
	case TARGET_EXEC:
		take_exec(targets, event);
		break;
	case TARGET_COMM:
		take_comm(targets, event);
		break;
	case TARGET_MMAP:
		take_mmap(targets, event);
		break;
	case TARGET_EXIT:
		take_exit(targets, event);
		break;
	}
}

struct process *targets_known(struct targets *targets, pid_t pid)
{
	struct tracked *t = lookup(targets, pid);

	return t ? &t->process : NULL;
}

/*
 * Compares what is known of a living process with /proc: its number may belong to another one by now.
 */
static bool still_lives(struct targets *targets, struct tracked *t)
{
	struct procfs_stat stat;
	bool same = procfs_read_stat(t->process.pid, "stat", &stat);

	if (same && t->start_ticks)
		same = stat.start_ticks == t->start_ticks;
	else if (same && t->process.start)
		same = procfs_ticks_to_ns(stat.start_ticks) < t->process.start + TICKS_NS;
	if (same && !is_over(&stat)) {
		t->start_ticks = stat.start_ticks;
		return true;
	}
	end_process(targets, t, procfs_now());
	return false;
}

bool targets_reread(struct targets *targets, struct process *process)
{
	struct tracked *t = (struct tracked *)process;

	if (process->end || !still_lives(targets, t))
		return false;
	targets->counts.refused_threads += threads_read(&targets->threads, t);
	read_mappings(targets, t);
	return true;
}

struct process *targets_find(struct targets *targets, pid_t pid)
{
	struct tracked *t = lookup(targets, pid);
	struct procfs_stat stat;

	if (pid <= 0)
		return NULL;
	if (t && t->process.end && procfs_read_stat(pid, "stat", &stat) && !is_over(&stat) &&
	    procfs_ticks_to_ns(stat.start_ticks) + TICKS_NS > t->process.end) {
		map_remove(&targets->processes, (uint64_t)pid);
		t = NULL;
	}
	if (!t)
		t = meet(targets, pid);
	else if (!t->process.end && (!t->complete || t->distrusted))
		targets_reread(targets, &t->process);
	return t ? &t->process : NULL;
}

void targets_ignore_strangers(struct targets *targets, bool ignore)
{
	targets->ignore_strangers = ignore;
}

void targets_distrust_all(struct targets *targets)
{
	uint64_t pid, value;

	for (size_t i = 0; map_next(&targets->processes, &i, &pid, &value);)
		((struct tracked *)(uintptr_t)value)->distrusted = true;
	targets->some_distrusted = true;
}

/* Finds processes whose end was among the events that were lost. */
static void check_distrusted(struct targets *targets)
{
	struct tracked *unchecked[CHECKS_AT_ONCE];
	uint64_t pid, value;
	size_t count = 0;

	for (size_t i = 0;
	     count < CHECKS_AT_ONCE && map_next(&targets->processes, &i, &pid, &value);) {
		struct tracked *t = (struct tracked *)(uintptr_t)value;

		if (t->distrusted && !t->process.end)
			unchecked[count++] = t;
	}
	for (size_t i = 0; i < count; i++)
		targets_reread(targets, &unchecked[i]->process);
	targets->some_distrusted = count == CHECKS_AT_ONCE;
}

static void free_ended(struct targets *targets, struct tracked *t)
{
	if (t->process.owner)
		tell(targets, process_gone, &t->process);
	tracked_free(t, targets->images, t->process.end);
}

void targets_forget_before(struct targets *targets, uint64_t time)
{
	size_t kept = 0;

	if (targets->some_distrusted)
		check_distrusted(targets);
	for (size_t i = 0; i < targets->ended.count; i++) {
		struct tracked *t = targets->ended.at[i];

		if (t->process.end >= time) {
			targets->ended.at[kept++] = t;
			continue;
		}
		if (lookup(targets, t->process.pid) == t)
			map_remove(&targets->processes, (uint64_t)t->process.pid);
		free_ended(targets, t);
	}
	targets->ended.count = kept;
	images_forget_before(targets->images, time);
}

void targets_free(struct targets *targets)
{
	uint64_t pid, value;

	if (!targets)
		return;
	for (size_t i = 0; map_next(&targets->processes, &i, &pid, &value);) {
		struct tracked *t = (struct tracked *)(uintptr_t)value;

		if (t->process.end)
			continue;
		threads_clear(&targets->threads, t, NULL);
		tell(targets, process_gone, &t->process);
		tracked_free(t, targets->images, 0);
	}
	vec_foreach (&targets->ended, t)
		free_ended(targets, *t);
	vec_free(&targets->ended);
	map_free(&targets->processes);
	threads_free(&targets->threads);
	images_free(targets->images);
	free(targets);
}

struct target_counts targets_counts(const struct targets *targets)
{
	struct target_counts counts = targets->counts;

	counts.processes = targets->living;
	counts.threads = targets->threads.by_tid.count;
	counts.images = images_count(targets->images);
	counts.unopened_images = images_unopened(targets->images);
	return counts;
}
