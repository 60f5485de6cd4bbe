/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MEMORY_LIVE_H
#define SOURCES_MEMORY_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "resolve/samples.h"
#include "sources/waiting.h"
#include "film/writer.h"

/*
 * Samples of allocations that are in use, until they are freed, and what they tell of a moment: a
 * state of each process, as rows of the film (struct film_held).
 */
struct mem_live;

/* Returns 0 or -ENOMEM. */
int mem_live_new(struct mem_live **live);
void mem_live_free(struct mem_live *live);

/* half: its key is the address, its value the bytes that it stands for, its time the birth. */
void mem_live_add(struct mem_live *live, const struct waiting_half *half);

/*
 * The recorder has seen the process begin, at a time, and has one of its threads. Before its first
 * allocation it had nothing, which stands in the film, once. Else its first state would be taken
 * for what it had before. To be called before its first mem_live_add().
 */
void mem_live_began(struct mem_live *live, struct film_writer *film, uint32_t event, uint32_t pid,
		    uint32_t thread, uint64_t time);

/*
 * Both of an allocation of a process of these samples: of one that has begun a program while it was
 * recorded, it is known that it had nothing before. begun: when the film did.
 */
void mem_live_allocated(struct mem_live *live, struct samples *samples, struct film_writer *film,
			uint32_t event, uint64_t begun, const struct waiting_half *half);

/* It is freed. False: it is not known. */
bool mem_live_remove(struct mem_live *live, uint32_t pid, uint64_t address);

/* One that was removed just before is in use still. False: it is not known any more. */
bool mem_live_keep(struct mem_live *live, uint32_t pid, uint64_t address);

/*
 * Writes the state of all processes, of a time. A process that held something the last time and
 * holds nothing has a row that says so. Nothing happens where one of that time is there already.
 */
void mem_live_report(struct mem_live *live, struct film_writer *film, uint32_t event,
		     uint64_t time);

/* The same if it is due: the more there is, the longer it lasts until then, 1 to 30 s. */
void mem_live_tick(struct mem_live *live, struct film_writer *film, uint32_t event, uint64_t now);

/* A process ends, or runs another program: its last state is written, and it is forgotten. */
void mem_live_ended(struct mem_live *live, struct film_writer *film, uint32_t event, uint32_t pid,
		    uint64_t time);

/*
 * Another film: what is in use was allocated in the one before, and stands in this one under words
 * that say so, with a thread of the process that the caller names (0: none, and it is left out).
 */
void mem_live_turn(struct mem_live *live, struct samples *samples,
		   uint32_t (*thread_of)(void *context, uint32_t pid), void *context);

/* What had no room, with waiting_counts(). */
struct waiting_counts mem_live_counts(const struct mem_live *live);

#endif
