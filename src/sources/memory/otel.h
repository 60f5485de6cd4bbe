/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MEMORY_OTEL_H
#define SOURCES_MEMORY_OTEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"
#include "attach/uprobes.h"
#include "elf/file.h"
#include "film/writer.h"
#include "process/image.h"

struct probes;

/*
 * mem-alloc and mem-inuse of programs that sample their allocations themselves, and say so by
 * probes of OpenTelemetry's contract (USDT, in .note.stapsdt):
 *
 *	otel_memory:alloc(address, bytes, bytes that the sample stands for)
 *	otel_memory:free(address)	of a sample
 *
 * libstackcam-memory.so has them, too; it is read by probes of its own.
 */
struct mem_otel;

/* Before the programs are loaded. */
void mem_otel_prepare(struct probes *probes);

/* Returns 0 or a negative errno. */
int mem_otel_new(struct probes *probes, struct mem_otel **otel);

/* Nothing fires from here on. */
void mem_otel_detach(struct mem_otel *otel);
void mem_otel_free(struct mem_otel *otel);

/* A process maps a file. Returns whether it has such probes, which are attached. */
bool mem_otel_image(struct mem_otel *otel, pid_t pid, const struct image *image);

/* It runs another program, or has ended. */
void mem_otel_gone(struct mem_otel *otel, pid_t pid);

/* Writes what was not seen, so far. */
void mem_otel_report(const struct mem_otel *otel, struct film_writer *film, uint32_t event);

/* The most probes of a file. */
#define MEM_OTEL_PLACES_MAX 64

/* -- for tests --------------------------------------------------------------------------------- */

/*
 * Where arguments are, as a note says it ("8@%rdi -4@-8(%rbp)"): count of them, 20 bits each, as of
 * MEM_HEAP_USDT_…. False: it says something else.
 */
bool mem_otel_arguments(const char *text, unsigned int count, uint64_t *cookie);

/* The probes of a file. Returns how many; *failed: and how many others cannot be attached. */
size_t mem_otel_places(const struct elf_file *file, struct uprobe_place places[MEM_OTEL_PLACES_MAX],
		       uint64_t *failed);

#endif
