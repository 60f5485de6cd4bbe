/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that are switched as often as can be: pairs that hand a byte to each other through pipes,
 * for the seconds that are given; then the number of pairs. "migrate" behind that: each goes to
 * another CPU before it waits. Each thread says its number, its life, its CPU time and how often it
 * waited.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "program.h"

#define PAIRS_MAX 64

static int migrate;

struct side {
	int from, to, first;
	pthread_t thread;
};

static unsigned long long ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void go_to(unsigned long turn)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(turn % sysconf(_SC_NPROCESSORS_ONLN), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static KEPT void hand_over(struct side *side)
{
	char byte = 1;

	if (side->first && write(side->to, &byte, 1) != 1)
		return;
	for (unsigned long turn = 0;; turn++) {
		if (read(side->from, &byte, 1) != 1)
			break;
		if (program_over()) {
			close(side->to);
			break;
		}
		if (migrate)
			go_to(turn);
		if (write(side->to, &byte, 1) != 1)
			break;
	}
	close(side->to);
}

static void *run(void *context)
{
	unsigned long long begin = ns(CLOCK_MONOTONIC);
	struct rusage usage;

	hand_over(context);
	getrusage(RUSAGE_THREAD, &usage);
	printf("%ld %llu %llu %ld\n", syscall(SYS_gettid), ns(CLOCK_MONOTONIC) - begin,
	       ns(CLOCK_THREAD_CPUTIME_ID), usage.ru_nvcsw + usage.ru_nivcsw);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct side sides[2 * PAIRS_MAX];
	int pairs = argc > 2 ? atoi(argv[2]) : 2;

	migrate = argc > 3 && !strcmp(argv[3], "migrate");
	if (pairs < 1 || pairs > PAIRS_MAX)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	program_begin(argc, argv);
	program_ready();
	for (int i = 0; i < 2 * pairs; i += 2) {
		int there[2], back[2];

		if (pipe(there) || pipe(back))
			return 1;
		sides[i] = (struct side){back[0], there[1], 1, 0};
		sides[i + 1] = (struct side){there[0], back[1], 0, 0};
	}
	for (int i = 0; i < 2 * pairs; i++)
		if (pthread_create(&sides[i].thread, NULL, run, &sides[i]))
			return 1;
	for (int i = 0; i < 2 * pairs; i++)
		pthread_join(sides[i].thread, NULL);
	return 0;
}
