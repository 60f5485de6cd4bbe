/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MEMORY_RSS_PARTS_H
#define SOURCES_MEMORY_RSS_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "runtime/runtime.h"

/* What the memory of a process that is in RAM is, in parts that add up to it. */
enum rss_kind {
	RSS_HEAP_IN_USE,
	RSS_HEAP_LARGE,
	RSS_HEAP_FREE,
	RSS_HEAP_UNREAD,
	RSS_JEMALLOC_IN_USE,
	RSS_JEMALLOC_FREE,
	RSS_JEMALLOC_UNREAD,
	RSS_JEMALLOC_OWN,
	RSS_PYTHON_IN_USE,
	RSS_PYTHON_FREE,
	RSS_GO_HEAP,
	RSS_GO_OWN,
	RSS_JAVA_OBJECTS,
	RSS_JAVA_FREE,
	RSS_JAVA_HEAP,
	RSS_JAVA_CODE,
	RSS_JAVA_CLASSES,
	RSS_JAVA_CARDS,
	RSS_V8_OBJECTS,
	RSS_V8_FREE,
	RSS_V8_OWN,
	RSS_STACK_FIRST,
	RSS_STACK_OTHERS,
	RSS_FILE,
	RSS_FILE_COPY,
	RSS_SHARED,
	RSS_KERNEL,
	RSS_NAMED,
	RSS_UNKNOWN,
	RSS_UNREAD,
	RSS_LATER_ANONYMOUS,
	RSS_LATER_FILES,
	RSS_LATER_SHARED,
	RSS_GROWN,
	RSS_KINDS
};

struct rss_part {
	enum rss_kind kind;
	char *name; /* of a file or a mapping; null: the kind says it all */
	uint64_t bytes;
};

struct rss_parts {
	vec(struct rss_part) all; /* none twice */
	uint64_t total;
	bool is_cut;	    /* it has more mappings than are read */
	uint64_t too_large; /* heaps that were not walked up to their end, since they are large */
	uint64_t unread;    /* other mappings of which that is so */
	bool is_uses_cut;   /* not all is known that runtimes use memory for */
};

/*
 * The object that knows what the runtimes of the process use memory for, which is read by memory.
 */
struct rss_uses {
	void (*spans)(void *context, const struct runtime_memory *memory,
		      struct runtime_spans *spans);
	void *context;
};

/*
 * Explains the memory of a process, which runs on meanwhile. Returns 0; -ESRCH: it is gone, or is a
 * thread of the kernel; other negative errnos.
 */
int rss_explain(pid_t pid, const struct rss_uses *uses, struct rss_parts *parts);

/* What the kernel counts for a process, all the time: bytes. The first three are its RSS. */
struct rss_counts {
	uint64_t anonymous, files, shared;
	uint64_t page_tables, swapped_out, kernel_stacks;
};

/* Takes no longer for a large process. Errors as above; a thread of the kernel has no RSS. */
int rss_count(pid_t pid, struct rss_counts *counts);
void rss_parts_free(struct rss_parts *parts);

/* The words of a kind: of its group, and its own; null: its parts have names. */
const char *rss_group(enum rss_kind kind);
const char *rss_words(enum rss_kind kind);

#endif
