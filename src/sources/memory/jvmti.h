/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MEMORY_JVMTI_H
#define SOURCES_MEMORY_JVMTI_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"
#include "bpf/capture/abi.h"
#include "sources/memory/live.h"
#include "resolve/samples.h"
#include "attach/uprobes.h"
#include "film/writer.h"
#include "process/image.h"

/*
 * mem-inuse of Java's heap: a JVM samples its objects itself, and reports those that its garbage
 * collector has collected, to an agent (inject/java.c) that it loads on request
 * (runtime/hotspot/attach.h). What nothing refers to, and no collector has seen yet, is in use.
 *
 * At the end the agent's events are taken out; it stays loaded, as a JVM unloads none. Where the
 * recorder is killed, the agent ends them itself some seconds later.
 */
struct mem_jvmti;

/*
 * interval: mean bytes between samples; 0: no JVM is to load the agent, and those that are seen are
 * only counted. The agent's probes are attached by uprobes. Returns 0 or a negative errno with *why
 * filled.
 */
int mem_jvmti_new(struct uprobes *uprobes, uint64_t interval, struct mem_jvmti **jvmti,
		  struct fail *why);
void mem_jvmti_free(struct mem_jvmti *jvmti);

/* A process maps a file: a JVM loads the agent at the next tick. */
void mem_jvmti_image(struct mem_jvmti *jvmti, pid_t pid, const struct image *image);

/* It runs another program, or has ended. */
void mem_jvmti_gone(struct mem_jvmti *jvmti, pid_t pid);

/* About once a second. event: where to write which JVM has not loaded it, and why; 0: nowhere. */
void mem_jvmti_tick(struct mem_jvmti *jvmti, struct film_writer *film, uint32_t event);

/* A record of MEM_HEAP_HELD, whose object is in use from now on. */
void mem_jvmti_handle(struct mem_jvmti *jvmti, struct samples *samples, struct mem_live *live,
		      const struct capture_record *record, const struct capture_handover *handover);

/* No JVM calls the agent from here on. */
void mem_jvmti_retract(struct mem_jvmti *jvmti);

/* Writes what was not seen, so far. */
void mem_jvmti_report(const struct mem_jvmti *jvmti, struct film_writer *film, uint32_t event);

#endif
