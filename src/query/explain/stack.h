/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_STACK_H
#define QUERY_EXPLAIN_STACK_H

#include <stdbool.h>
#include <stddef.h>

#include "film/reader.h"
#include "query/fold.h"

/*
 * Which frame of a stack says most: the innermost one of the program's own code, and not of the
 * libraries and the runtimes through which every program waits.
 */
struct explain_stacks {
	const struct film *film;
	struct fold fold;
	const struct film_stack *paths;
	uint32_t *functions, *images; /* their roles (query/roles.h) */
	uint32_t *own; /* by stack: the place in it that says most, and 1; 0: not looked for yet */
};

/* 0 or -ENOMEM; explain_stacks_free() is needed in either case. */
int explain_stacks_init(struct explain_stacks *stacks, const struct film *film);
void explain_stacks_free(struct explain_stacks *stacks);

/*
 * The part of a stack whose innermost frame says most; 0: it has no frame but those of the kernel.
 */
uint32_t explain_stack_own(struct explain_stacks *stacks, uint32_t stack);

/*
 * The function of the innermost frame of a stack that is not 0: its own one, or, where that is of a
 * language's library and was inlined, the one around it.
 */
uint32_t explain_stack_function(const struct explain_stacks *stacks, uint32_t stack);

/* Whether two stacks, neither of which is 0, have the same functions outside of the kernel. */
bool explain_stacks_are_alike(const struct explain_stacks *stacks, uint32_t a, uint32_t b);

/* What the innermost frame of a stack is called. Returns to, "" for stack 0. */
const char *explain_stack_name(const struct explain_stacks *stacks, uint32_t stack, char *to,
			       size_t size);

/* The file of that frame, as in the film; "" where it has none. */
const char *explain_stack_image(const struct explain_stacks *stacks, uint32_t stack);
/* The name of the shared library that the frame's function is of; null: of none. The film's. */
const char *explain_stack_library(const struct explain_stacks *stacks, uint32_t stack);

/*
 * The part of a stack whose innermost frame is a function of Python, Java and the like that says
 * much, and that called code of a shared library, of which the stack given is; 0: there is none.
 */
uint32_t explain_stack_caller(const struct explain_stacks *stacks, uint32_t stack);

#endif
