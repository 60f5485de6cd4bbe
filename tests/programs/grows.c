// SPDX-License-Identifier: Apache-2.0
/*
 * Gets memory in each way, a function for each, and says on standard output what it got: a line
 * "FUNCTION BYTES" each.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "program.h"

#define PAGE	   4096UL
#define MIB	   (1UL << 20)
#define HUGE	   (2 * MIB)

#define FILE_BYTES (128 * MIB)

static void said(const char *name, size_t bytes)
{
	printf("%s %zu\n", name, bytes);
	fflush(stdout);
}

static char *map(size_t bytes, int flags, int fd)
{
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (at == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return at;
}

static void touch(volatile char *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += PAGE)
		at[i] = 1;
}

KEPT static char *small_pages(void)
{
	char *at = map(64 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	madvise(at, 64 * MIB, MADV_NOHUGEPAGE);
	touch(at, 64 * MIB);
	said(__func__, 64 * MIB);
	return at;
}

KEPT static void huge_pages(void)
{
	char *at = map(128 * MIB + HUGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	at = (char *)(((unsigned long)at + HUGE - 1) & -HUGE);
	madvise(at, 128 * MIB, MADV_HUGEPAGE);
	touch(at, 128 * MIB);
	said(__func__, 128 * MIB);
}

KEPT static void shared_pages(void)
{
	touch(map(16 * MIB, MAP_SHARED | MAP_ANONYMOUS, -1), 16 * MIB);
	said(__func__, 16 * MIB);
}

/* What was never written is the same page of zeros everywhere. */
KEPT static void zero_pages(void)
{
	volatile char *at = map(32 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	char sum = 0;

	for (size_t i = 0; i < 32 * MIB; i += PAGE)
		sum += at[i];
	said(__func__, sum);
}

/* The kernel writes to the memory. */
KEPT static void filled_by_kernel(void)
{
	char *at = map(16 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	for (size_t i = 0; i < 16 * MIB; i += PAGE)
		if (read(fd, at + i, PAGE) != (ssize_t)PAGE)
			exit(1);
	close(fd);
	said(__func__, 16 * MIB);
}

KEPT static void copies_of_a_file(int fd)
{
	touch(map(8 * MIB, MAP_PRIVATE, fd), 8 * MIB);
	said(__func__, 8 * MIB);
}

static size_t faults(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (size_t)(used.ru_minflt + used.ru_majflt);
}

/* A fault brings a page and what else of the file is at hand near it. */
KEPT static void pages_of_a_file(int fd)
{
	volatile char *at = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	size_t before = faults();
	char sum = 0;

	for (size_t i = 0; i < FILE_BYTES; i += PAGE)
		sum += at[i];
	said(__func__, faults() - before + (unsigned int)sum);
}

KEPT static void copies_of_the_parent(char *at)
{
	touch(at, 16 * MIB);
	said(__func__, 16 * MIB);
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/stackcam-grows-XXXXXX";
	const char *folder = argc > 1 ? argv[1] : NULL;
	int fd = folder && !chdir(folder) ? mkstemp(path + strlen("/tmp/")) : mkstemp(path);
	char *small;
	pid_t child;

	unlink(folder ? path + strlen("/tmp/") : path);
	if (fd < 0 || ftruncate(fd, FILE_BYTES))
		return 1;
	small = small_pages();
	huge_pages();
	shared_pages();
	zero_pages();
	filled_by_kernel();
	copies_of_a_file(fd);
	pages_of_a_file(fd);
	child = fork();
	if (!child) {
		copies_of_the_parent(small);
		_exit(0);
	}
	return waitpid(child, NULL, 0) != child;
}
