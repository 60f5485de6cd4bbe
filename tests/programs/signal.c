// SPDX-License-Identifier: Apache-2.0
/*
 * Spins in a signal handler. Second argument: "raise" (the handler on_raise is called below the
 * function raiser), "timer" (on_timer interrupts the function interrupted some ms of CPU time after
 * it was done the last time, so that neither has all the CPU on any machine), "altstack" (as
 * "raise", on a stack of the signal's own).
 */
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "program.h"

static char other_stack[65536];

KEPT static void handler_leaf(unsigned long turns)
{
	spin(turns);
}

KEPT static void on_raise(int number)
{
	(void)number;
	handler_leaf(10 * MILLISECOND);
	NO_TAIL_CALL();
}

static void wind_timer(void)
{
	const struct itimerval once = {.it_value.tv_usec = 5000};

	setitimer(ITIMER_PROF, &once, NULL);
}

KEPT static void on_timer(int number)
{
	(void)number;
	handler_leaf(10 * MILLISECOND);
	wind_timer();
	NO_TAIL_CALL();
}

KEPT static void raiser(void)
{
	while (!program_over())
		raise(SIGUSR1);
}

KEPT static void interrupted(void)
{
	while (!program_over())
		spin(MILLISECOND);
}

static void handle(int number, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	if (sigaction(number, &action, NULL)) {
		perror("sigaction");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[2] : "raise";

	program_begin(argc, argv);
	if (!strcmp(mode, "timer")) {
		handle(SIGPROF, on_timer, SA_RESTART);
		wind_timer();
		program_ready();
		interrupted();
		return 0;
	}
	if (!strcmp(mode, "altstack")) {
		stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};

		if (sigaltstack(&stack, NULL)) {
			perror("sigaltstack");
			return 1;
		}
		handle(SIGUSR1, on_raise, SA_ONSTACK);
	} else {
		handle(SIGUSR1, on_raise, 0);
	}
	program_ready();
	raiser();
	return 0;
}
