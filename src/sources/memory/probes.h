/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MEMORY_PROBES_H
#define SOURCES_MEMORY_PROBES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sources/memory/places.h"
#include "film/writer.h"
#include "process/image.h"

struct probes;

/*
 * mem-alloc without a library: probes of one kind (sources/memory/places.h) in running processes. A
 * hit takes about 1 us, so they have a budget, and are out while it is spent.
 */
struct mem_probes;

/* Before the programs are loaded. interval: mean bytes between samples. */
void mem_probes_prepare(struct probes *probes, uint64_t interval);

/*
 * percent: of the time of one CPU that hits may take, all together. Where the kernel cannot bind
 * probes to a process, so that all others would have them, there are none, and
 * mem_probes_report() says so. Returns 0 or a negative errno.
 */
int mem_probes_new(struct probes *probes, enum mem_places_of of, unsigned int percent,
		   struct mem_probes **result);

/* Nothing fires from here on. */
void mem_probes_detach(struct mem_probes *probes);
void mem_probes_free(struct mem_probes *probes);

/* A process maps a file. Returns whether it has such places, which are probed, or would be. */
bool mem_probes_image(struct mem_probes *probes, pid_t pid, const struct image *image);

/* It runs another program, or has ended. */
void mem_probes_gone(struct mem_probes *probes, pid_t pid);

/* Takes the probes out, or puts them back: to be called as often as there is news. */
void mem_probes_balance(struct mem_probes *probes, uint64_t now);

/* Writes what was not seen, so far. */
void mem_probes_report(const struct mem_probes *probes, struct film_writer *film, uint32_t event);

#endif
