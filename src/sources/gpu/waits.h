/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_GPU_WAITS_H
#define SOURCES_GPU_WAITS_H

#include "bpf/gpu/on_gpu_abi.h"
#include "film/writer.h"
#include "resolve/samples.h"

/*
 * A wait of a thread for a GPU becomes samples that end at the same time: one of what ran on the
 * stream for most of the wait, one of other work there, and one of the rest. Each has a frame that
 * says so at its leaf. Their sum is the wait; query/device_waits.h reads them.
 */

/*
 * Whether the numbers of a record can be those of a wait: the process may have put any numbers
 * there.
 */
bool gpu_wait_is_valid(const struct on_gpu_waited *waited);

/* name: of what ran for the longest part; null: not known. end: within the film. */
void gpu_wait_write(const struct on_gpu_waited *waited, const struct samples_place *place,
		    struct samples *samples, uint32_t event, uint64_t end, const char *name);

/* Writes which stream it was for (struct film_work), if that is known; end: as above. */
void gpu_wait_write_stream(const struct on_gpu_waited *waited, const struct samples_place *place,
			   struct film_writer *film, uint32_t event, uint64_t end);

#endif
