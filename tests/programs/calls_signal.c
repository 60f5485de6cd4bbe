// SPDX-License-Identifier: Apache-2.0
/*
 * Signals in the midst of calls. worker() raises a signal 5 times; its handler calls in_handler(),
 * on the thread's own stack and on an alternate one. Then a handler leaves by siglongjmp().
 */
#include <setjmp.h>
#include <signal.h>

#include "calls.h"

COUNTED(worker);
COUNTED(raiser);
COUNTED(handler);
COUNTED(in_handler);
COUNTED(leaver);
COUNTED(escape);

static sigjmp_buf place;
static volatile unsigned long handled;

KEPT static void in_handler(void)
{
	CALLED(in_handler);
	handled++;
}

KEPT static void handler(int number)
{
	CALLED(handler);
	(void)number;
	in_handler();
	in_handler();
	NO_TAIL_CALL();
}

KEPT static void raiser(void)
{
	CALLED(raiser);
	raise(SIGUSR1);
	NO_TAIL_CALL();
}

KEPT static void worker(void)
{
	CALLED(worker);
	for (int i = 0; i < 5; i++)
		raiser();
	NO_TAIL_CALL();
}

KEPT static void leaver(int number)
{
	CALLED(leaver);
	siglongjmp(place, number);
}

KEPT static void escape(void)
{
	CALLED(escape);
	if (!sigsetjmp(place, 1))
		raise(SIGUSR2);
	calls_add(3);
}

static void handle(int number, void (*by)(int), int flags)
{
	struct sigaction action = {.sa_handler = by, .sa_flags = flags};

	if (sigaction(number, &action, NULL))
		exit(1);
}

int main(void)
{
	static char memory[1 << 16];
	stack_t other = {.ss_sp = memory, .ss_size = sizeof(memory)};

	handle(SIGUSR1, handler, 0);
	worker();
	if (sigaltstack(&other, NULL))
		return 1;
	handle(SIGUSR1, handler, SA_ONSTACK);
	worker();
	handle(SIGUSR2, leaver, 0);
	for (int i = 0; i < 4; i++)
		escape();
	handle(SIGUSR2, leaver, SA_ONSTACK);
	for (int i = 0; i < 4; i++)
		escape();
	calls_add(handled);
	TELL(worker);
	TELL(raiser);
	TELL(handler);
	TELL(in_handler);
	TELL(leaver);
	TELL(escape);
	return calls_end();
}
