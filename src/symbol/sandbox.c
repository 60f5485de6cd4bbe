// SPDX-License-Identifier: Apache-2.0
#include "symbol/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/seccomp.h"
#include "base/child.h"
#include "symbol/sandbox_files.h"

/* What malloc, libelf, writing the answers and the end of a process need. */
#define ALLOW(call)                                            \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int allow_calls(bool asks)
{
	const unsigned int of_openat = asks ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO | EACCES;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH_AUDIT, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(read),
		ALLOW(write),
		ALLOW(pread64),
		ALLOW(lseek),
		ALLOW(fstat),
		ALLOW(newfstatat),
		ALLOW(close),
		ALLOW(fcntl),
		ALLOW(mmap),
		ALLOW(munmap),
		ALLOW(mremap),
		ALLOW(mprotect),
		ALLOW(brk),
		ALLOW(madvise),
		ALLOW(futex),
		ALLOW(getrandom),
		ALLOW(exit),
		ALLOW(exit_group),
		ALLOW(rt_sigreturn),
		ALLOW(getpid),
		ALLOW(gettid),
		ALLOW(tgkill),
		ALLOW(rt_sigprocmask),
		ALLOW(rt_sigaction),
		ALLOW(sched_yield),
		ALLOW(sigaltstack),
		ALLOW(clock_gettime),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, of_openat),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	int listener;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				asks ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0, &program);
	/* a container has one already: then these calls fail */
	if (listener < 0 && errno == EBUSY) {
		asks = false;
		listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
	}
	if (listener < 0)
		return -errno;
	if (!asks)
		return 0;
	/* all others are closed: this number is free */
	if (fcntl(listener, F_DUPFD_CLOEXEC, SANDBOX_LISTENER) != SANDBOX_LISTENER)
		return -EMFILE;
	close(listener);
	return 0;
}

/* Bytes of private memory that the process has, as RLIMIT_DATA counts them. */
static int data_size(uint64_t *size)
{
	unsigned long pages;
	FILE *f = fopen("/proc/self/statm", "re");
	int n;

	if (!f)
		return -errno;
	/* size resident shared text lib data */
	n = fscanf(f, "%*u %*u %*u %*u %*u %lu", &pages);
	fclose(f);
	*size = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return n == 1 ? 0 : -EIO;
}

static int limit(__rlimit_resource_t what, uint64_t value)
{
	const struct rlimit r = {value, value};

	return setrlimit(what, &r) ? -errno : 0;
}

static void quit(void)
{
	_exit(1);
}

int sandbox_enter(const int *keep, size_t keep_count, size_t memory, unsigned int seconds,
		  bool asks)
{
	uint64_t has = 0;
	int err;

	child_forget_handlers();
	if (atexit(quit))
		return -ENOMEM;
	err = data_size(&has);
	if (!err)
		err = child_close_others(keep, keep_count);
	if (!err)
		err = limit(RLIMIT_DATA, has + memory);
	if (!err)
		err = limit(RLIMIT_CPU, seconds);
	if (!err)
		err = limit(RLIMIT_CORE, 0);
	return err ? err : allow_calls(asks);
}
