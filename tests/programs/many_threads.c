// SPDX-License-Identifier: Apache-2.0
/*
 * As many sleeping threads as the second argument says (10,000), and two that spin in busy_thread.
 */
#include <pthread.h>
#include <unistd.h>

#include "program.h"

static void *sleeping_thread(void *unused)
{
	for (;;)
		pause();
	return unused;
}

KEPT static void *busy_thread(void *unused)
{
	while (!program_over())
		spin(MILLISECOND);
	return unused;
}

int main(int argc, char **argv)
{
	int sleepers = argc > 2 ? atoi(argv[2]) : 10000;
	pthread_attr_t small;
	pthread_t busy[2], ignored;

	program_begin(argc, argv);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	for (int i = 0; i < sleepers; i++)
		if (pthread_create(&ignored, &small, sleeping_thread, NULL)) {
			fprintf(stderr, "only %d threads\n", i);
			return 1;
		}
	/* The time begins now: making them may have taken longer than it. */
	program_begin(argc, argv);
	program_ready();
	for (int i = 0; i < 2; i++)
		if (pthread_create(&busy[i], NULL, busy_thread, NULL))
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(busy[i], NULL);
	_exit(0);
}
