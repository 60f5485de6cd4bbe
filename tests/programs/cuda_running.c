// SPDX-License-Identifier: Apache-2.0
/*
 * Launches kernels, copies and waits on a device that cuda_driver.c stands for, in as many threads
 * as its argument says, as long as it runs. Each line of its input has one answer:
 *
 *	run	they begin, or go on
 *	rest	none of them is in a call of the driver from then on
 *	state	numbers: what kernels and copies took, ns; what they should have taken by the calls
 *		that were made; how much the profiling library has made records for; calls that
 *		failed; words of the driver library that are not as they were at the start
 *	fork	a child calls the driver, and ends; to be asked when they rest
 *
 * It ends with its input.
 */
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>

#include "cuda_driver.h"
#include "program.h"

#define THREADS_MAX 64
#define COPIED	    4096

static const struct driver_kernel saxpy = {"_Z5saxpyPfPKffi", 20000}, reduce = {"reduce", 7000};
static const struct driver_graph graph = {2, {&saxpy, &reduce}};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int is_running, working;
static uint64_t expected_ns, failed;

/* What the entries of these functions jump through. */
static void *const entries[] = {
	(void *)cuLaunchKernel,	     (void *)cuGraphLaunch,	(void *)cuMemcpyHtoDAsync_v2,
	(void *)cuMemcpyPeerAsync,   (void *)cuMemsetD8Async,	(void *)cuMemcpyDtoH_v2,
	(void *)cuMemAlloc_v2,	     (void *)cuMemAllocAsync,	(void *)cuCtxSynchronize,
	(void *)cuStreamSynchronize, (void *)cuEventSynchronize};
#define ENTRIES (sizeof(entries) / sizeof(entries[0]))
static uint64_t words_at_first[ENTRIES];

/* The jump is behind a cmpl of ten bytes and a je of two: ff 25, and a distance of 32 bits. */
static uint64_t word_of(const void *entry)
{
	const uint8_t *jump = (const uint8_t *)entry + 12;
	int32_t distance;

	if (jump[0] != 0xff || jump[1] != 0x25)
		exit(2);
	memcpy(&distance, jump + 2, sizeof(distance));
	return __atomic_load_n((const uint64_t *)(jump + 6 + distance), __ATOMIC_RELAXED);
}

static void check(int result, uint64_t ns)
{
	__atomic_fetch_add(&failed, result != 0, __ATOMIC_RELAXED);
	__atomic_fetch_add(&expected_ns, ns, __ATOMIC_RELAXED);
}

KEPT static void turn(int i)
{
	static char pageable[COPIED];
	void *stream = (void *)(uintptr_t)(1 + i % 8);

	check(cuLaunchKernel(&saxpy, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL), saxpy.ns);
	check(cuGraphLaunch(&graph, stream), saxpy.ns + reduce.ns);
	check(cuMemcpyHtoDAsync_v2(0x1000, pageable, COPIED, stream), DRIVER_COPY_NS(COPIED));
	check(cuMemcpyPeerAsync(0x1000, NULL, 0x2000, NULL, COPIED, stream),
	      DRIVER_COPY_NS(COPIED));
	check(cuMemsetD8Async(0x1000, 0, COPIED, stream), DRIVER_COPY_NS(COPIED));
	NO_TAIL_CALL();
}

static void *work(void *number)
{
	pthread_mutex_lock(&lock);
	for (int i = (int)(intptr_t)number;; i++) {
		while (!is_running)
			pthread_cond_wait(&changed, &lock);
		working++;
		pthread_mutex_unlock(&lock);
		turn(i);
		pthread_mutex_lock(&lock);
		working--;
		pthread_cond_broadcast(&changed);
	}
	return NULL;
}

static void set(int to)
{
	pthread_mutex_lock(&lock);
	is_running = to;
	pthread_cond_broadcast(&changed);
	while (!to && working)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void print_state(void)
{
	struct driver_truth truth;
	unsigned int other = 0;
	uint64_t ns = 0;

	driver_truth_of(&truth);
	for (int i = 0; i < DRIVER_TAGS; i++)
		ns += truth.kernels_ns[i];
	for (size_t i = 0; i < ENTRIES; i++)
		other += word_of(entries[i]) != words_at_first[i];
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %u\n", ns,
	       __atomic_load_n(&expected_ns, __ATOMIC_RELAXED), truth.recorded_ns,
	       __atomic_load_n(&failed, __ATOMIC_RELAXED), other);
}

/* It has what words lead to, but none of the threads. */
static void fork_child(void)
{
	pid_t child = fork();
	int status = 1;

	if (!child)
		_exit(cuLaunchKernel(&saxpy, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		exit(3);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t thread;
	char line[16];

	if (count < 1 || count > THREADS_MAX || cuInit(0))
		return 1;
	for (size_t i = 0; i < ENTRIES; i++)
		words_at_first[i] = word_of(entries[i]);
	for (int i = 0; i < count; i++)
		if (pthread_create(&thread, NULL, work, (void *)(intptr_t)i))
			return 1;
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "run\n"))
			set(1);
		else if (!strcmp(line, "rest\n"))
			set(0);
		else if (!strcmp(line, "fork\n"))
			fork_child();
		if (!strcmp(line, "state\n"))
			print_state();
		else
			printf("done\n");
		fflush(stdout);
	}
	set(0);
	return 0;
}
