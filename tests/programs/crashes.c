// SPDX-License-Identifier: Apache-2.0
/*
 * A server of a kind that dies. Its threads: "worker" counts orders under a lock, "waiter" waits
 * for another lock that "holder" has all the time, and "sleeper" sleeps. The first thread reads
 * lines:
 *
 *	segv	the worker reads an address that is not mapped, in lookup_order()
 *	abort	the worker calls abort(), in check_total()
 *	kill	the process sends itself SIGKILL
 *	ignored	it sends itself SIGCHLD, and SIGUSR1, for which it has a handler
 *	hang	from now on, the worker waits for the lock that holder has
 *	end	it ends with status 0
 *
 * It answers each with the line "done", if it can.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "program.h"

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all;
static volatile char wish;
static volatile unsigned long orders;

__attribute__((noinline)) int lookup_order(volatile int *order)
{
	int total = *order;

	orders += (unsigned long)total;
	return total;
}

__attribute__((noinline)) void check_total(void)
{
	abort();
}

__attribute__((noinline)) void work(void)
{
	volatile int order = 1;

	lookup_order(wish == 's' ? (volatile int *)0x18 : &order);
	if (wish == 'a')
		check_total();
	if (wish == 'h')
		pthread_mutex_lock(&held);
}

static void begin(const char *name)
{
	prctl(PR_SET_NAME, name);
	pthread_barrier_wait(&all);
}

static void *run_worker(void *unused)
{
	begin("worker");
	for (;;) {
		work();
		usleep(1000);
	}
	return unused;
}

static void *run_holder(void *unused)
{
	pthread_mutex_lock(&held);
	begin("holder");
	pause();
	return unused;
}

static void *run_waiter(void *unused)
{
	begin("waiter");
	pthread_mutex_lock(&held);
	return unused;
}

static void *run_sleeper(void *unused)
{
	begin("sleeper");
	for (;;)
		sleep(1000);
	return unused;
}

static void handle(int number)
{
	(void)number;
}

static void obey(const char *line)
{
	if (!strncmp(line, "end", 3))
		exit(0);
	if (!strncmp(line, "kill", 4))
		kill(getpid(), SIGKILL);
	if (!strncmp(line, "ignored", 7)) {
		kill(getpid(), SIGCHLD);
		kill(getpid(), SIGUSR1);
		return;
	}
	wish = line[0];
}

int main(void)
{
	void *(*const threads[])(void *) = {run_holder, run_worker, run_sleeper};
	char line[64];
	pthread_t thread;

	signal(SIGUSR1, handle);
	pthread_barrier_init(&all, NULL, 4);
	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
		pthread_create(&thread, NULL, threads[i], NULL);
	pthread_barrier_wait(&all);
	pthread_barrier_destroy(&all);
	pthread_barrier_init(&all, NULL, 2);
	pthread_create(&thread, NULL, run_waiter, NULL);
	pthread_barrier_wait(&all);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		obey(line);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
