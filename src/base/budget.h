/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/*
 * What one hostile file may cost its reader: memory, bytes read, steps (instructions decoded,
 * entries looked at) and CPU time. A reader takes what it needs from the file's budget
 * before it needs it. A budget that is spent stays spent, and says what was missing: its owner
 * refuses the file with those words.
 *
 * Memory and steps bound what is read, the same on each machine; the time is a net below them, far
 * beyond what the steps should take.
 */
struct budget {
	size_t memory;	   /* bytes that may still be held */
	uint64_t bytes;	   /* that may still be read */
	uint64_t steps;	   /* that may still be taken */
	uint64_t until;	   /* of the thread's CPU time, ns; the steps say when to look */
	const char *spent; /* what there was not enough of, as a noun; null: nothing */
};

#define BUDGET_MIB ((size_t)1 << 20)

void budget_begin(struct budget *budget, size_t memory, uint64_t bytes, uint64_t steps,
		  uint64_t cpu_ns);

/* Takes memory for as long as it is held; false: there is not so much left. */
bool budget_hold(struct budget *budget, size_t size);
void budget_release(struct budget *budget, size_t size);

/* malloc() and free() of memory that counts. */
void *budget_malloc(struct budget *budget, size_t size);
void budget_free(struct budget *budget, void *memory, size_t size);

/* Takes bytes, or steps, for good. */
bool budget_read(struct budget *budget, uint64_t bytes);
bool budget_step(struct budget *budget, uint64_t steps);

/* Fills *why with what was spent, for the file or part that words name; returns -E2BIG. */
int budget_refuse(const struct budget *budget, struct fail *why, const char *words);

#endif
