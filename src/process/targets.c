// SPDX-License-Identifier: Apache-2.0
#include "process/targets_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PROCESSES_MAX 131072

/* Processes whose life is checked at one targets_forget_before() after events were lost. */
#define CHECKS_AT_ONCE 64

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

void targets_read_far(struct targets *targets, struct far_files *far)
{
	images_read_far(targets->images, far);
}

/* Beside this many processes, the rest of a long command line is left out. */
#define PROCESSES_MANY 8192

bool targets_has_many(const struct targets *targets)
{
	return targets->processes.count > PROCESSES_MANY;
}

struct tracked *targets_lookup(const struct targets *targets, pid_t pid)
{
	uint64_t *found = map_get(&targets->processes, (uint64_t)pid);

	return found ? (struct tracked *)(uintptr_t)*found : NULL;
}

struct tracked *targets_enter(struct targets *targets, pid_t pid)
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
		t->process.far = images_far(targets->images);
	if (t)
		targets->living++;
	else
		targets->counts.refused_processes++;
	return t;
}

void targets_end(struct targets *targets, struct tracked *t, uint64_t time)
{
	if (t->process.end)
		return;
	t->process.end = time ? time : 1;
	threads_clear(&targets->threads, t, NULL);
	vec_push(&targets->ended, t);
	targets->living--;
	notify_listener(targets, process_gone, &t->process);
}

bool targets_is_over(const struct procfs_stat *stat)
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
	tracked_read_strings(t, &targets->users, targets_has_many(targets));
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
		notify_listener(targets, mappings_replaced, &t->process, time, start, end);
	mappings_free(&t->mappings, targets->images, time);
	t->mappings = now;
	tracked_publish(t);
}

struct tracked *targets_meet(struct targets *targets, pid_t pid)
{
	struct procfs_stat stat;
	struct tracked *t;

	if (!procfs_read_stat(pid, "stat", &stat))
		return NULL;
	t = targets_enter(targets, pid);
	if (!t)
		return NULL;
	read_identity(targets, t, &stat);
	if (targets_is_over(&stat))
		t->read_at = procfs_now();
	else
		read_mappings(targets, t);
	notify_listener(targets, process_new, &t->process, NULL);
	if (targets_is_over(&stat))
		targets_end(targets, t, t->read_at);
	return t;
}

struct tracked *targets_living(struct targets *targets, pid_t pid, uint64_t time)
{
	struct tracked *t = targets_lookup(targets, pid);

	if (t && t->process.end && time > t->process.end) {
		map_remove(&targets->processes, (uint64_t)pid);
		return NULL;
	}
	return t;
}

struct process *targets_known(struct targets *targets, pid_t pid)
{
	struct tracked *t = targets_lookup(targets, pid);

	return t ? &t->process : NULL;
}

/*
 * Compares what is known of a living process with /proc: its number may belong to another one by
 * now.
 */
static bool still_lives(struct targets *targets, struct tracked *t)
{
	struct procfs_stat stat;
	bool same = procfs_read_stat(t->process.pid, "stat", &stat);

	if (same && t->start_ticks)
		same = stat.start_ticks == t->start_ticks;
	else if (same && t->process.start)
		same = procfs_ticks_to_ns(stat.start_ticks) < t->process.start + TICKS_NS;
	if (same && !targets_is_over(&stat)) {
		t->start_ticks = stat.start_ticks;
		return true;
	}
	targets_end(targets, t, procfs_now());
	return false;
}

bool targets_has_thread(const struct targets *targets, const struct process *process, pid_t tid,
			uint64_t since, char comm[16])
{
	const struct thread *thread = thread_find(&targets->threads, tid);
	const struct thread_end *end = NULL;

	memset(comm, 0, 16);
	if (thread && &thread->of->process == process) {
		if (thread->named)
			memcpy(comm, thread->comm, sizeof(thread->comm));
		else
			target_thread_of(process->pid, tid, comm, NULL);
		return true;
	}
	end = thread_find_end(&targets->threads, process->pid, tid, since);
	if (end)
		memcpy(comm, end->comm, sizeof(end->comm));
	return end != NULL;
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

void targets_each(const struct targets *targets,
		  void (*emit)(void *context, const struct process *process), void *context)
{
	uint64_t pid, at;

	for (size_t i = 0; map_next(&targets->processes, &i, &pid, &at);)
		emit(context, &((const struct tracked *)(uintptr_t)at)->process);
}

struct process *targets_find(struct targets *targets, pid_t pid)
{
	struct tracked *t = targets_lookup(targets, pid);
	struct procfs_stat stat;

	if (pid <= 0)
		return NULL;
	if (targets->is_ending)
		return t ? &t->process : NULL;
	if (t && t->process.end && procfs_read_stat(pid, "stat", &stat) &&
	    !targets_is_over(&stat) &&
	    procfs_ticks_to_ns(stat.start_ticks) + TICKS_NS > t->process.end) {
		map_remove(&targets->processes, (uint64_t)pid);
		t = NULL;
	}
	if (!t)
		t = targets_meet(targets, pid);
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

/* Nothing can be asked about it any more. */
static void forget(struct targets *targets, struct tracked *t)
{
	if (t->process.owner)
		notify_listener(targets, process_gone, &t->process);
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
		if (targets_lookup(targets, t->process.pid) == t)
			map_remove(&targets->processes, (uint64_t)t->process.pid);
		forget(targets, t);
		tracked_free(t, targets->images, t->process.end);
	}
	targets->ended.count = kept;
	images_forget_before(targets->images, time);
}

/* Tells of the end of all. The listener may ask about any of them meanwhile: none is freed yet. */
static void end_all(struct targets *targets)
{
	uint64_t pid, value;

	targets->is_ending = true;
	for (size_t i = 0; map_next(&targets->processes, &i, &pid, &value);) {
		struct tracked *t = (struct tracked *)(uintptr_t)value;

		if (t->process.end)
			continue;
		threads_clear(&targets->threads, t, NULL);
		notify_listener(targets, process_gone, &t->process);
	}
	vec_foreach (&targets->ended, t)
		forget(targets, *t);
}

void targets_free(struct targets *targets)
{
	uint64_t pid, value;

	if (!targets)
		return;
	end_all(targets);
	/* one of which it was found meanwhile that it has ended is among those below */
	for (size_t i = 0; map_next(&targets->processes, &i, &pid, &value);) {
		struct tracked *t = (struct tracked *)(uintptr_t)value;

		if (!t->process.end)
			tracked_free(t, targets->images, 0);
	}
	vec_foreach (&targets->ended, t)
		tracked_free(*t, targets->images, (*t)->process.end);
	vec_free(&targets->ended);
	users_free(&targets->users);
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
