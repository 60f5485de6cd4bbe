/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_INSPECT_STATE_H
#define CAMERA_INSPECT_STATE_H

/* What the files inspect*.c share. */

#include "base/map.h"
#include "base/vec.h"
#include "camera/calls_reach.h"
#include "camera/inspect.h"
#include "camera/samples.h"
#include "camera/uprobes.h"
#include "probe/values.h"

struct probes;

/* A function with probes. */
struct inspect_function {
	const struct probe_function *probe;
	const char *name;
	uint32_t image;
	struct value_function value;
	struct value_param *params; /* in the image's values */
	uint32_t entry_plan, plans; /* numbers of its plans: the entry's, then the exits' */
};

struct inspect_image {
	struct values values;
	bool has_dwarf;
	uint32_t goid_at; /* Go: in the record of a goroutine; 0: not known */
	uint32_t go_minor;
	vec(struct uprobe_place) places;
};

/* From where a call was made: its frames' names, which the stacks' table owns. */
struct inspect_stack {
	uint64_t time;
	uint32_t tid;
	size_t count;
	const char *names[];
};

/* A call whose end is waited for: the record of its beginning. */
struct inspect_begun {
	struct inspect_record *record; /* null: none */
	struct inspect_stack *stack;   /* null: none */
};

struct inspect_pending {
	uint64_t key;
	struct inspect_begun begun; /* without a record: the place is free */
	uint32_t next_free;
};

struct inspect_stacks;

struct inspect {
	struct inspect_options options;
	struct plan *plan;
	struct symbols *symbols;
	vec(struct inspect_image) images; /* as the plan's */
	vec(struct inspect_function) functions;
	vec(struct inspect_plan) plans;
	vec(uint32_t) function_of_plan;
	vec(uint64_t) address_of_plan; /* of its probe, in the image */

	struct probes *probes;
	struct samples *samples;
	struct uprobe_ways ways;
	struct uprobes *uprobes;
	struct reach *reach;
	pid_t command;
	struct map programs; /* by the hash of their paths */
	size_t attached_images;

	vec(struct inspect_pending) pending;
	struct inspect_stacks *stacks; /* null: not asked for */
	struct inspect_stack *last;    /* that came, and no record has taken */
	struct map pending_of;	       /* by key: place, + 1 */
	uint32_t free_pending;	       /* + 1 */
	struct inspect_statistics statistics;
	struct uprobes_counts attached;
};

/* Makes the plans of an image of the plan; the images come in their order. */
int inspect_add_image(struct inspect *inspect, uint32_t number, struct fail *why);

/*
 * -- inspect_stacks.c ---------------------------------------------------------------------------
 */

int inspect_stacks_new(struct symbols *symbols, struct inspect_stacks **stacks);
void inspect_stacks_free(struct inspect_stacks *stacks);
/* Names a user stack of words, leaf first (unwind_abi.h). To be freed; null: no memory. */
struct inspect_stack *inspect_stack_of(struct inspect_stacks *stacks, const struct process *process,
				       const uint64_t *words, uint32_t count);

/* inspect_records.c */
void inspect_take(struct inspect *inspect, const struct inspect_record *record);
void inspect_take_stack(struct inspect *inspect, struct inspect_stack *stack);
void inspect_finish(struct inspect *inspect);

#endif
