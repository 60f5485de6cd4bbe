/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MEMORY_INJECT_H
#define SOURCES_MEMORY_INJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"
#include "sources/memory/library.h"
#include "film/writer.h"

/*
 * Puts libstackcam-memory.so into running processes, and takes it out of use again.
 *
 * The process's first thread is stopped (bench/memory-inject measures for how long) and made to map
 * the library by system calls (process/remote.h); the dynamic linker has no part in it, so no lock
 * of its, or of malloc()'s, matters. Then the words through which the images call their allocator
 * (slots.h) are changed one by one, each in one instruction, and in the end set back. The library
 * stays mapped: a thread may be in it, or the program may have kept the address of a
 * function. The next recording uses it again.
 *
 * Where the recorder is killed, the words stay as they are, and the library takes the samples that
 * were granted until then, and no more; each allocation then costs some nanoseconds. The next
 * recording of the process sets them back at its end.
 */
struct mem_inject;
struct far_files;

/*
 * library, far (process/far_files.h): stay the caller's. interval: mean bytes between samples, at
 * least 2. Returns 0 or a negative errno.
 */
int mem_inject_new(const struct mem_library *library, struct far_files *far, uint64_t interval,
		   struct mem_inject **result);
void mem_inject_free(struct mem_inject *inject);

/*
 * Puts it into a process. Returns 0, or a negative errno with *why filled: -EEXIST: the process was
 * started with it; -EBUSY: another recorder uses it; others: the process
 * has no allocator that could be reached, or cannot be stopped. Then it is as it was, but that the
 * library may be mapped.
 */
int mem_inject_put(struct mem_inject *inject, pid_t pid, struct fail *why);

/* Has a process the library, from its start, or from a recording before? */
bool mem_inject_is_there(const struct mem_inject *inject, pid_t pid);

/* Has a process the library in use by this recorder? */
bool mem_inject_has(const struct mem_inject *inject, pid_t pid);

/* A process was forked from one of these, and has it, too. */
void mem_inject_child(struct mem_inject *inject, pid_t pid);

/* A process has mapped another image: its calls are changed at the next tick. */
void mem_inject_image(struct mem_inject *inject, pid_t pid);

/* It runs another program, or has ended. */
void mem_inject_gone(struct mem_inject *inject, pid_t pid);

/* About once a second: grants samples, and does what is to be done. */
void mem_inject_tick(struct mem_inject *inject);

/* Takes it out of use in all processes. */
void mem_inject_retract(struct mem_inject *inject);

/* Samples that processes did not take, as they had no grants left. */
uint64_t mem_inject_beyond(const struct mem_inject *inject);

/* For how long processes were stopped so far, ns. */
uint64_t mem_inject_stopped(const struct mem_inject *inject);

/* Writes what was not seen, so far. */
void mem_inject_report(const struct mem_inject *inject, struct film_writer *film, uint32_t event);

#endif
