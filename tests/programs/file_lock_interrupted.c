// SPDX-License-Identifier: Apache-2.0
/*
 * A signal interrupts the wait for a lock of a file. Then the same thread waits in fcntl(2) again,
 * but for memory: a page that another thread brings in later (userfaultfd). FILE is locked by
 * another process. Says how long each of both waits took, in ns.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define PAGE	4096
#define HELD_US 200000

static int faults;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void nothing(int number)
{
	(void)number;
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static void *bring(void *page)
{
	struct uffdio_zeropage zero = {.range = {(uintptr_t)page, PAGE}};
	struct uffd_msg fault;

	if (read(faults, &fault, sizeof(fault)) != sizeof(fault))
		fail("read");
	usleep(HELD_US);
	if (ioctl(faults, UFFDIO_ZEROPAGE, &zero))
		fail("UFFDIO_ZEROPAGE");
	return NULL;
}

int main(int argc, char **argv)
{
	const struct sigaction interrupts = {.sa_handler = nothing};
	const struct itimerval soon = {.it_value.tv_usec = HELD_US};
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register range = {.range = {(uintptr_t)page, PAGE},
					.mode = UFFDIO_REGISTER_MODE_MISSING};
	struct uffdio_api api = {.api = UFFD_API};
	pthread_t thread;
	sigset_t alarms;
	uint64_t began;
	int file;

	file = argc == 2 ? open(argv[1], O_RDWR) : -1;
	if (file < 0)
		fail("FILE");
	faults = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (faults < 0 || ioctl(faults, UFFDIO_API, &api) || ioctl(faults, UFFDIO_REGISTER, &range))
		fail("userfaultfd");
	sigaction(SIGALRM, &interrupts, NULL);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarms, NULL);
	if (pthread_create(&thread, NULL, bring, page))
		fail("pthread_create");
	pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);

	setitimer(ITIMER_REAL, &soon, NULL);
	began = now();
	if (fcntl(file, F_SETLKW, &lock) != -1 || errno != EINTR)
		fail("the lock was to be waited for");
	printf("lock %llu\n", (unsigned long long)(now() - began));
	began = now();
	fcntl(file, F_GETLK, page);
	printf("memory %llu\n", (unsigned long long)(now() - began));
	pthread_join(thread, NULL);
	return 0;
}
