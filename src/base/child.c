// SPDX-License-Identifier: Apache-2.0
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void child_forget_handlers(void)
{
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool is_kept(int fd, const int *keep, size_t keep_count)
{
	for (size_t i = 0; i < keep_count; i++)
		if (keep[i] == fd)
			return true;
	return false;
}

int child_close_others(const int *keep, size_t keep_count)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC), from = 3;

	if (nothing < 0)
		return -errno;
	for (int i = 0; i < 3; i++)
		if (!is_kept(i, keep, keep_count) && dup2(nothing, i) < 0)
			return -errno;
	while (from < INT_MAX) {
		int next = INT_MAX;

		for (size_t i = 0; i < keep_count; i++)
			if (keep[i] >= from && keep[i] < next)
				next = keep[i];
		if (next > from && close_range((unsigned int)from, (unsigned int)next - 1, 0))
			return -errno;
		from = next == INT_MAX ? next : next + 1;
	}
	return 0;
}

void child_reap(pid_t child, int milliseconds)
{
	struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN};

	if (ended.fd >= 0) {
		(void)poll(&ended, 1, milliseconds);
		close(ended.fd);
	}
	while (waitpid(child, NULL, WNOHANG) < 0 && errno == EINTR)
		;
}
