// SPDX-License-Identifier: Apache-2.0
/*
 * Holds memory of each kind, and says how much: lines of a name and bytes; then "ready", and
 * ends with its standard input.
 *
 *	in_use, free	of the main heap, in chunks of 1000 bytes; every other one is given back
 *	small_free	the same with chunks of 100 bytes, which stay in lists of their own
 *	thread_in_use, thread_free	of the arena of a thread that waits
 *	large		allocations with a mapping of their own
 *	shared, file, stack, unknown	mappings
 */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB   (1ul << 20)
#define COUNT 20000

static void *checked(void *memory)
{
	if (!memory || memory == MAP_FAILED)
		exit(1);
	return memory;
}

static void *filled(size_t bytes)
{
	return memset(checked(malloc(bytes)), 1, bytes);
}

/* Every other one is given back. Both are as large as their chunks are. */
static void holes(size_t bytes, size_t *in_use, size_t *is_free)
{
	static __thread void *all[COUNT];

	for (size_t i = 0; i < COUNT; i++)
		all[i] = filled(bytes);
	for (size_t i = 0; i < COUNT; i++) {
		*(i % 2 ? is_free : in_use) += malloc_usable_size(all[i]) + 8;
		if (i % 2)
			free(all[i]);
	}
}

static size_t thread_in_use, thread_free;
static pthread_barrier_t done;

static void *of_a_thread(void *unused)
{
	volatile char *on_stack = __builtin_alloca(2 * MIB);

	for (size_t i = 0; i < 2 * MIB; i += 4096)
		on_stack[i] = 1;
	holes(1000, &thread_in_use, &thread_free);
	pthread_barrier_wait(&done);
	pause();
	return unused;
}

static void *mapped(size_t bytes, int flags, int fd)
{
	return checked(mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0));
}

int main(int argc, char **argv)
{
	size_t in_use = 0, is_free = 0, small_in_use = 0, small_free = 0;
	int fd = open(argc > 1 ? argv[1] : "/proc/self/exe", argc > 1 ? O_RDWR | O_CREAT : O_RDONLY,
		      0600);
	pthread_t thread;
	char byte;

	if (argc > 1 && ftruncate(fd, 5 * MIB))
		return 1;
	/* so that no mapping of another kind touches the arena of the thread */
	pthread_barrier_init(&done, NULL, 2);
	if (pthread_create(&thread, NULL, of_a_thread, NULL))
		return 1;
	pthread_barrier_wait(&done);
	holes(100, &small_in_use, &small_free);
	holes(1000, &in_use, &is_free);
	filled(7 * MIB);
	filled(6 * MIB);
	memset(mapped(3 * MIB, MAP_SHARED | MAP_ANONYMOUS, -1), 1, 3 * MIB);
	if (argc > 1)
		memset(mapped(5 * MIB, MAP_SHARED, fd), 1, 5 * MIB);
	/* a page that nothing uses between it and its neighbours */
	memset((char *)mapped(4 * MIB + 8192, MAP_PRIVATE | MAP_ANONYMOUS, -1) + 4096, 0xaa,
	       4 * MIB);
	printf("in_use %zu\nfree %zu\nsmall_free %zu\n", in_use + small_in_use, is_free,
	       small_free);
	printf("thread_in_use %zu\nthread_free %zu\n", thread_in_use, thread_free);
	printf("large %lu\nshared %lu\nfile %lu\nstack %lu\nunknown %lu\nready\n", 13 * MIB,
	       3 * MIB, argc > 1 ? 5 * MIB : 0, 2 * MIB, 4 * MIB);
	fflush(stdout);
	return read(0, &byte, 1) ? 2 : 0;
}
