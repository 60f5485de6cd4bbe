// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/process.h"
#include "process/procfs.h"

struct thread *thread_find(const struct threads *threads, pid_t tid)
{
	uint64_t *found = map_get(&threads->by_tid, (uint64_t)tid);

	return found ? (struct thread *)(uintptr_t)*found : NULL;
}

struct thread *thread_add(struct threads *threads, struct tracked *t, pid_t tid)
{
	struct thread *thread = thread_find(threads, tid);

	if (thread && thread->of == t)
		return thread;
	/* its end was lost: the number belongs to another process now */
	if (thread)
		thread_remove(threads, thread);
	if (threads->by_tid.count >= THREADS_MAX)
		return NULL;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	if (!map_put(&threads->by_tid, (uint64_t)tid, (uintptr_t)thread)) {
		free(thread);
		return NULL;
	}
	thread->tid = tid;
	thread->of = t;
	thread->next = t->threads;
	if (thread->next)
		thread->next->previous = thread;
	t->threads = thread;
	t->thread_count++;
	return thread;
}

void thread_remove(struct threads *threads, struct thread *thread)
{
	map_remove(&threads->by_tid, (uint64_t)thread->tid);
	*(thread->previous ? &thread->previous->next : &thread->of->threads) = thread->next;
	if (thread->next)
		thread->next->previous = thread->previous;
	thread->of->thread_count--;
	free(thread);
}

void thread_end(struct threads *threads, struct thread *thread, uint64_t time)
{
	struct thread_end *end;

	if (!threads->ends)
		threads->ends = calloc(THREAD_ENDS, sizeof(*threads->ends));
	if (threads->ends) {
		end = &threads->ends[threads->next_end++ % THREAD_ENDS];
		*end = (struct thread_end){thread->of->process.pid, thread->tid, time, ""};
		memcpy(end->comm, thread->comm, sizeof(end->comm));
	}
	thread_remove(threads, thread);
}

const struct thread_end *thread_find_end(const struct threads *threads, pid_t pid, pid_t tid,
					 uint64_t after)
{
	for (size_t i = 0; threads->ends && i < THREAD_ENDS; i++)
		if (threads->ends[i].tid == tid && threads->ends[i].pid == pid &&
		    threads->ends[i].time >= after)
			return &threads->ends[i];
	return NULL;
}

void threads_clear(struct threads *threads, struct tracked *t, const struct thread *spare)
{
	struct thread *next;

	for (struct thread *thread = t->threads; thread; thread = next) {
		next = thread->next;
		if (thread != spare)
			thread_remove(threads, thread);
	}
}

void threads_free(struct threads *threads)
{
	map_free(&threads->by_tid);
	free(threads->ends);
	threads->ends = NULL;
}

struct reading {
	struct threads *threads;
	struct tracked *t;
	uint64_t refused;
};

static void add_tid(void *context, pid_t tid)
{
	struct reading *reading = context;
	struct thread *thread = thread_add(reading->threads, reading->t, tid);

	if (thread)
		thread->seen = true;
	else
		reading->refused++;
}

uint64_t threads_read(struct threads *threads, struct tracked *t)
{
	struct reading reading = {threads, t, 0};
	struct thread *next;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)t->process.pid);
	for (struct thread *thread = t->threads; thread; thread = thread->next)
		thread->seen = false;
	if (procfs_each_number(path, add_tid, &reading))
		return 0;
	for (struct thread *thread = t->threads; thread; thread = next) {
		next = thread->next;
		/* the event of its end, which is still to come, finds nothing any more */
		if (!thread->seen)
			thread_end(threads, thread, procfs_now());
	}
	return reading.refused;
}

void target_thread_of(pid_t pid, pid_t tid, char comm[16], uint64_t *start)
{
	struct procfs_stat stat;
	char name[40];

	memset(comm, 0, 16);
	if (start)
		*start = 0;
	snprintf(name, sizeof(name), "task/%d/stat", (int)tid);
	if (!procfs_read_stat(pid, name, &stat))
		return;
	memcpy(comm, stat.comm, sizeof(stat.comm));
	if (start)
		*start = procfs_ticks_to_ns(stat.start_ticks);
}
