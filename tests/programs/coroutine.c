// SPDX-License-Identifier: Apache-2.0
/*
 * coroutine_main runs on a stack of its own and spins there in coroutine_leaf three times as long
 * as main_side spins on the main thread's stack; they hand over to each other.
 */
#include <ucontext.h>

#include "program.h"

static ucontext_t main_context, coroutine_context;
static char coroutine_stack[65536];

KEPT static void coroutine_leaf(void)
{
	spin(3 * MILLISECOND);
}

KEPT static void coroutine_main(void)
{
	for (;;) {
		coroutine_leaf();
		swapcontext(&coroutine_context, &main_context);
	}
}

KEPT static void main_side(void)
{
	spin(MILLISECOND);
}

int main(int argc, char **argv)
{
	program_begin(argc, argv);
	if (getcontext(&coroutine_context))
		return 1;
	coroutine_context.uc_stack.ss_sp = coroutine_stack;
	coroutine_context.uc_stack.ss_size = sizeof(coroutine_stack);
	coroutine_context.uc_link = &main_context;
	makecontext(&coroutine_context, coroutine_main, 0);
	program_ready();
	while (!program_over()) {
		main_side();
		swapcontext(&main_context, &coroutine_context);
	}
	return 0;
}
