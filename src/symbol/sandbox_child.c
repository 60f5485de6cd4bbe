// SPDX-License-Identifier: Apache-2.0
#include "symbol/sandbox_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "symbol/sandbox.h"

#define WAIT_FACTOR  2		 /* seconds that are waited for one of its CPU */
#define ANSWER_LIMIT (32u << 20) /* bytes that the child may say */
#define KEEP_MAX     8

void sandbox_say(int pipe, struct buf *said)
{
	if (said->failed || file_write_all(pipe, said->at, said->count))
		_exit(1);
	said->count = 0;
}

static int64_t milliseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Everything that comes until the pipe is closed. */
static int hear(int pipe, unsigned int seconds, struct buf *said)
{
	int64_t deadline = milliseconds() + (int64_t)seconds * 1000;
	uint8_t *piece = malloc(SANDBOX_SAY_AT);
	int err = piece ? 0 : -ENOMEM;

	while (!err) {
		struct pollfd p = {.fd = pipe, .events = POLLIN};
		int64_t left = deadline - milliseconds();
		ssize_t n;

		if (left <= 0 || poll(&p, 1, (int)left) == 0) {
			err = -ETIMEDOUT;
			break;
		}
		n = read(pipe, piece, SANDBOX_SAY_AT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			err = n < 0 ? -errno : 0;
			break;
		}
		if (said->count + (size_t)n > ANSWER_LIMIT)
			err = -E2BIG;
		else
			buf_put(said, piece, (size_t)n);
	}
	free(piece);
	return said->failed ? -ENOMEM : err;
}

static _Noreturn void child(pid_t parent, int pipe, const int *keep, size_t keep_count,
			    const struct sandbox_limits *limits,
			    void (*work)(void *context, int pipe, int err), void *context)
{
	int kept[KEEP_MAX + 1] = {pipe};
	int err = -EINVAL;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	for (size_t i = 0; i < keep_count && i < KEEP_MAX; i++)
		kept[i + 1] = keep[i];
	if (keep_count <= KEEP_MAX)
		err = sandbox_enter(kept, keep_count + 1, limits->memory, limits->cpu_seconds);
	work(context, pipe, err);
	_exit(0);
}

int sandbox_run(const int *keep, size_t keep_count, const struct sandbox_limits *limits,
		void (*work)(void *context, int pipe, int err), void *context, struct buf *said)
{
	pid_t parent = getpid(), pid;
	int ends[2], err;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid < 0) {
		err = -errno;
		close(ends[0]);
		close(ends[1]);
		return err;
	}
	if (!pid) {
		close(ends[0]);
		child(parent, ends[1], keep, keep_count, limits, work, context);
	}
	close(ends[1]);
	err = hear(ends[0], WAIT_FACTOR * limits->cpu_seconds, said);
	close(ends[0]);
	if (err)
		kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return err;
}
