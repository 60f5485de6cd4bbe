/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INJECT_MEMORY_H
#define INJECT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory_places.h"
#include "system_call.h"

/* What the files of libstackcam-memory.so share. */

#define MEMORY_UNFOLLOWED_BIT (1ull << 63)

/*
 * What each thread has of its own: memory_own, or, where the library was put into a running process
 * without the dynamic linker and has no thread-local storage, one of memory_threads, found by a
 * hash of the thread pointer. Two threads may share one of these, and take off bytes at the same
 * moment, of which one is lost. When that is noticed, as they take samples by turns, they both go
 * the slow way from then on, and take them off a number that is changed in one instruction.
 */
struct memory_thread {
	uint64_t left;	 /* what it may still allocate until its next sample, in bytes */
	uint64_t random; /* 0: the thread is new */
	uint64_t busy;	 /* thread pointer of the one that has an object of Python's moved */
	/* the same of the one that looks for the functions behind; what the C library gave it */
	union {
		uint64_t searching, made;
	};
	/* thread pointers of those that used their bytes up last, and before that */
	uint64_t owner, before;
	int64_t shared;	   /* what all of them may still allocate, */
	uint8_t is_shared; /* if this says so; left is MEMORY_SHARED then */
	uint8_t doublings; /* of the mean bytes between samples, that left was drawn by */
	uint16_t samples;  /* since this time: */
	uint32_t since;	   /* of the time stamp counter, without its lower 20 bits */
};
_Static_assert(sizeof(struct memory_thread) == 64, "of the assembler");

/* The most; what has only these says by which mean a sample was taken (memory_x86_64.S). */
#define MEMORY_DOUBLINGS     7
#define MEMORY_DOUBLINGS_BIT 56

/* Whatever is taken off it, it is less than 0. */
#define MEMORY_SHARED (1ull << 63 | 1ull << 62)

extern struct memory_thread memory_threads[];
extern __thread struct memory_thread memory_own __attribute__((tls_model("initial-exec")));

struct memory_thread *memory_self(void);

/* Where the C library keeps what is a thread's own: another address in each thread. */
static inline uint64_t memory_thread_pointer(void)
{
	return (uint64_t)__builtin_thread_pointer();
}

extern struct memory_state memory_state;

/* Mean bytes between samples; 0: not known yet, and there are none. */
extern uint64_t memory_interval;

/* -- memory_next.c: the functions behind those that a program calls ----------------------------- */

extern void *(*memory_next_malloc)(size_t size);
extern void *(*memory_next_calloc)(size_t count, size_t size);
extern void *(*memory_next_valloc)(size_t size);
extern void *(*memory_next_pvalloc)(size_t size);
extern void *(*memory_next_memalign)(size_t alignment, size_t size);
extern void *(*memory_next_aligned_alloc)(size_t alignment, size_t size);
extern int (*memory_next_posix_memalign)(void **to, size_t alignment, size_t size);
extern void *(*memory_next_realloc)(void *address, size_t size);
extern void *(*memory_next_reallocarray)(void *address, size_t count, size_t size);
extern void (*memory_next_free)(void *address);

/* Null: not there, or no function was called yet. */
extern int (*memory_next_execvpe)(const char *file, char *const *arguments,
				  char *const *environment);
/* This library's file, as the dynamic linker has it; null: not known. */
extern const char *memory_own_path;

/* Memory that was handed out before they were found. */
bool memory_early_owns(const void *address);
void *memory_early_move(void *address, size_t size);

/* -- memory_python.c: CPython's allocators that have pools -------------------------------------- */

/* In the order in which the interpreter has them. */
struct memory_python {
	void *(*malloc)(void *context, size_t size);
	void *(*calloc)(void *context, size_t count, size_t size);
	void *(*realloc)(void *context, void *address, size_t size);
	void (*free)(void *context, void *address);
};

/* The functions behind those of memory_x86_64.S. */
extern struct memory_python memory_python_obj, memory_python_mem;

void *stackcam_PyObject_Malloc(void *context, size_t size);
void *stackcam_PyObject_Calloc(void *context, size_t count, size_t size);
void *stackcam_PyObject_Realloc(void *context, void *address, size_t size);
void *stackcam_PyMem_Malloc(void *context, size_t size);
void *stackcam_PyMem_Calloc(void *context, size_t count, size_t size);
void *stackcam_PyMem_Realloc(void *context, void *address, size_t size);

bool memory_python_unpool(struct memory_thread *self, const struct memory_python *functions,
			  void *context, void **address, size_t size);

/* -- memory_table.c: the addresses of samples that are in use ----------------------------------- */

/* What each call reads lies together: it takes a line of the cache, or two. */
#define MEMORY_HOT __attribute__((section(".data.stackcam_hot")))

/* Of one bucket: a bit for each address in it, and how often one was set. */
struct memory_bits {
	uint64_t bits, version;
} __attribute__((aligned(16)));

struct memory_table {
	uint64_t words_mask; /* twice the other one, as the filter has two words for a bucket */
	uint64_t mask;	     /* buckets, less 1 */
	uint64_t *slots;
	uint64_t held;		     /* slots that have an address */
	uintptr_t larger;	     /* another one that is to take its place, or has */
	struct memory_bits filter[]; /* where free() looks first: see MEMORY_FILTER */
};
_Static_assert(offsetof(struct memory_table, filter) == MEMORY_FILTER, "of the assembler");
extern struct memory_table *memory_table;

/* False: there is no room. */
bool memory_table_add(uint64_t address);
/* Returns whether it was there. */
bool memory_table_remove(uint64_t address);

/* From now on each address seems to be there: every allocation is a sample. */
void memory_table_all(void);

/* -- memory_hook.c: what a recorder has a thread of the process call ---------------------------- */

/* Samples are taken from now on: mean bytes between them. */
void memory_start(uint64_t interval);

/* -- memory_x86_64.S ---------------------------------------------------------------------------- */

/* It is in use still. */
void memory_kept(uint64_t address);

#endif
