// SPDX-License-Identifier: Apache-2.0
/* What events tell of processes: fork, exec, names, mappings, exit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/targets_private.h"

/* At most this many mappings that may be gone are kept for a process. */
#define UNMAPPED_MAX 4096

/*
 * The process that an event is about; null: it is of no interest. One that is unknown and gone
 * already is known by the event alone.
 */
static struct tracked *subject(struct targets *targets, const struct target_event *event)
{
	struct tracked *t = targets_living(targets, event->pid, event->time);

	if (t || targets->ignore_strangers)
		return t;
	t = targets_meet(targets, event->pid);
	if (t)
		return t;
	t = targets_enter(targets, event->pid);
	if (!t)
		return NULL;
	memcpy(t->process.comm, event->comm, sizeof(t->process.comm));
	t->process.comm[sizeof(t->process.comm) - 1] = 0;
	t->exe_unknown = true;
	if (!thread_add(&targets->threads, t, event->tid))
		targets->counts.refused_threads++;
	notify_listener(targets, process_new, &t->process, NULL);
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
	notify_listener(targets, thread_named, &t->process, tid, comm);
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

static void add_new_process(struct targets *targets, const struct target_event *event)
{
	struct tracked *t = targets_lookup(targets, event->pid), *parent;
	char comm[16];

	if (t && is_same_birth(t, event->time)) {
		t->process.start = event->time;
		t->process.parent = event->parent_pid;
		return;
	}
	if (t) {
		targets_end(targets, t, event->time);
		map_remove(&targets->processes, (uint64_t)event->pid);
	}
	parent = targets_living(targets, event->parent_pid, event->time);
	if (!parent && targets->ignore_strangers)
		return;
	if (!parent && event->parent_pid > 0)
		parent = targets_meet(targets, event->parent_pid);
	t = targets_enter(targets, event->pid);
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
	notify_listener(targets, process_new, &t->process, parent ? &parent->process : NULL);
	name_thread(targets, t, event->tid, comm);
}

static void handle_fork(struct targets *targets, const struct target_event *event)
{
	struct tracked *t;
	char comm[16];

	if (event->pid != event->parent_pid) {
		add_new_process(targets, event);
		return;
	}
	t = subject(targets, event);
	if (!t || t->process.end)
		return;
	name_of_newborn(targets, event, t, comm);
	name_thread(targets, t, event->tid, comm);
}

static void handle_exec(struct targets *targets, const struct target_event *event)
{
	struct tracked *t = subject(targets, event);
	struct thread *thread;

	if (!t)
		return;
	if (t->mappings.count)
		notify_listener(targets, mappings_replaced, &t->process, event->time, 0,
				UINT64_MAX);
	mappings_clear(&t->mappings, targets->images, event->time, true);
	tracked_publish(t);
	t->complete = true;
	t->distrusted = false;
	t->process.execs++;
	t->process.executed = event->time;
	memcpy(t->process.comm, event->comm, sizeof(t->process.comm));
	t->process.comm[sizeof(t->process.comm) - 1] = 0;
	tracked_read_strings(t, &targets->users, targets_has_many(targets));
	if (!t->process.end) {
		/* the others are dead, and the one that executes has become the first */
		thread = thread_add(&targets->threads, t, event->pid);
		threads_clear(&targets->threads, t, thread);
	}
	notify_listener(targets, process_executed, &t->process);
	if (!t->process.end)
		name_thread(targets, t, event->pid, t->process.comm);
}

static void handle_comm(struct targets *targets, const struct target_event *event)
{
	struct tracked *t = subject(targets, event);
	char comm[16];

	if (!t || t->process.end)
		return;
	snprintf(comm, sizeof(comm), "%.15s", event->comm);
	if (event->tid == event->pid && strcmp(comm, t->process.comm)) {
		memcpy(t->process.comm, comm, sizeof(comm));
		notify_listener(targets, process_changed, &t->process);
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
	notify_listener(targets, process_changed, &t->process);
}

static void handle_mmap(struct targets *targets, const struct target_event *event)
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
		notify_listener(targets, mappings_replaced, &t->process, event->time, start, end);
	changed = mappings_put(&t->mappings, &m, targets->images, event->time);
	if (changed > 0)
		tracked_publish(t);
	if (changed >= 0)
		notify_listener(targets, image_mapped, &t->process, m.image);
	/*
	 * the kernel does not report unmapped memory: a runtime that compiles leaves more and more
	 * behind
	 */
	if (t->mappings.count > t->read_mappings + UNMAPPED_MAX)
		t->distrusted = true;
	if (changed < 0) {
		targets->counts.refused_mappings++;
		t->complete = false;
	}
}

static void handle_exit(struct targets *targets, const struct target_event *event)
{
	struct tracked *t = targets_lookup(targets, event->pid);
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
	thread_end(&targets->threads, thread, event->time);
	if (t->thread_count)
		return;
	/* an event from before it was read may be about an earlier bearer of the same number */
	if (event->time < t->read_at && procfs_read_stat(event->pid, "stat", &stat) &&
	    !targets_is_over(&stat) && stat.start_ticks == t->start_ticks) {
		targets->counts.refused_threads += threads_read(&targets->threads, t);
		if (t->thread_count)
			return;
	}
	targets_end(targets, t, event->time);
}

void targets_handle(struct targets *targets, const struct target_event *event)
{
	/* 0 and -1: a process of another pid namespace, or one that is gone */
	if (event->pid <= 0 || event->tid <= 0)
		return;
	switch (event->kind) {
	case TARGET_FORK:
		handle_fork(targets, event);
		break;
	case TARGET_EXEC:
		handle_exec(targets, event);
		break;
	case TARGET_COMM:
		handle_comm(targets, event);
		break;
	case TARGET_MMAP:
		handle_mmap(targets, event);
		break;
	case TARGET_EXIT:
		handle_exit(targets, event);
		break;
	}
}
