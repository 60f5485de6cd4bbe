// SPDX-License-Identifier: Apache-2.0
/*
 * One thread, several stacks.
 *
 *	array		coroutines by swapcontext() whose stacks are local arrays on the thread's
 *			own stack
 *	array-own	the same with a switch in assembly, as Boost.Context has it
 *	heap-own	that switch, stacks from malloc()
 *	preempt		a timer's signal handler switches between coroutines, wherever they are
 *	alternate	handlers on an alternate signal stack
 *	out		siglongjmp() out of the handler of a fault
 */
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

#include "calls.h"

#define STACK_SIZE (48 << 10)
#define COROUTINES 3
#define STEPS	   200

KEPT static unsigned long leaf(unsigned long value)
{
	for (int i = 0; i < 20; i++)
		value = value * 2862933555777941757ul + 3037000493ul;
	return value;
}

/* What the coroutines are switched by. */
static void (*give_way)(int self);
static unsigned long results[COROUTINES];
static volatile int ended;

KEPT static unsigned long step(int self, unsigned long value, int depth)
{
	value = leaf(value);
	if (depth)
		value = step(self, value, depth - 1);
	else if (give_way)
		give_way(self);
	NO_TAIL_CALL();
	return leaf(value);
}

KEPT static void body(int self)
{
	unsigned long value = (unsigned long)self;

	for (int i = 0; i < STEPS; i++)
		value = step(self, value, i % 4);
	results[self] = value;
}

/* By the C library */

static ucontext_t contexts[COROUTINES], scheduler_context;

KEPT static void give_way_by_context(int self)
{
	swapcontext(&contexts[self], &scheduler_context);
}

KEPT static void begin_by_context(int self)
{
	body(self);
	ended++;
}

KEPT static void make_context(int self, char *stack)
{
	getcontext(&contexts[self]);
	contexts[self].uc_stack.ss_sp = stack;
	contexts[self].uc_stack.ss_size = STACK_SIZE;
	contexts[self].uc_link = &scheduler_context;
	makecontext(&contexts[self], (void (*)(void))begin_by_context, 1, self);
}

KEPT static void run_on_arrays(void)
{
	char stacks[COROUTINES][STACK_SIZE] __attribute__((aligned(16)));
	int done[COROUTINES] = {0}, before;

	give_way = give_way_by_context;
	for (int i = 0; i < COROUTINES; i++)
		make_context(i, stacks[i]);
	while (ended < COROUTINES)
		for (int i = 0; i < COROUTINES; i++) {
			before = ended;
			if (!done[i])
				swapcontext(&scheduler_context, &contexts[i]);
			leaf(1);
			done[i] |= ended != before;
		}
}

/* By a few instructions */

void harm_switch(void **from, void *to);
__asm__(".text\n"
	".globl harm_switch\n"
	".type harm_switch, @function\n"
	"harm_switch:\n"
	"	push %rbp\n	push %rbx\n	push %r12\n"
	"	push %r13\n	push %r14\n	push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n"
	"	pop %r12\n	pop %rbx\n	pop %rbp\n"
	"	ret\n"
	".size harm_switch, . - harm_switch\n");

static void *places[COROUTINES], *scheduler_place;
static int starting;

KEPT static void give_way_by_switch(int self)
{
	harm_switch(&places[self], scheduler_place);
}

KEPT static void begin_by_switch(void)
{
	int self = starting;

	body(self);
	ended++;
	harm_switch(&places[self], scheduler_place);
	abort();
}

KEPT static void make_place(int self, char *stack)
{
	/*
	 * the address that it returns to, six registers below it; above it, as at a function's
	 * entry
	 */
	void **top = (void **)(stack + STACK_SIZE - 32);

	memset(top - 6, 0, 6 * sizeof(*top));
	top[0] = (void *)begin_by_switch;
	places[self] = top - 6;
}

