/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MEMORY_RECORD_H
#define SOURCES_MEMORY_RECORD_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "bpf/capture/abi.h"

/* What records of allocations have in common (bpf/memory/heap_abi.h). */

/* The words behind a record's frames. False: it has another number of them, and is damaged. */
static inline bool mem_record_words(const struct capture_record *record, uint64_t *words,
				    size_t count)
{
	size_t frames = (size_t)record->user_frames + record->kernel_frames;

	if (record->head.size != sizeof(*record) + (frames + count) * sizeof(*words))
		return false;
	memcpy(words, (const uint64_t *)(record + 1) + frames, count * sizeof(*words));
	return true;
}

/*
 * What a sampled allocation stands for: one of s bytes is a sample with a probability of
 * 1 - exp(-s / interval). interval 1: each is one.
 */
static inline uint64_t mem_record_weight(uint64_t bytes, uint64_t interval)
{
	if (interval == 1)
		return bytes;
	return (uint64_t)((double)bytes / -expm1(-(double)bytes / (double)interval) + 0.5);
}

#endif
