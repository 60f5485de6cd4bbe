/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_INSPECT_STATE_H
#define SOURCES_INSPECT_STATE_H

/* What the files inspect*.c share. */

#include <pthread.h>

#include "base/map.h"
#include "base/vec.h"
#include "sources/calls/reach.h"
#include "sources/inspect/called.h"
#include "sources/inspect/inspect.h"
#include "sources/inspect/decode.h"
#include "resolve/samples.h"
#include "attach/uprobes.h"
#include "probe/values.h"

struct probes;

/* The first version of Go that passes arguments in registers, and a goroutine in r14. */
#define GO_REGISTERS 17

/* A function with probes, or one place of a line. */
struct inspect_function {
	const struct probe_function *probe; /* null: it is a place of a line */
	const char *name;
	uint32_t image;
	uint32_t in_plan; /* number of the function there */
	struct value_function value;
	int64_t go_width;	    /* as struct abi_go has it */
	struct value_param *params; /* in the image's values */
	uint32_t entry_plan, plans; /* numbers of its plans: the entry's, then the exits' */
	bool is_empty; /* it ends as it begins: the entry's plan has the results, too */
	struct inspect_part *parts; /* --show: what is shown of the arguments; null: all is */
	/* of a place of a line, which has no probe_function and no exits: */
	const struct value_site *site;	   /* null: it is a function */
	const struct inspect_place *place; /* the line, as it was asked for */
	char *owned_name;
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

/* trace --args: what of a function's calls is taken. */
struct inspect_kept {
	uint32_t function; /* + 1; 0: nothing is */
	uint32_t results;  /* the plan that takes them, + 1; 0: none does */
	bool arguments;
	/* it has results, and all that is known of them is why they are not known */
	bool only_said;
};

struct inspect_pending {
	uint64_t key;
	struct inspect_begun begun; /* without a record: the place is free */
	uint32_t next_free;
};

struct inspect_stacks;
struct inspect_film;
struct source_host;

struct inspect {
	struct inspect_options options;
	struct plan *plan;
	struct symbols *symbols;
	vec(struct inspect_image) images; /* as the plan's */
	vec(struct inspect_function) functions;
	vec(struct inspect_plan) plans;
	vec(uint32_t) function_of_plan;
	vec(uint64_t) address_of_plan; /* of its probe, in the image */

	struct {
		pthread_t thread;
		bool is_on;
		int err;
		struct fail why;
	} reading; /* inspect_read_beside() */

	struct probes *probes;
	struct inspect_film *film; /* null: none is kept */
	uint32_t stack_event;	   /* of the film; 0: it has no stacks */
	struct uprobe_ways ways;
	struct uprobes *uprobes;
	struct reach *reach;
	pid_t command;
	struct map programs; /* by the hash of their paths */
	size_t attached_images;

	vec(struct inspect_pending) pending;
	struct inspect_stacks *stacks; /* null: not asked for */
	struct inspect_called *called; /* what objects call */
	struct inspect_stack *last;    /* that came, and no record has taken */
	struct map pending_of;	       /* by key: place, + 1 */
	uint32_t free_pending;	       /* + 1 */
	/* of the call that is shown: their memory serves all calls */
	struct shown_tree arguments, results;
	struct inspect_statistics statistics;
	struct uprobes_counts attached;
	uint64_t found_parts;	       /* bits: which of options.parts some place has */
	vec(struct inspect_kept) kept; /* --args, by function of the plan */
	struct map result_plans;       /* of its results: by the hash of a plan, its number + 1 */
	size_t sent_kept;	       /* of kept: what the tracer's probes know */
	bool *found_lines;	       /* which of options.places have code */
};

/* -- inspect.c --------------------------------------------------------------------------------- */

/* A plan of a probe at an address of an image. False: there are too many. */
bool inspect_add_plan(struct inspect *inspect, const struct inspect_plan *plan, uint32_t function,
		      uint64_t address);
bool inspect_add_probe(struct inspect *inspect, struct inspect_image *image, uint64_t offset,
		       enum uprobe_kind kind, uint32_t function);
int inspect_too_many(struct fail *why);
/* For names of an image of the plan; called is null where there are none. */
struct inspect_names inspect_names_of(const struct inspect *inspect, uint32_t image, uint64_t bias);
/* ns between calls that are kept (struct inspect_plan). */
uint32_t inspect_interval(const struct inspect *inspect);
/*
 * The steps for all that is shown of a function's arguments, or of a place's variables. 0 or a
 * negative errno with *why.
 */
int inspect_add_shown(struct inspect *inspect, struct inspect_builder *builder,
		      struct inspect_function *f, struct fail *why);

/* -- lines.c --------------------------------------------------------------------------- */

/* Makes the plans of the places of lines that the image's values have. 0 or a negative errno. */
int inspect_add_lines(struct inspect *inspect, struct inspect_image *image,
		      const struct plan_image *file, uint32_t number, struct fail *why);

/*
 * Is there a line without code, when all images are there? Returns 0, -ENOENT (the file is
 * not known either) or -ENODATA. */
int inspect_check_lines(const struct inspect *inspect, struct fail *why);

/* Makes the plans of an image of the plan; the images come in their order. */
int inspect_add_image(struct inspect *inspect, uint32_t number, struct fail *why);

/*
 * -- stacks.c ---------------------------------------------------------------------------
 */

int inspect_stacks_new(struct symbols *symbols, struct inspect_stacks **stacks);
void inspect_stacks_free(struct inspect_stacks *stacks);
/* Names a user stack of words, leaf first (unwind/abi.h). To be freed; null: no memory. */
struct inspect_stack *inspect_stack_of(struct inspect_stacks *stacks, const struct process *process,
				       const uint64_t *words, uint32_t count);

/*
 * results.c, for trace --args: inspect->functions has got a function with that number,
 * whose arguments are taken or not. 0 or -ENOMEM.
 */
int inspect_keep(struct inspect *inspect, const struct inspect_image *image, uint32_t function,
		 bool arguments);
/*
 * Does the beginning of its calls tell anything? Not of functions without parameters or of which
 * nothing is known, and of no more than there can be.
 */
bool inspect_is_worth(struct inspect *inspect, const struct inspect_function *f);

/* records.c */
void inspect_handle(struct inspect *inspect, const struct inspect_record *record);
void inspect_keep_stack(struct inspect *inspect, struct inspect_stack *stack);
void inspect_finish(struct inspect *inspect, uint64_t now);

#endif
