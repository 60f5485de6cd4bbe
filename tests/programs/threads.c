// SPDX-License-Identifier: Apache-2.0
/*
 * Four threads named worker-0 … worker-3, each in a function of its own, thread_0 … thread_3. At
 * the end prints, a line each, how many nanoseconds of CPU time they had.
 */
#include <pthread.h>

#include "program.h"

static pthread_barrier_t all_there;

static void print_time(const char *name)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	printf("%s %lld\n", name, used.tv_sec * 1000000000LL + used.tv_nsec);
}

#define THREAD(number)                                                 \
	KEPT static void *thread_##number(void *unused)                \
	{                                                              \
		pthread_setname_np(pthread_self(), "worker-" #number); \
		pthread_barrier_wait(&all_there);                      \
		while (!program_over())                                \
			spin(MILLISECOND);                             \
		print_time("thread_" #number);                         \
		return unused;                                         \
	}

THREAD(0)
THREAD(1)
THREAD(2)
THREAD(3)

int main(int argc, char **argv)
{
	void *(*const bodies[])(void *) = {thread_0, thread_1, thread_2, thread_3};
	pthread_t threads[4];

	program_begin(argc, argv);
	pthread_barrier_init(&all_there, NULL, 5);
	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, bodies[i], NULL))
			return 1;
	pthread_barrier_wait(&all_there);
	program_ready();
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
