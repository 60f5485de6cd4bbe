/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that are switched as often as can be: pairs that hand a byte to each other through pipes,
 * for the seconds that are given; then the number of pairs. "migrate" behind that: each goes to
 * another CPU before it waits. A line for each thread has its number, its life, its CPU time, how
 * often it was switched, and how much longer its life may be: it waits for a CPU before, too, and
 * once more after it.
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
	long tid, switches;
	unsigned long long made, begin, end, cpu; /* ns */
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
	struct side *side = context;
	struct rusage usage;

	side->begin = ns(CLOCK_MONOTONIC);
	hand_over(side);
	getrusage(RUSAGE_THREAD, &usage);
	side->switches = usage.ru_nvcsw + usage.ru_nivcsw;
	side->tid = syscall(SYS_gettid);
	side->cpu = ns(CLOCK_THREAD_CPUTIME_ID);
	side->end = ns(CLOCK_MONOTONIC);
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
		sides[i] = (struct side){.from = back[0], .to = there[1], .first = 1};
		sides[i + 1] = (struct side){.from = there[0], .to = back[1]};
	}
	for (struct side *side = sides; side < sides + 2 * pairs; side++) {
		side->made = ns(CLOCK_MONOTONIC);
		if (pthread_create(&side->thread, NULL, run, side))
			return 1;
	}
	for (struct side *side = sides; side < sides + 2 * pairs; side++) {
		pthread_join(side->thread, NULL);
		printf("%ld %llu %llu %ld %llu\n", side->tid, side->end - side->begin, side->cpu,
		       side->switches, side->begin - side->made + ns(CLOCK_MONOTONIC) - side->end);
	}
	return 0;
}
