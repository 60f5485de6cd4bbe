// SPDX-License-Identifier: Apache-2.0
#include "base/budget.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"

/* The clock is a system call on some machines: it is read once in that many steps. */
#define STEPS_PER_LOOK 8192

void budget_begin(struct budget *budget, size_t memory, uint64_t bytes, uint64_t steps,
		  uint64_t cpu_ns)
{
	*budget = (struct budget){
		.memory = memory,
		.bytes = bytes,
		.steps = steps,
		.until = clock_thread_ns() + cpu_ns,
	};
}

/* The first thing that was missing is the one to be told. */
static bool refuse(struct budget *budget, const char *what)
{
	if (!budget->spent)
		budget->spent = what;
	return false;
}

bool budget_hold(struct budget *budget, size_t size)
{
	if (size > budget->memory)
		return refuse(budget, "memory");
	budget->memory -= size;
	return true;
}

void budget_release(struct budget *budget, size_t size)
{
	budget->memory += size;
}

void *budget_malloc(struct budget *budget, size_t size)
{
	void *memory;

	if (!budget_hold(budget, size))
		return NULL;
	memory = malloc(size ? size : 1);
	if (!memory)
		budget_release(budget, size);
	return memory;
}

void budget_free(struct budget *budget, void *memory, size_t size)
{
	if (memory)
		budget_release(budget, size);
	free(memory);
}

bool budget_read(struct budget *budget, uint64_t bytes)
{
	if (bytes > budget->bytes)
		return refuse(budget, "bytes");
	budget->bytes -= bytes;
	return true;
}

bool budget_step(struct budget *budget, uint64_t steps)
{
	uint64_t before = budget->steps;

	if (steps > before)
		return refuse(budget, "steps");
	budget->steps -= steps;
	if (before / STEPS_PER_LOOK == budget->steps / STEPS_PER_LOOK ||
	    clock_thread_ns() < budget->until)
		return true;
	/* what is refused once is refused from then on */
	budget->steps = 0;
	return refuse(budget, "time");
}

int budget_refuse(const struct budget *budget, struct fail *why, const char *words)
{
	return fail(why, -E2BIG, "the file is broken or made to mislead",
		    "%s: reading it takes more %s than any sound file does", words,
		    budget->spent ? budget->spent : "memory");
}
