/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_TARGETS_PRIVATE_H
#define PROCESS_TARGETS_PRIVATE_H

/*
 * The table of processes, for the two files that fill it: from /proc (targets.c), by events
 * (target_events.c).
 */

#include "base/map.h"
#include "base/vec.h"
#include "process/process.h"
#include "process/procfs.h"
#include "process/targets.h"
#include "process/users.h"

/* /proc tells births in ticks, events to the nanosecond: so far apart the two may lie. */
#define TICKS_NS 20000000ull

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
	bool is_ending;		     /* no process is met any more */
	struct target_counts counts; /* the refused ones */
	struct users users;
};

/* Calls what the listener has for it, if anything. */
#define notify_listener(targets, what, ...)                                                 \
	do {                                                                                \
		if ((targets)->listener.what)                                               \
			(targets)->listener.what((targets)->listener.context, __VA_ARGS__); \
	} while (0)

/* Whether there are enough processes that long command lines are cut. */
bool targets_has_many(const struct targets *targets);

/* Whether only threads are left that have ended and wait for their parent. */
bool targets_is_over(const struct procfs_stat *stat);

/* The process with that number, living or the one that ended last; null: none. */
struct tracked *targets_lookup(const struct targets *targets, pid_t pid);

/* The living process of an event; an ended one with its number makes room. */
struct tracked *targets_living(struct targets *targets, pid_t pid, uint64_t time);

/*
 * Puts a new process into the table, in the place of an ended one with its number. Null: there is
 * no room.
 */
struct tracked *targets_enter(struct targets *targets, pid_t pid);

/* Makes a process known from /proc. Null: it is gone, or there is no memory. */
struct tracked *targets_meet(struct targets *targets, pid_t pid);

/* It has ended; time 0: before all events. */
void targets_end(struct targets *targets, struct tracked *t, uint64_t time);

#endif
