// SPDX-License-Identifier: Apache-2.0
/*
 * Other processes: forks while parent() is open; parent and child call on. Then starts this program
 * anew, by vfork() and exec, and by posix_spawn(): it calls fresh() twice each. All of them count
 * in one page that they share, which the started ones get as a descriptor.
 */
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"

/* The order in which they are printed. */
enum counter {
	PARENT,
	BOTH,
	CHILD,
	FRESH,
	COUNTERS
};
static const char *const names[] = {"parent", "both", "child", "fresh"};
static unsigned long *counters;

static inline __attribute__((always_inline)) void called(enum counter counter)
{
	__atomic_fetch_add(&counters[counter], 1, __ATOMIC_RELAXED);
}

KEPT static void both(void)
{
	called(BOTH);
}

KEPT static void child(void)
{
	called(CHILD);
	both();
	both();
	NO_TAIL_CALL();
}

KEPT static void fresh(void)
{
	called(FRESH);
}

static void expect(pid_t pid, int wanted)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != wanted)
		exit(1);
}

KEPT static void parent(void)
{
	pid_t pid;

	called(PARENT);
	both();
	pid = fork();
	if (!pid) {
		child();
		_exit(7);
	}
	both();
	expect(pid, 7);
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? atoi(argv[1]) : memfd_create("counters", 0);
	char number[16];
	char *again[] = {argv[0], number, NULL};
	pid_t pid;

	if (fd < 0 || (argc == 1 && ftruncate(fd, 4096)))
		return 1;
	counters = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counters == MAP_FAILED)
		return 1;
	if (argc > 1) {
		fresh();
		fresh();
		_exit(9);
	}
	snprintf(number, sizeof(number), "%d", fd);
	for (int i = 0; i < 5; i++)
		parent();
	for (int i = 0; i < 3; i++) {
		pid = vfork();
		if (!pid) {
			execv("/proc/self/exe", again);
			_exit(1);
		}
		expect(pid, 9);
		if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, again, environ))
			return 1;
		expect(pid, 9);
	}
	for (int i = 0; i < COUNTERS; i++) {
		printf("calls %s %lu\n", names[i], counters[i]);
		calls_add(counters[i]);
	}
	return calls_end();
}
