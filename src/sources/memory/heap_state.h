/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MEMORY_HEAP_STATE_H
#define SOURCES_MEMORY_HEAP_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sources/memory/go.h"
#include "sources/memory/inject.h"
#include "sources/memory/java.h"
#include "sources/memory/jvmti.h"
#include "sources/memory/library.h"
#include "sources/memory/live.h"
#include "sources/memory/otel.h"
#include "sources/memory/probes.h"
#include "sources/memory/seen.h"
#include "sources/memory/strangers.h"
#include "sources/source.h"
#include "attach/uprobes.h"

/* What the files of mem-alloc and mem-inuse share. */

/* Its events, in the order in which source_mem_heap names them. */
enum {
	OF_ALLOC,
	OF_INUSE,
};

struct mem_heap {
	struct mem_library library;
	struct uprobes *uprobes;
	struct mem_live *live;
	struct mem_seen *seen;
	struct mem_strangers *strangers;
	struct mem_go *go;
	struct mem_java *java;
	struct mem_jvmti *jvmti;
	struct mem_otel *otel;
	struct mem_probes
		*probes;	  /* of those that the library does not see; null: there are none */
	struct mem_probes *spans; /* of programs of Go that do not sample; null: none was met */
	struct mem_inject *inject; /* the same with the library; null: it is not to be */
	uint64_t since;		   /* when the recording began */
	uint64_t begun;		   /* when the film did */
	uint64_t unfollowed;
	uint64_t by_spans; /* processes of these */
	uint64_t late;	   /* processes that have got probes when they ran */
	bool is_probed;	   /* some process runs without the library, and has probes */
	bool is_starting;  /* which way each process is to be seen is not known yet */
};

/* Its options. */
enum {
	INTERVAL,
	BUDGET,
	INJECT,
	JAVA
};

/*
 * Are only processes filmed that are named, or started? On a whole machine, there may be any number
 * of others.
 */
static inline bool mem_heap_has_chosen(const struct source *source)
{
	const struct selection *selection = source->host->selection;

	return selection->pid_count || (selection->command && !selection->whole_machine);
}

/* Programs of Go that do not sample, or whose samples cannot be read, have probes from now on. */
void mem_heap_probe_spans(struct source *source);

/* Puts the library into a process that runs, if it may be, or probes. */
void mem_heap_start_running(struct source *source, pid_t pid);

/* These of struct source_type. */
unsigned int mem_heap_image_new(struct source *source, pid_t pid, const struct image *image);
void mem_heap_process_gone(struct source *source, pid_t pid);
void mem_heap_process_ended(struct source *source, pid_t pid);

#endif
