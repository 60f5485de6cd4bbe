/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MEMORY_JAVA_H
#define SOURCES_MEMORY_JAVA_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/capture/abi.h"
#include "resolve/samples.h"
#include "film/writer.h"
#include "process/image.h"

struct probes;

/*
 * mem-alloc of Java's objects: HotSpot takes memory from its heap by buffers, one a thread, and
 * calls a function for each that it takes, with the object that was the first to need it. A probe
 * there sees as many hits as there are buffers, some thousands a second at most, and whose they
 * are: the stack, the class and the size. The JVM needs no flag, and loads nothing.
 *
 * A buffer counts as a whole. What is unused when the garbage collector runs, or in a thread that
 * allocates no more, makes the sum that much too large.
 */
struct mem_java;

/*
 * percent: of the time of one CPU that hits may take. everywhere: a file that one JVM has is probed
 * for all that will have it. Returns 0 or a negative errno.
 */
int mem_java_new(struct probes *probes, unsigned int percent, bool everywhere,
		 struct mem_java **java);

/* Nothing fires from here on. */
void mem_java_detach(struct mem_java *java);
void mem_java_free(struct mem_java *java);

/*
 * Follows all processes that run a JVM already, so that their files are heard of, and probes the
 * JVMs that are installed.
 */
void mem_java_find(struct mem_java *java, struct samples *samples);

/* A process maps a file; it runs another program, or has ended. */
void mem_java_image(struct mem_java *java, pid_t pid, const struct image *image);
void mem_java_gone(struct mem_java *java, pid_t pid);

/* To be called as often as there is news. */
void mem_java_balance(struct mem_java *java, uint64_t now);

/* A record of MEM_HEAP_OBJECT. Its sample becomes one of the event (0: of none). */
void mem_java_handle(struct mem_java *java, struct samples *samples, uint32_t event,
		     const struct capture_record *record, const struct capture_handover *handover);

/* Writes what was not seen, so far. */
void mem_java_report(const struct mem_java *java, struct film_writer *film, uint32_t alloc);

/*
 * A stack with an object's class as its last frame (null: it is not known); before that of an
 * array, its size.
 */
uint32_t mem_java_class(struct samples *samples, uint32_t stack, const char *name, uint64_t bytes);

#endif
