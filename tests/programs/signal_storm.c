// SPDX-License-Identifier: Apache-2.0
/* A signal every 50 µs, whose handler storm_handler spins for 10 µs, interrupts storm_body. */
#include <signal.h>

#include "program.h"

KEPT static void storm_handler(int number)
{
	(void)number;
	spin(MILLISECOND / 100);
}

KEPT static void storm_body(void)
{
	while (!program_over())
		spin(MILLISECOND / 10);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = storm_handler, .sa_flags = SA_RESTART};
	struct itimerspec every = {.it_interval.tv_nsec = 50000, .it_value.tv_nsec = 50000};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	timer_t timer;

	program_begin(argc, argv);
	if (sigaction(SIGUSR1, &action, NULL) || timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &every, NULL)) {
		perror("timer");
		return 1;
	}
	program_ready();
	storm_body();
	return 0;
}
