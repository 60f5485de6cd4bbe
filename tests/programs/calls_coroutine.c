// SPDX-License-Identifier: Apache-2.0
/*
 * Coroutines by swapcontext(), whose stacks come from mmap() or, with the argument "malloc", from
 * the heap; a second argument says how many there are (3). Each body() hands over in the midst of
 * its step(), 10 times, so that calls of all are open at the same time, and calls leaf() before and
 * after.
 */
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "calls.h"

COUNTED(body);
COUNTED(step);
COUNTED(leaf);
COUNTED(scheduler);

#define STACK_SIZE     (64 << 10)
#define COROUTINES_MAX 64
#define STEPS	       10

static ucontext_t main_context, contexts[COROUTINES_MAX];

KEPT static void leaf(unsigned long value)
{
	CALLED(leaf);
	calls_add(value);
}

KEPT static void step(int self, unsigned long i)
{
	CALLED(step);
	leaf(i);
	swapcontext(&contexts[self], &main_context);
	leaf(i + 100);
	NO_TAIL_CALL();
}

KEPT static void body(int self)
{
	CALLED(body);
	for (unsigned long i = 0; i < STEPS; i++)
		step(self, i + (unsigned long)self * 1000);
	NO_TAIL_CALL();
}

KEPT static void scheduler(int count)
{
	CALLED(scheduler);
	for (int i = 0; i < STEPS + 1; i++)
		for (int c = 0; c < count; c++)
			swapcontext(&main_context, &contexts[c]);
	NO_TAIL_CALL();
}

static int prepare(int self, int heap)
{
	ucontext_t *context = &contexts[self];
	void *stack = heap ? malloc(STACK_SIZE)
			   : mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	if (!stack || stack == MAP_FAILED || getcontext(context))
		return -1;
	context->uc_stack.ss_sp = stack;
	context->uc_stack.ss_size = STACK_SIZE;
	context->uc_link = &main_context;
	makecontext(context, (void (*)(void))body, 1, self);
	return 0;
}

int main(int argc, char **argv)
{
	int heap = argc > 1 && !strcmp(argv[1], "malloc");
	int count = argc > 2 ? atoi(argv[2]) : 3;

	if (count < 1 || count > COROUTINES_MAX)
		return 2;
	for (int c = 0; c < count; c++)
		if (prepare(c, heap))
			return 1;
	scheduler(count);
	TELL(body);
	TELL(step);
	TELL(leaf);
	TELL(scheduler);
	return calls_end();
}
