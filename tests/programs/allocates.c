// SPDX-License-Identifier: Apache-2.0
/*
 * Allocates known amounts in functions of their own, in every way that C has, frees most, and
 * prints what each function has allocated and what it still holds, in bytes:
 *
 *	NAME ALLOCATED HELD
 *
 *	allocates [THREADS [fork|exec|few|old|long [FILE]|dlopen LIBRARY]]
 *
 * The functions run in THREADS threads (1) at once. "leaks" is the one that holds most of what it
 * has got. With fork, a child does the same once more; with exec, the program is executed anew.
 * few: a thousandth of all. old: three seconds later, leaks runs once more, and "again NS" says how
 * long before the end that was, and another 0.2 s. long: all runs three
 * times between "begins" and the sums, and then FILE is made.
 */
#ifndef STATIC
#include <dlfcn.h>
#endif
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>

#include "program.h"

#define KIB 1024ul
#define MIB (1024ul * KIB)

enum {
	SMALL,
	LARGE,
	CLEARED,
	MOVED,
	ALIGNED,
	LEAKS,
	FUNCTIONS
};

/* How much of all: 1000, or 1. */
static unsigned long scale = 1000;

static const char *const names[FUNCTIONS] = {"small", "large",	 "cleared",
					     "moved", "aligned", "leaks"};
static unsigned long allocated[FUNCTIONS], held[FUNCTIONS];

static void count(int function, unsigned long got, unsigned long kept)
{
	__atomic_fetch_add(&allocated[function], got, __ATOMIC_RELAXED);
	__atomic_fetch_add(&held[function], kept, __ATOMIC_RELAXED);
}

/* What a compiler cannot leave out. */
static void use(void *memory)
{
	if (!memory)
		exit(1);
	__asm__ volatile("" : : "r"(memory) : "memory");
}

/* Blocks of some hundred bytes, each given back at once. */
static void KEPT small(void)
{
	unsigned long got = 0;

	for (unsigned long i = 0; got < 400 * KIB * scale; i++) {
		unsigned long size = 100 + i * 37 % 300;
		void *memory = malloc(size);

		use(memory);
		free(memory);
		got += size;
	}
	count(SMALL, got, 0);
}

static void KEPT large(void)
{
	unsigned long times = scale / 10 + 1;

	for (unsigned long i = 0; i < times; i++) {
		void *memory = malloc(3 * MIB);

		use(memory);
		free(memory);
	}
	count(LARGE, times * 3 * MIB, 0);
}

/* The last quarter stays. */
static void KEPT cleared(void)
{
	for (unsigned long i = 0; i < 200 * scale; i++) {
		void *memory = calloc(16, 64);

		use(memory);
		if (i < 150 * scale)
			free(memory);
	}
	count(CLEARED, 200 * scale * KIB, 50 * scale * KIB);
}

/* Blocks grow from 1 to 64 KiB: what each step asks for counts, and what the last one has. */
static void KEPT moved(void)
{
	unsigned long got = 0, kept = 0;

	for (unsigned long i = 0; i < scale; i++) {
		void *memory = NULL;

		for (unsigned long size = KIB; size <= 64 * KIB; size *= 2) {
			memory = realloc(memory, size);
			use(memory);
			got += size;
		}
		kept += 64 * KIB;
	}
	count(MOVED, got, kept);
}

static void KEPT aligned(void)
{
	for (unsigned long i = 0; i < 20 * scale; i++) {
		void *a = NULL, *b = aligned_alloc(64, 4 * KIB), *c = memalign(256, 4 * KIB);

		if (posix_memalign(&a, 4096, 4 * KIB))
			exit(1);
		use(a);
		use(b);
		use(c);
		free(a);
		free(b);
		free(c);
	}
	count(ALIGNED, 3 * 20 * scale * 4 * KIB, 0);
}

static void KEPT leaks(void)
{
	unsigned long got = 0, kept = 0;

	for (int i = 0; got < 200 * KIB * scale; i++) {
		void *memory = malloc(2000);

		use(memory);
		got += 2000;
		if (i % 10)
			kept += 2000;
		else
			free(memory);
	}
	count(LEAKS, got, kept);
}

static void *all(void *unused)
{
	small();
	large();
	cleared();
	moved();
	aligned();
	leaks();
	return unused;
}

static void print(void)
{
	for (int i = 0; i < FUNCTIONS; i++)
		printf("%s %lu %lu\n", names[i], allocated[i], held[i]);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;
	const char *what = argc > 2 ? argv[2] : "";
	pthread_t made[64];
	int status = 0;
	struct timespec again = {0}, end;
	pid_t child;

#ifndef STATIC
	if (!strcmp(what, "dlopen") && (argc < 4 || !dlopen(argv[3], RTLD_NOW)))
		return 1;
#endif
	if (!strcmp(what, "exec")) {
		free(malloc(MIB));
		execl("/proc/self/exe", argv[0], argv[1], NULL);
		return 1;
	}
	if (!strcmp(what, "few"))
		scale = 1;
	if (!strcmp(what, "long")) {
		puts("begins");
		fflush(stdout);
		all(NULL);
		all(NULL);
	}
	for (int i = 0; i < threads && i < 64; i++)
		if (pthread_create(&made[i], NULL, all, NULL))
			return 1;
	for (int i = 0; i < threads && i < 64; i++)
		pthread_join(made[i], NULL);
	if (!strcmp(what, "fork")) {
		child = fork();
		if (!child) {
			all(NULL);
			_exit(0);
		}
		if (child < 0 || waitpid(child, &status, 0) != child || status)
			return 1;
	}
	if (!strcmp(what, "old")) {
		sleep(3);
		clock_gettime(CLOCK_MONOTONIC, &again);
		leaks();
	}
	print();
	clock_gettime(CLOCK_MONOTONIC, &end);
	if (again.tv_sec)
		printf("again %ld\n", (end.tv_sec - again.tv_sec) * 1000000000 + end.tv_nsec -
					      again.tv_nsec + 200000000);
	return !strcmp(what, "long") && argc > 3 && creat(argv[3], 0600) < 0;
}
