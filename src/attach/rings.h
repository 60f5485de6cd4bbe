/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_RINGS_H
#define ATTACH_RINGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "bpf/capture/abi.h"

/*
 * The rings into which the probes write, one per CPU, read as one stream in order of time.
 */
struct rings;

/*
 * Makes a ring of bytes (a power of two) for each CPU that is online and puts it into the map of
 * rings.
 */
int rings_new(int rings_map, uint32_t bytes, struct rings **rings, struct fail *why);
void rings_free(struct rings *rings);

/* A descriptor that becomes readable when a probe asks for attention. */
int rings_fd(const struct rings *rings);

/*
 * The earliest record whose time is at most until, or null. It lives until the next call. ring says
 * which one it came from. Of one thread only.
 */
const struct capture_head *rings_next(struct rings *rings, uint64_t until, unsigned int *ring);

/*
 * Moves what the rings hold into memory, where rings_next() finds it: probes have room again while
 * the thread that reads is busy. The memory has a limit; what does not fit stays in the rings. Of
 * any thread.
 */
void rings_relieve(struct rings *rings);

/* What was moved so far. */
struct rings_aside {
	uint64_t records;
	uint64_t most;		    /* bytes at a time */
	uint64_t handovers_dropped; /* stacks that were to be completed: no room for them */
};
struct rings_aside rings_aside(struct rings *rings);

/* How many rings there are: those of rings_next() are numbered from 0. */
unsigned int rings_count(const struct rings *rings);

/* Bytes that the rings take. */
uint64_t rings_bytes(const struct rings *rings);

/* How large each ring should be, on that many CPUs. frequency: samples per second and CPU. */
uint32_t rings_bytes_for_calls(unsigned int cpus);
uint32_t rings_bytes_for_samples(unsigned int frequency, unsigned int cpus);

#endif