KEPT static void run_by_switch(char *stacks)
{
	int done[COROUTINES] = {0}, before;

	give_way = give_way_by_switch;
	for (int i = 0; i < COROUTINES; i++)
		make_place(i, stacks + i * STACK_SIZE);
	while (ended < COROUTINES)
		for (int i = 0; i < COROUTINES; i++) {
			before = ended;
			starting = i;
			if (!done[i])
				harm_switch(&scheduler_place, places[i]);
			leaf(1);
			done[i] |= ended != before;
		}
}

KEPT static void run_on_own_arrays(void)
{
	char stacks[COROUTINES * STACK_SIZE + 8] __attribute__((aligned(16)));

	run_by_switch(stacks);
	NO_TAIL_CALL();
}

/* By a timer */

static volatile int running = -1, finished[COROUTINES];

KEPT static void on_timer(int signal)
{
	int self = running;

	(void)signal;
	if (self >= 0)
		swapcontext(&contexts[self], &scheduler_context);
}

/*
 * Only a coroutine itself lets the timer interrupt it, and a handler's end: one that came within
 * swapcontext(), between the signal mask and the stack, would overwrite the place to go to.
 */
KEPT static void begin_preempted(int self)
{
	unsigned long value = (unsigned long)self;
	sigset_t alarm;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &alarm, NULL);
	for (int i = 0; i < 2000; i++)
		value = step(self, value, 1);
	results[self] = value;
	finished[self] = 1;
	running = -1;
}

KEPT static void run_preempted(void)
{
	static char stacks[COROUTINES][STACK_SIZE] __attribute__((aligned(16)));
	struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
	struct sigaction action = {.sa_handler = on_timer};
	sigset_t alarm;
	int left = COROUTINES;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarm, NULL);
	for (int i = 0; i < COROUTINES; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = STACK_SIZE;
		contexts[i].uc_link = &scheduler_context;
		makecontext(&contexts[i], (void (*)(void))begin_preempted, 1, i);
	}
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (left) {
		left = 0;
		for (int i = 0; i < COROUTINES; i++) {
			if (finished[i])
				continue;
			left++;
			running = i;
			swapcontext(&scheduler_context, &contexts[i]);
			running = -1;
		}
	}
	setitimer(ITIMER_REAL, &never, NULL);
}

/* Signals */

static volatile unsigned long handled;
static sigjmp_buf back;

KEPT static void on_signal(int signal)
{
	(void)signal;
	handled = leaf(handled);
}

KEPT static void run_alternate(void)
{
	static char stack[STACK_SIZE];
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < STEPS; i++) {
		raise(SIGUSR1);
		results[0] += step(0, handled, 2);
	}
}

KEPT static void on_fault(int signal)
{
	(void)signal;
	handled = leaf(handled);
	siglongjmp(back, 1);
}

KEPT static unsigned long faults(const volatile unsigned long *place)
{
	return leaf(1) + *place;
}

KEPT static unsigned long faults_below(int depth)
{
	if (depth)
		return faults_below(depth - 1) + 1;
	return faults(NULL);
}

KEPT static void run_out(void)
{
	struct sigaction action = {.sa_handler = on_fault};

	sigaction(SIGSEGV, &action, NULL);
	for (volatile int i = 0; i < STEPS; i++)
		if (!sigsetjmp(back, 1))
			results[0] += faults_below(i % 5);
		else
			results[1] += handled;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "array";

	if (!strcmp(how, "array"))
		run_on_arrays();
	else if (!strcmp(how, "array-own"))
		run_on_own_arrays();
	else if (!strcmp(how, "heap-own"))
		run_by_switch((char *)(((unsigned long)malloc(COROUTINES * STACK_SIZE + 16) + 15) &
				       -16ul));
	else if (!strcmp(how, "preempt"))
		run_preempted();
	else if (!strcmp(how, "alternate"))
		run_alternate();
	else if (!strcmp(how, "out"))
		run_out();
	else
		return 2;
	for (int i = 0; i < COROUTINES; i++)
		calls_add(results[i]);
	return calls_end();
}
