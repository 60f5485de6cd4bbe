/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_SCHED_AS_BEFORE_H
#define SOURCES_SCHED_AS_BEFORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/capture/abi.h"
#include "resolve/samples.h"

/*
 * Stacks that later records of the same threads may refer to (bpf/sched/as_before.h): a record
 * without frames of its own gets those of the one that it names. Their memory is bounded: when it
 * is used up, the kernel's side must send all of them anew, and what is on its way until then still
 * finds them.
 */
struct as_before;

/* The most bytes that are kept; twice as many for a while. */
#define AS_BEFORE_BYTES_MAX (8u << 20)

/*
 * limit: bytes, after which *anew is counted up: stacks that were sent before are not to be
 * referred to any more. Returns 0 or -ENOMEM.
 */
int as_before_new(size_t limit, uint32_t *anew, struct as_before **as_before);
void as_before_free(struct as_before *as_before);

struct as_before_stack {
	/* with its frames; it, or memory that the next call uses */
	const struct capture_record *record;
	/* of that stack, from the last time; null: it has none, or it may be another one now */
	struct samples_known *known;
};

/*
 * Keeps the frames of a record that others may refer to, and gives those that refer to one their
 * frames. False: they are not known, which is counted; the record has a stack without an end.
 */
bool as_before_resolve(struct as_before *as_before, const struct capture_record *record,
		       struct as_before_stack *stack);

struct as_before_counts {
	uint64_t taken, unknown;
	/* of records that refer to a stack and have frames as well: all, and where they differ */
	uint64_t checked, differ;
};
struct as_before_counts as_before_counts(const struct as_before *as_before);

#endif
