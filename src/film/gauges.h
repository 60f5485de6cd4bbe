/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_GAUGES_H
#define FILM_GAUGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Gauges: what the whole machine did beside the threads that are filmed, as values that were read
 * again and again. A row is one value of one gauge; the table of kinds says what it means.
 */
enum film_gauge_kind {
	FILM_GAUGE_NOTE, /* no value: object is a sentence that says what is not known, and why */
	FILM_GAUGE_CPU_USER,
	FILM_GAUGE_CPU_SYSTEM,
	FILM_GAUGE_CPU_INTERRUPTS,
	FILM_GAUGE_CPU_STOLEN,
	FILM_GAUGE_CPU_DISK,
	FILM_GAUGE_CPU_IDLE,
	FILM_GAUGE_RUNNABLE,
	FILM_GAUGE_BLOCKED,
	FILM_GAUGE_DISK_READ,
	FILM_GAUGE_DISK_WRITE,
	FILM_GAUGE_DISK_QUEUE,
	FILM_GAUGE_DISK_BUSY,
	FILM_GAUGE_DISK_READ_BY, /* of the row's thread; from here up to … */
	FILM_GAUGE_DISK_WRITE_BY,
	FILM_GAUGE_NET_RECEIVED,
	FILM_GAUGE_NET_SENT,
	FILM_GAUGE_NET_RETRANSMITS,
	FILM_GAUGE_NET_RTT,
	FILM_GAUGE_PRESSURE_CPU,
	FILM_GAUGE_PRESSURE_DISK,
	FILM_GAUGE_PRESSURE_DISK_ALL,
	FILM_GAUGE_PRESSURE_MEMORY,
	FILM_GAUGE_PRESSURE_MEMORY_ALL,
	FILM_GAUGE_MEMORY_AVAILABLE,
	FILM_GAUGE_MEMORY_FREE,
	FILM_GAUGE_MEMORY_FILES,
	FILM_GAUGE_MEMORY_RECLAIMED,
	FILM_GAUGE_MEMORY_DIRECT,
	FILM_GAUGE_SWAPPED_IN,
	FILM_GAUGE_SWAPPED_OUT,
	FILM_GAUGE_MAJOR_FAULTS,
	/* object is the group's path; only while it has nearly as much as it may */
	FILM_GAUGE_GROUP_LIMIT,
	FILM_GAUGE_KINDS,
};

struct film_gauge {
	uint64_t end;
	uint64_t duration; /* ns, at most end: the row is of that time */
	/*
	 * In the kind's unit. Of a level what it was, as it was read at the end, in all of that
	 * time; else what happened in it
	 */
	uint64_t value;
	uint64_t count;		/* how many did that, as the kind says; 0: not known, or none */
	uint64_t time, longest; /* ns that these took together, and the longest of them; or 0 */
	uint32_t object;	/* a frame, a mark: of which device or interface; 0: of all */
	uint32_t thread;	/* by which thread; 0: by the whole machine, or not known */
	uint16_t kind;		/* enum film_gauge_kind */
};

/* A block of them, as columns, sorted by end. */
struct film_gauges {
	size_t count;
	const uint64_t *end, *duration, *value, *count_of, *time, *longest;
	const uint32_t *object, *thread, *kind;
};

struct gauge_type {
	const char *group; /* "cpu", "disk" */
	const char *name;  /* within it: "user"; unlike any other's of the group */
	const char *unit;  /* of value: "ns", "bytes", "count" */
	const char *title; /* what it is, in words */
	const char *count; /* what count counts; null: nothing */
	bool is_level;
	bool has_times; /* time and longest say something */
	bool lags;	/* the kernel adds to it late: it seems to grow by more than time passed */
};

/* Null: the kind is of a later version. */
const struct gauge_type *film_gauge_type(unsigned int kind);

#endif
