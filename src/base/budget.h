/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/*
 * Limits what one hostile file can cost its reader: memory, bytes read, steps (instructions
 * decoded, entries visited) and CPU time. A reader charges each cost to the file's budget in
 * advance. An exhausted budget stays exhausted and knows which limit was reached; its owner then
 * refuses the file with that message.
 *
 * Memory and steps are the limits that decide, and are the same on each machine. The CPU time is a
 * safety net, far above what the steps should take.
 */
struct budget {
	size_t memory;	/* bytes that may still be allocated */
	uint64_t bytes; /* bytes that may still be read */
	uint64_t steps; /* steps that may still be made */
	/* limit of the thread's CPU clock, ns; budget_step() checks it now and then */
	uint64_t until;
	const char *spent; /* name of the exhausted limit, a noun; null: none */
};

#define BUDGET_MIB ((size_t)1 << 20)

void budget_begin(struct budget *budget, size_t memory, uint64_t bytes, uint64_t steps,
		  uint64_t cpu_ns);

/* Charges memory until budget_release(). False: less than size is left. */
bool budget_hold(struct budget *budget, size_t size);
void budget_release(struct budget *budget, size_t size);

/* malloc() and free() that charge and release memory. */
void *budget_malloc(struct budget *budget, size_t size);
void budget_free(struct budget *budget, void *memory, size_t size);

/* Charge bytes or steps permanently. False: the budget is exhausted. */
bool budget_read(struct budget *budget, uint64_t bytes);
bool budget_step(struct budget *budget, uint64_t steps);

/* Fills *why with the exhausted limit and the name of the file or part; returns -E2BIG. */
int budget_refuse(const struct budget *budget, struct fail *why, const char *words);

#endif
