/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INJECT_MEMORY_H
#define INJECT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the files of libstackcam-memory.so share. */

#define MEMORY_UNFOLLOWED_BIT (1ull << 63)

/* What the thread may still allocate until its next sample, in bytes. */
extern __thread uint64_t memory_left;

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

/* Memory that was handed out before they were found. */
bool memory_early_owns(const void *address);
void *memory_early_move(void *address, size_t size);

/* -- memory_table.c: the addresses of samples that are in use ----------------------------------- */

/* Where free() looks first: how many slots there are, less 1, and the slots. */
struct memory_table {
	uint64_t mask;
	uint64_t slots[];
};
extern struct memory_table *memory_table;

/* False: there is no room, or no lock to be had. */
bool memory_table_add(uint64_t address);
bool memory_table_has(uint64_t address);
/* False: the lock could not be had, and the table still has it. */
bool memory_table_remove(uint64_t address);

/* From now on each address seems to be there: every allocation is a sample. */
void memory_table_all(void);

/* -- memory_x86_64.S ---------------------------------------------------------------------------- */

/* reason: MEMORY_LOST_… */
void memory_lost(uint64_t reason);
/* It is in use still. */
void memory_kept(uint64_t address);

#endif
