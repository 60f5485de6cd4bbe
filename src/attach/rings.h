/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_RINGS_H
#define ATTACH_RINGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "bpf/capture/abi.h"

/*
 * The ring buffers into which the probes write, one per CPU, read as one stream in order of time.
 */
struct rings;

/*
 * Creates a ring of that many bytes (a power of two) for each online CPU, and puts it into the map
 * of rings.
 */
int rings_new(int rings_map, uint32_t bytes, struct rings **rings, struct fail *why);
void rings_free(struct rings *rings);

/* A descriptor that becomes readable when a probe requests a wakeup. */
int rings_fd(const struct rings *rings);

/*
 * The earliest record whose time is at most until, or null. It is valid until the next call. *ring:
 * number of the ring that it came from. Only one thread may call this.
 */
const struct capture_head *rings_next(struct rings *rings, uint64_t until, unsigned int *ring);

/*
 * Moves records from the rings into memory, where rings_next() finds them, so that probes have room
 * while the reading thread is busy. The memory is limited; the rest stays in the rings. Any thread
 * may call this.
 */
void rings_relieve(struct rings *rings);

/* Statistics of the moved records. */
struct rings_aside {
	uint64_t records;
	uint64_t most;		    /* most bytes in memory at once */
	uint64_t handovers_dropped; /* stacks to be finished that were dropped: no room */
};
struct rings_aside rings_aside(struct rings *rings);

/* The number of rings. rings_next() numbers them from 0. */
unsigned int rings_count(const struct rings *rings);

/* Total size of the rings in bytes. */
uint64_t rings_bytes(const struct rings *rings);

/* Recommended size of each ring for a number of CPUs. frequency: samples per second and CPU. */
uint32_t rings_bytes_for_calls(unsigned int cpus);
uint32_t rings_bytes_for_samples(unsigned int frequency, unsigned int cpus);

#endif
