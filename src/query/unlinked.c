// SPDX-License-Identifier: Apache-2.0
#include "query/unlinked.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "film/events.h"

/*
 * function: of a thread that runs such tasks; all that its name begins with, as names have
 * parameters, or none. thread: what the names of such threads begin with, of which the kernel keeps
 * 15 bytes.
 */
static const struct runtime {
	const char *name, *function, *thread;
	enum event_id lanes; /* the event that records lanes of them; 0: none does */
} runtimes[UNLINKED_KINDS] = {
	[UNLINKED_ASYNCIO] = {"tasks of asyncio", "BaseEventLoop._run_once", NULL,
			      EVENT_TASK_LANES},
	[UNLINKED_NODE] = {"asynchronous calls of Node.js", "node::SpinEventLoop", NULL, 0},
	[UNLINKED_JAVA] = {"virtual threads of Java", "jdk.internal.vm.Continuation.",
			   "VirtualThread-u", EVENT_VTHREAD_LANES},
	[UNLINKED_TOKIO] = {"tasks of Tokio", "tokio::runtime::", "tokio-runtime-w", 0},
	[UNLINKED_GO] = {"goroutines", "runtime.schedule", NULL, EVENT_GO_LANES},
};

const char *unlinked_name(enum unlinked_kind kind)
{
	return runtimes[kind].name;
}

const char *unlinked_event(enum unlinked_kind kind)
{
	return runtimes[kind].lanes ? event_type(runtimes[kind].lanes)->name : NULL;
}

static bool begins_with(const char *name, const char *with)
{
	return with && !strncmp(name, with, strlen(with));
}

uint8_t unlinked_lanes(const struct film *film)
{
	uint8_t kinds = 0;

	for (unsigned int kind = 0; kind < UNLINKED_KINDS; kind++) {
		const char *name = unlinked_event(kind);
		uint32_t event = name ? film_find_event(film, name) : 0;

		if (event && film_has_any(film, event))
			kinds |= (uint8_t)(1u << kind);
	}
	return kinds;
}

static uint8_t kinds_of_function(const char *name)
{
	uint8_t kinds = 0;

	for (unsigned int kind = 0; kind < UNLINKED_KINDS; kind++)
		kinds |= (uint8_t)(begins_with(name, runtimes[kind].function) << kind);
	return kinds;
}

static uint8_t kinds_of_thread(const char *name)
{
	uint8_t kinds = 0;

	for (unsigned int kind = 0; kind < UNLINKED_KINDS; kind++)
		kinds |= (uint8_t)(begins_with(name, runtimes[kind].thread) << kind);
	return kinds;
}

int unlinked_begin(const struct film *film, struct unlinked *unlinked)
{
	uint8_t *of_function = calloc(film->function_count + 1ull, 1);
	uint8_t meant = (1u << UNLINKED_KINDS) - 1;

	unlinked->of_stack = calloc(film->stack_count + 1ull, 1);
	unlinked->of_process = calloc(film->process_count + 1ull, 1);
	if (!of_function || !unlinked->of_stack || !unlinked->of_process) {
		free(of_function);
		return -ENOMEM;
	}
	meant &= (uint8_t)~unlinked_lanes(film);
	for (uint32_t i = 1; i < film->function_count; i++)
		of_function[i] = kinds_of_function(film->functions[i].name) & meant;
	/* a stack's parent stands before it */
	for (uint32_t i = 1; i < film->stack_count; i++) {
		const struct film_stack *stack = &film->stacks[i];

		unlinked->of_stack[i] = unlinked->of_stack[stack->parent] |
					of_function[film->frames[stack->frame].function];
	}
	free(of_function);
	for (uint32_t i = 1; i < film->thread_count; i++)
		unlinked->of_process[film->threads[i].process] |=
			kinds_of_thread(film->threads[i].comm) & meant;
	return 0;
}

void unlinked_free(struct unlinked *unlinked)
{
	free(unlinked->of_stack);
	free(unlinked->of_process);
	*unlinked = (struct unlinked){0};
}

void unlinked_take(struct unlinked *unlinked, const struct film *film, const struct slice *slice)
{
	unlinked->of_process[film->threads[slice->thread].process] |= unlinked_of(unlinked, slice);
}
