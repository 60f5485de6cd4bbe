/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MEMORY_SEEN_H
#define SOURCES_MEMORY_SEEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sources/memory/library.h"
#include "resolve/samples.h"
#include "film/writer.h"

/*
 * Of which processes allocations are seen: those that have the library, and call its functions. The
 * others are losses, by why: what was linked statically, is set-user-ID or was started by others
 * does not have it, and a program that brings malloc() in its own file calls that.
 */
struct mem_seen;

/* library: stays the caller's. Returns 0 or -ENOMEM. */
int mem_seen_new(const struct mem_library *library, struct mem_seen **seen);
void mem_seen_free(struct mem_seen *seen);

/* Probes fire from now on. before: of processes that run, what they have allocated was not seen. */
void mem_seen_start(struct mem_seen *seen, bool before);

/* A process has told of an allocation; it maps a file; it has ended. */
void mem_seen_record(struct mem_seen *seen, struct samples *samples, pid_t pid);
void mem_seen_image(struct mem_seen *seen, struct samples *samples, pid_t pid,
		    const struct image *image);
/* Has it the library? */
bool mem_seen_has_library(const struct mem_seen *seen, struct samples *samples, pid_t pid);
/* Its allocations are seen in another way. */
void mem_seen_otherwise(struct mem_seen *seen, pid_t pid);
void mem_seen_ended(struct mem_seen *seen, struct samples *samples, pid_t pid);

/* Writes what was not seen, so far. inuse: also that a process held memory before. */
void mem_seen_report(const struct mem_seen *seen, struct film_writer *film, uint32_t event,
		     bool inuse);

#endif
