// SPDX-License-Identifier: Apache-2.0
/*
 * Threads that wait for what is known: wait_for_time, wait_for_mutex, wait_for_condition,
 * wait_for_pipe, wait_for_disk and long_wait, which waits from before "ready" to the end. At the
 * end each prints a line: its thread id, the name of that function, and of the span that it looked
 * at, in ns: how long the function took by the clock, how long the thread had a CPU (its clock),
 * and how long it was ready without one (/proc/thread-self/schedstat); and how often it waited.
 *
 * With a second argument, "storm", two threads hand a byte to and fro instead, as fast as they can.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "program.h"

#define TURN_NS 20000000L

static pthread_barrier_t all_there;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static unsigned long turns;
static volatile int is_over;
static int to_reader[2], to_long[2];

/*
 * Time that the machine has not given to anyone: to interrupts, and to what else runs on the host.
 * The kernel counts it as no thread's.
 */
static uint64_t stolen(void)
{
	unsigned long long irq = 0, softirq = 0, steal = 0;
	FILE *f = fopen("/proc/stat", "r");

	if (f && fscanf(f, "cpu %*u %*u %*u %*u %*u %llu %llu %llu", &irq, &softirq, &steal) != 3)
		irq = softirq = steal = 0;
	if (f)
		fclose(f);
	return (irq + softirq + steal) * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

struct span {
	uint64_t clock, on_cpu, ready, waits;
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t ready_time(void)
{
	unsigned long long ready = 0;
	FILE *f = fopen("/proc/thread-self/schedstat", "r");

	if (f && fscanf(f, "%*u %llu", &ready) != 1)
		ready = 0;
	if (f)
		fclose(f);
	return ready;
}

/* Not the first number of that file, which is as old as the last tick. */
static uint64_t cpu_time(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

static uint64_t waits(void)
{
	struct rusage used;

	getrusage(RUSAGE_THREAD, &used);
	return (uint64_t)used.ru_nvcsw;
}

/* The looking itself is not a part of the span. */
static struct span look_before(void)
{
	struct span span = {.ready = ready_time(), .waits = waits()};

	span.on_cpu = cpu_time();
	span.clock = now();
	return span;
}

static struct span look_after(void)
{
	struct span span = {.clock = now()};

	span.on_cpu = cpu_time();
	span.ready = ready_time();
	span.waits = waits();
	return span;
}

KEPT static void pause_a_turn(void)
{
	struct timespec turn = {0, TURN_NS};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &turn, NULL);
}

/* A mutex that is free is not asked for all the time. */
KEPT static void rest(void)
{
	struct timespec millisecond = {0, 1000000};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &millisecond, NULL);
}

KEPT static void wait_for_time(void)
{
	pause_a_turn();
	NO_TAIL_CALL();
}

KEPT static void wait_for_mutex(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	NO_TAIL_CALL();
}

KEPT static void wait_for_condition(void)
{
	unsigned long seen;

	pthread_mutex_lock(&guard);
	seen = turns;
	while (turns == seen && !is_over)
		pthread_cond_wait(&condition, &guard);
	pthread_mutex_unlock(&guard);
	NO_TAIL_CALL();
}

KEPT static void wait_for_pipe(void)
{
	char byte;

	if (read(to_reader[0], &byte, 1) < 0)
		perror("read");
	NO_TAIL_CALL();
}

KEPT static void wait_for_disk(void)
{
	static char block[4096];
	char path[] = "waits-XXXXXX";
	int fd = mkstemp(path);

	if (fd >= 0) {
		unlink(path);
		if (write(fd, block, sizeof(block)) < 0 || fsync(fd))
			perror("write");
		close(fd);
	}
	NO_TAIL_CALL();
}

KEPT static void long_wait(void)
{
	char byte;

	if (read(to_long[0], &byte, 1) < 0)
		perror("read");
	NO_TAIL_CALL();
}

/* Ends what the others wait for, once a turn. */
KEPT static void let_go(void)
{
	pthread_mutex_lock(&mutex);
	pause_a_turn();
	pthread_mutex_unlock(&mutex);
	pthread_mutex_lock(&guard);
	turns++;
	pthread_cond_broadcast(&condition);
	pthread_mutex_unlock(&guard);
	if (write(to_reader[1], "x", 1) < 0)
		perror("write");
}

struct body {
	const char *name;
	void (*wait)(void);
};

/* What happens below it is what the thread looks at. */
KEPT static uint64_t live(const struct body *body)
{
	uint64_t in_it = 0, began;

	while (!is_over) {
		began = now();
		body->wait();
		in_it += now() - began;
		rest();
	}
	return in_it;
}

static void *thread(void *argument)
{
	const struct body *body = argument;
	struct span from, to;
	uint64_t in_it;

	pthread_setname_np(pthread_self(), body->name);
	pthread_barrier_wait(&all_there);
	from = look_before();
	in_it = live(body);
	to = look_after();
	printf("%ld %s %llu %llu %llu %llu %llu\n", syscall(SYS_gettid), body->name,
	       (unsigned long long)in_it, (unsigned long long)(to.clock - from.clock),
	       (unsigned long long)(to.on_cpu - from.on_cpu),
	       (unsigned long long)(to.ready - from.ready),
	       (unsigned long long)(to.waits - from.waits));
	return NULL;
}

/* Hands bytes from one pipe to the other. */
static void *hand_on(void *argument)
{
	const int *pipes = argument;
	char byte;

	while (read(pipes[0], &byte, 1) == 1 && write(pipes[1], &byte, 1) == 1)
		;
	close(pipes[1]);
	return NULL;
}

static int storm(void)
{
	int there[2], back[2], others[2];
	unsigned long handed = 0;
	pthread_t other;
	cpu_set_t first;
	char byte = 0;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	sched_setaffinity(0, sizeof(first), &first);
	if (pipe(there) || pipe(back))
		return 1;
	others[0] = there[0];
	others[1] = back[1];
	if (pthread_create(&other, NULL, hand_on, others))
		return 1;
	program_ready();
	while (!program_over() && write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1)
		handed++;
	close(there[1]);
	pthread_join(other, NULL);
	printf("handed %lu\n", handed);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct body bodies[] = {
		{"wait_for_time", wait_for_time},	    {"wait_for_mutex", wait_for_mutex},
		{"wait_for_pipe", wait_for_pipe},	    {"wait_for_disk", wait_for_disk},
		{"wait_for_condition", wait_for_condition}, {"long_wait", long_wait},
	};
	enum {
		COUNT = sizeof(bodies) / sizeof(bodies[0])
	};
	pthread_t threads[COUNT];
	uint64_t end, before;

	program_begin(argc, argv);
	if (argc > 2 && !strcmp(argv[2], "storm"))
		return storm();
	pthread_barrier_init(&all_there, NULL, COUNT + 1);
	if (pipe(to_reader) || pipe(to_long))
		return 1;
	for (int i = 0; i < COUNT; i++)
		if (pthread_create(&threads[i], NULL, thread, (void *)&bodies[i]))
			return 1;
	pthread_barrier_wait(&all_there);
	program_ready();
	before = stolen();
	end = now() + (uint64_t)(program_seconds * 1e9);
	while (now() < end) {
		let_go();
		pause_a_turn();
	}
	is_over = 1;
	let_go();
	if (write(to_long[1], "x", 1) < 0)
		perror("write");
	for (int i = 0; i < COUNT; i++)
		pthread_join(threads[i], NULL);
	printf("stolen %llu\n", (unsigned long long)(stolen() - before));
	return 0;
}
