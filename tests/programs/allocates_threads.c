// SPDX-License-Identifier: Apache-2.0
/*
 * allocates_threads THREADS [signals | shared]: threads that do nothing but allocate, change, check
 * and give back memory, until standard input ends. Each turn of a thread has the same sum. The
 * first thread sleeps, waits with time limits and calculates meanwhile, and checks what it gets.
 * With "signals", it also gets one each millisecond. With "shared", one of the others has the slot
 * of the first thread in stackcam's library (inject/memory_places.h). For each byte that it reads,
 * held() gets a thousand blocks of 1000 bytes, which it keeps; the program then says so.
 *
 * In the end it says: turns, the sum of a turn, turns with another sum, what was wrong in the first
 * thread, and the bytes that held() has got.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "../../inject/memory_places.h"

#define KEPT  __attribute__((noinline, noclone))
#define SLOTS 64

static volatile int is_over;
static volatile sig_atomic_t signals;

struct worker {
	pthread_t thread;
	unsigned long turns, bad;
	uint64_t sum;
};

static void *KEPT get(uint64_t random, size_t size)
{
	void *memory = NULL;

	switch (random % 4) {
	case 0:
		return malloc(size);
	case 1:
		return calloc(size, 1);
	case 2:
		return posix_memalign(&memory, 64, size) ? NULL : memory;
	default:
		memory = malloc(size / 2 + 1);
		return memory ? realloc(memory, size) : NULL;
	}
}

static uint64_t turn(void)
{
	unsigned char *at[SLOTS] = {0};
	size_t sizes[SLOTS] = {0};
	uint64_t random = 88172645463325252ull, sum = 0;

	for (int i = 0; i < 2000; i++) {
		size_t slot;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		slot = random % SLOTS;
		if (at[slot]) {
			for (size_t j = 0; j < sizes[slot]; j += 61)
				sum = sum * 31 + at[slot][j];
			free(at[slot]);
		}
		sizes[slot] = random >> 20 & (random >> 60 ? 1023 : 65535);
		at[slot] = get(random >> 8, sizes[slot] + 1);
		if (!at[slot])
			abort();
		memset(at[slot], (int)(random >> 40 & 255), sizes[slot] + 1);
	}
	for (int i = 0; i < SLOTS; i++)
		free(at[i]);
	return sum;
}

static void *work(void *context)
{
	struct worker *worker = context;

	while (!is_over) {
		uint64_t sum = turn();

		worker->bad += worker->turns && sum != worker->sum;
		worker->sum = sum;
		worker->turns++;
	}
	return NULL;
}

static void on_signal(int number)
{
	(void)number;
	signals++;
}

/* What a thread must not see: calls that end early, numbers that are others. */
static unsigned long look(int is_signalled)
{
	static double first;
	static int queue = -1;
	struct epoll_event event;
	const struct timespec pause = {.tv_nsec = 300000};
	double sum = 0;
	unsigned long bad = 0;

	if (queue < 0)
		queue = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_wait(queue, &event, 1, 1) < 0)
		bad += !(is_signalled && errno == EINTR);
	bad += nanosleep(&pause, NULL) && !(is_signalled && errno == EINTR);
	for (int i = 1; i < 2000; i++)
		sum = sum * 0.75 + 1.0 / i;
	if (first == 0)
		first = sum;
	return bad + (first != sum);
}

static void *volatile kept;

static size_t KEPT held(void)
{
	for (int i = 0; i < 1000; i++) {
		void **memory = malloc(1000);

		if (!memory)
			abort();
		*memory = kept;
		kept = memory;
	}
	puts("held");
	fflush(stdout);
	return 1000000;
}

#define STACK (256ul << 10)

static uint64_t slot_of(uint64_t thread)
{
	return thread * MEMORY_THREAD_HASH >> MEMORY_THREAD_SHIFT & MEMORY_THREAD_MASK;
}

static void *say_self(void *context)
{
	*(uint64_t *)context = (uint64_t)pthread_self();
	return NULL;
}

/* A thread's pointer is at a fixed distance from its stack: one that fits is looked for. */
static void share_slot(pthread_attr_t *attributes)
{
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t self = 0, first = (uint64_t)pthread_self();
	pthread_t thread;

	if (stack == MAP_FAILED || pthread_attr_setstack(attributes, stack, STACK) ||
	    pthread_create(&thread, attributes, say_self, &self) || pthread_join(thread, NULL))
		abort();
	for (uint64_t at = 1ull << 40;; at += 4096) {
		if (slot_of(at + (self - (uint64_t)stack)) != slot_of(first))
			continue;
		stack = mmap((void *)at, STACK, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (stack != MAP_FAILED)
			break;
	}
	if (pthread_attr_setstack(attributes, stack, STACK))
		abort();
}

int main(int argc, char **argv)
{
	const char *word = argc > 2 ? argv[2] : "";
	int count = argc > 1 ? atoi(argv[1]) : 0, is_signalled = !strcmp(word, "signals");
	pthread_attr_t attributes;
	struct worker *workers = calloc((size_t)count + 1, sizeof(*workers));
	struct pollfd input = {.fd = 0, .events = POLLIN};
	unsigned long turns = 0, bad = 0, wrong = 0, bytes = 0;
	sigset_t set;

	if (!workers || count < 1)
		return 2;
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	signal(SIGALRM, on_signal);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_attr_init(&attributes);
	if (!strcmp(word, "shared"))
		share_slot(&attributes);
	for (int i = 0; i < count; i++)
		pthread_create(&workers[i].thread, i ? NULL : &attributes, work, &workers[i]);
	if (is_signalled) {
		const struct itimerval timer = {{0, 1000}, {0, 1000}};

		pthread_sigmask(SIG_UNBLOCK, &set, NULL);
		setitimer(ITIMER_REAL, &timer, NULL);
	}
	puts("ready");
	fflush(stdout);
	for (;;) {
		int got = poll(&input, 1, 1);
		char byte;

		if (got > 0 && read(0, &byte, 1) != 1)
			break;
		if (got > 0)
			bytes += held();
		wrong += got < 0 && !(is_signalled && errno == EINTR);
		wrong += look(is_signalled);
	}
	is_over = 1;
	for (int i = 0; i < count; i++) {
		pthread_join(workers[i].thread, NULL);
		turns += workers[i].turns;
		bad += workers[i].bad;
	}
	printf("turns %lu sum %lu bad %lu wrong %lu held %lu\n", turns,
	       (unsigned long)workers[0].sum, bad, wrong, bytes);
	return 0;
}
