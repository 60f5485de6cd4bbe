/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MEMORY_GO_H
#define SOURCES_MEMORY_GO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "resolve/samples.h"
#include "film/writer.h"

/*
 * mem-alloc and mem-inuse of programs of Go, which sample their allocations themselves: what they
 * keep is read from outside (runtime/go/heap.h), without a probe.
 */
struct mem_go;

/* Returns 0 or -ENOMEM. */
int mem_go_new(struct mem_go **go);
void mem_go_free(struct mem_go *go);

/* A process maps a file; it runs another program, or has ended. */
/* Returns whether it is a program of Go. */
bool mem_go_image(struct mem_go *go, struct samples *samples, pid_t pid, const struct image *image);
bool mem_go_has(const struct mem_go *go, pid_t pid);
void mem_go_gone(struct mem_go *go, pid_t pid);

/*
 * The next process whose samples cannot be had, as it takes none, or its symbols are not known: it
 * is to be seen in another way. Each is given once. 0: there is none.
 */
pid_t mem_go_next_unread(struct mem_go *go);

/* Where it goes; events: 0: not asked for. */
struct mem_go_film {
	struct samples *samples;
	struct film_writer *film;
	uint32_t alloc, inuse;
	uint64_t since; /* when the recording began: what lived before has allocated before */
	uint64_t begun; /* when this film did */
};

/* Reads those that are due, or all of them. */
void mem_go_read(struct mem_go *go, const struct mem_go_film *to, uint64_t now, bool all);

/* Another film: stacks are found anew. */
void mem_go_turn(struct mem_go *go);

/* Writes what could not be read, so far. */
void mem_go_report(const struct mem_go *go, struct film_writer *film, uint32_t event);

#endif
