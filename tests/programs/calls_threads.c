// SPDX-License-Identifier: Apache-2.0
/*
 * As many threads as the first argument says (1,000), 50 at a time; each calls work() 10 times,
 * every second one ends by pthread_exit() from within leave().
 */
#include <pthread.h>

#include "calls.h"

#define AT_A_TIME 50

KEPT static unsigned long work(unsigned long value)
{
	return value * 2654435761u;
}

KEPT static void leave(unsigned long sum)
{
	pthread_exit((void *)sum);
}

KEPT static void *thread_body(void *argument)
{
	unsigned long number = (unsigned long)argument, sum = 0;

	for (unsigned long i = 0; i < 10; i++)
		sum += work(number + i);
	if (number & 1)
		leave(sum);
	NO_TAIL_CALL();
	return (void *)sum;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	pthread_t threads[AT_A_TIME];

	for (unsigned long done = 0; done < count;) {
		unsigned long now = count - done < AT_A_TIME ? count - done : AT_A_TIME;

		for (unsigned long i = 0; i < now; i++)
			if (pthread_create(&threads[i], NULL, thread_body, (void *)(done + i)))
				return 1;
		for (unsigned long i = 0; i < now; i++) {
			void *sum;

			pthread_join(threads[i], &sum);
			calls_add((unsigned long)sum);
		}
		done += now;
	}
	printf("calls thread_body %lu\ncalls work %lu\ncalls leave %lu\n", count, 10 * count,
	       count / 2);
	return calls_end();
}
