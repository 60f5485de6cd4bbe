// SPDX-License-Identifier: Apache-2.0
/*
 * Time: on_cpu() computes until its thread has used MS milliseconds of CPU time (first argument,
 * 200); asleep() sleeps as long; waits_for_lock() waits as long for a lock that another thread
 * holds, which begins to count when it sees it wait.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"

COUNTED(on_cpu);
COUNTED(asleep);
COUNTED(waits_for_lock);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t held;
static atomic_int wants_lock;
static long ms;

static long used_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return used.tv_sec * 1000000000l + used.tv_nsec;
}

KEPT static void on_cpu(void)
{
	long begin = used_ns();

	CALLED(on_cpu);
	while (used_ns() - begin < ms * 1000000)
		;
}

static void sleep_all(void)
{
	struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	while (nanosleep(&left, &left))
		;
}

KEPT static void asleep(void)
{
	CALLED(asleep);
	sleep_all();
	NO_TAIL_CALL();
}

/* Whether the first thread sleeps, as the kernel says it. */
static int is_asleep(void)
{
	FILE *stat = fopen("/proc/self/stat", "r");
	char state = 0;

	if (!stat)
		return 1;
	/* its name has no parenthesis */
	if (fscanf(stat, "%*[^)]) %c", &state) != 1)
		state = 'S';
	fclose(stat);
	return state == 'S';
}

static void *holder(void *unused)
{
	pthread_mutex_lock(&lock);
	pthread_barrier_wait(&held);
	while (!atomic_load(&wants_lock) || !is_asleep())
		usleep(1000);
	sleep_all();
	pthread_mutex_unlock(&lock);
	return unused;
}

KEPT static void waits_for_lock(void)
{
	CALLED(waits_for_lock);
	atomic_store(&wants_lock, 1);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	pthread_t other;

	ms = argc > 1 ? atol(argv[1]) : 200;
	on_cpu();
	asleep();
	pthread_barrier_init(&held, NULL, 2);
	if (pthread_create(&other, NULL, holder, NULL))
		return 1;
	pthread_barrier_wait(&held);
	waits_for_lock();
	pthread_join(other, NULL);
	TELL(on_cpu);
	TELL(asleep);
	TELL(waits_for_lock);
	return calls_end();
}
