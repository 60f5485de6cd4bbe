/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_PROCESS_H
#define PROCESS_PROCESS_H

#include "base/map.h"
#include "process/mappings.h"
#include "process/targets.h"
#include "process/users.h"

/* What targets.c keeps of a process beyond what it shows. */
struct tracked {
	struct process process; /* first; its mappings point into the table below */
	struct mappings mappings;
	struct thread *threads;
	size_t thread_count;
	uint64_t read_at;     /* when /proc was last read; 0: never */
	uint64_t start_ticks; /* as /proc says it; 0: not known */
	bool complete;	      /* mappings are all there are, as of the events taken */
	bool distrusted;      /* events were lost since they were read, or many may be gone */
	size_t read_mappings; /* how many there were when they were read */
	bool exe_unknown;     /* it was gone before its exe could be read */
	bool seen;	      /* for a walk over all */
};

struct thread {
	pid_t tid;
	bool named; /* comm is known */
	bool seen;
	char comm[16];
	struct tracked *of;
	struct thread *next, *previous;
};

/* A thread that has ended. */
struct thread_end {
	pid_t pid, tid;
	uint64_t time;
	char comm[16];
};

/* At most this many of the last ones are remembered: what others report may come a little later. */
#define THREAD_ENDS 1024

/* All threads of all processes that are tracked. */
struct threads {
	struct map by_tid;
	struct thread_end *ends; /* a ring; null: none yet */
	size_t next_end;
};

#define THREADS_MAX 262144

struct thread *thread_find(const struct threads *threads, pid_t tid);
/* The thread tid of a process, added if it was not there; null: no memory, or THREADS_MAX. */
struct thread *thread_add(struct threads *threads, struct tracked *t, pid_t tid);
void thread_remove(struct threads *threads, struct thread *thread);
/* The same of one that has ended, which is remembered for a while. */
void thread_end(struct threads *threads, struct thread *thread, uint64_t time);
/* The end of a process's thread of that number, if it was after a time; null: not known. */
const struct thread_end *thread_find_end(const struct threads *threads, pid_t pid, pid_t tid,
					 uint64_t after);
/* Removes the threads of a process, except for one (null: none is spared). */
void threads_clear(struct threads *threads, struct tracked *t, const struct thread *spare);
void threads_free(struct threads *threads);
/* Makes the threads of a process what /proc says. Returns how many could not be added. */
uint64_t threads_read(struct threads *threads, struct tracked *t);

/* A process of which only the pid is known; null: no memory. */
struct tracked *tracked_new(pid_t pid);
/* Its threads must have been removed. */
void tracked_free(struct tracked *t, struct images *images, uint64_t time);

/* Shows changed mappings: generation goes up. */
void tracked_publish(struct tracked *t);

/*
 * Command, exe, control group, container and user from /proc. A command and exe that can't be read
 * become "", a control group and user stay what they were. brief: of the command only the beginning
 * is kept.
 */
void tracked_read_strings(struct tracked *t, struct users *users, bool brief);

/* The same from the process that it was forked from. */
int tracked_inherit(struct tracked *t, const struct tracked *parent);

/*
 * Executable mappings from /proc into the empty list to. Returns how many could not be kept, or a
 * negative errno when nothing could be read.
 */
int tracked_read_mappings(struct tracked *t, struct images *images, struct mappings *to);

#endif
