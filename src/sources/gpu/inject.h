/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_GPU_INJECT_H
#define SOURCES_GPU_INJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"
#include "film/writer.h"
#include "process/image.h"
#include "process/select.h"
#include "sources/memory/library.h"

/*
 * Puts libstackcam-gpu.so into running processes, and takes it out of use again.
 *
 * It is mapped as the library of mem-inuse is (sources/memory/map.h), while the process's first
 * thread is stopped for a moment. That thread may be anywhere then, and the library needs the
 * dynamic linker, so it is not started: words of the driver library (driver_slots.h) are changed,
 * and the first call of the driver by any thread puts them back and starts it (inject/gpu_late.c).
 * A process that makes none is left as it is.
 *
 * In the end the library unsubscribes and reports what is left, or the words are put back. It stays
 * mapped; the next recording uses it again. Where the recorder is killed, the library does the same
 * by itself, some seconds after the recorder has last renewed its lease.
 */
struct gpu_inject;
struct far_files;

struct gpu_inject_settings {
	struct far_files *far; /* may be null */
	uint64_t budget;       /* percent; 0: any */
	bool has_lanes;	       /* when each kernel ran is wanted */
	bool has_instructions; /* samples of instructions are wanted */
};

/*
 * library, selection: stay the caller's. The processes that it selects by number get the library at
 * the next tick. Returns 0 or a negative errno.
 */
int gpu_inject_new(const struct mem_library *library, const struct selection *selection,
		   const struct gpu_inject_settings *settings, struct gpu_inject **result);
void gpu_inject_free(struct gpu_inject *inject);

/* A process maps a file: if it is a driver library, it gets the library at the next tick. */
void gpu_inject_image(struct gpu_inject *inject, pid_t pid, const struct image *image);

/* It runs another program, or has ended. */
void gpu_inject_gone(struct gpu_inject *inject, pid_t pid);

/* At the start, and then about once a second. */
void gpu_inject_tick(struct gpu_inject *inject);

/*
 * Takes it out of use in all processes, and waits until they have reported all; for some seconds at
 * most.
 */
void gpu_inject_retract(struct gpu_inject *inject);

/* Writes what was not seen so far; is_last: nothing more comes. */
void gpu_inject_emit_losses(const struct gpu_inject *inject, struct film_writer *film,
			    uint32_t event, bool is_last);

/*
 * How many processes have got it whose instructions were to be sampled, which is not possible then.
 */
uint64_t gpu_inject_without_instructions(const struct gpu_inject *inject);

#endif
