/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_REQUESTS_CONTEXT_H
#define SOURCES_REQUESTS_CONTEXT_H

#include <stdint.h>
#include <sys/types.h>

#include "process/targets.h"

/*
 * Where processes publish what their threads work for: the variable otel_thread_ctx_v1 of
 * OpenTelemetry (OTEP 4947), or elastic_apm_profiling_correlation_tls_v1 of Elastic's agents, in
 * thread-local storage of the program or of a library. bpf/requests/context.h reads it. Which of
 * the models of such storage a file uses is seen by its relocations; what the dynamic linker made
 * of them stands in the process, once that has come so far.
 */
struct requests_contexts;

/* map: a descriptor of requests_contexts. Null: no memory. */
struct requests_contexts *requests_contexts_new(int map);
void requests_contexts_free(struct requests_contexts *contexts); /* null is allowed */

/* A process maps a file. */
void requests_contexts_meet(struct requests_contexts *contexts, pid_t pid,
			    const struct image *image);

/* About once a second: looks at those that were not ready. find: the process, or null. */
void requests_contexts_tick(struct requests_contexts *contexts,
			    const struct process *(*find)(void *context, pid_t pid), void *context);

/* The process has ended, or runs another program. */
void requests_contexts_ended(struct requests_contexts *contexts, pid_t pid);

/* Processes whose contexts could not be found, or are too many. */
uint64_t requests_contexts_refused(const struct requests_contexts *contexts);

#endif
