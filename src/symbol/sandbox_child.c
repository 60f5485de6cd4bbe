// SPDX-License-Identifier: Apache-2.0
#include "symbol/sandbox_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "symbol/sandbox.h"

#define WAIT_FACTOR  2		 /* seconds that are waited for one of its CPU */
#define ANSWER_LIMIT (32u << 20) /* bytes that the child may say */
#define KEEP_MAX     8
#define REAP_MS	     1000
#define CHECK_MS     500
#define MEET_S	     5

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

/* What the parent has of a child that runs. */
struct running {
	int pipe;     /* what it says */
	int listener; /* what it asks for; -1: nothing */
	const struct sandbox_files *files;
	unsigned int opened;
	const int *keep;
	size_t keep_count;
	bool is_far; /* some of them */
};

/* Waits for what the child says; -EAGAIN: it has only asked for a file. */
static int wait_for(struct running *child, int64_t left)
{
	struct pollfd fds[] = {{.fd = child->pipe, .events = POLLIN},
			       {.fd = child->listener, .events = POLLIN}};

	if (left <= 0 || poll(fds, 2, (int)left) == 0)
		return -ETIMEDOUT;
	if (fds[0].revents)
		return 0;
	if (fds[1].revents & POLLIN) {
		sandbox_files_answer(child->listener, child->files, &child->opened);
	} else if (fds[1].revents) {
		/* it has ended, or is about to */
		close(child->listener);
		child->listener = -1;
	}
	return -EAGAIN;
}

/*
 * The same for a part of the time, if its files are far: then it may wait for one that does not
 * come any more, which is asked for.
 */
static int wait_for_far(struct running *child, int64_t left)
{
	int err = wait_for(child, left < CHECK_MS ? left : CHECK_MS);

	if (err != -ETIMEDOUT || left <= CHECK_MS)
		return err;
	for (size_t i = 0; i < child->keep_count; i++)
		if (file_check(child->keep[i]))
			return err;
	return -EAGAIN;
}

/* Everything that comes until the pipe is closed. */
static int hear(struct running *child, unsigned int seconds, struct buf *said)
{
	int64_t deadline = milliseconds() + (int64_t)seconds * 1000;
	uint8_t *piece = malloc(SANDBOX_SAY_AT);
	int err = piece ? 0 : -ENOMEM;

	while (!err) {
		ssize_t n;

		err = child->is_far ? wait_for_far(child, deadline - milliseconds())
				    : wait_for(child, deadline - milliseconds());
		if (err == -EAGAIN) {
			err = 0;
			continue;
		}
		if (err)
			break;
		n = read(child->pipe, piece, SANDBOX_SAY_AT);
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

/*
 * The child has its filter, and waits for the parent to have its end: without one, files that it
 * asks for are not there.
 */
static void meet_parent(int meeting)
{
	char byte = 0;

	(void)!write(meeting, &byte, 1);
	(void)!read(meeting, &byte, 1);
	close(meeting);
	close(SANDBOX_LISTENER);
}

/* Returns the listener, or -1. */
static int meet_child(int meeting, pid_t child)
{
	const struct timeval patience = {.tv_sec = MEET_S};
	int listener = -1;
	char byte;

	/* nothing comes where it could not enter the sandbox */
	setsockopt(meeting, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (read(meeting, &byte, 1) == 1) {
		listener = sandbox_files_listen(child);
		(void)!write(meeting, &byte, 1);
	}
	return listener < 0 ? -1 : listener;
}

/*
 * Of a far file the child reads the file itself, by the same number: its libraries do not ask a
 * helper, and it may be left behind, which the recorder may not. False: it does not answer.
 */
static bool bring_near(int fd)
{
	char path[32];
	int place, near;

	if (!file_is_far(fd))
		return true;
	place = file_place(fd);
	if (place < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	near = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return near >= 0 && dup2(near, fd) == fd;
}

static _Noreturn void child(pid_t parent, int pipe, int meeting, const int *keep, size_t keep_count,
			    const struct sandbox_limits *limits,
			    void (*work)(void *context, int pipe, int err), void *context)
{
	int kept[KEEP_MAX + 2] = {pipe, meeting};
	int err = -EINVAL;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	for (size_t i = 0; i < keep_count && i < KEEP_MAX; i++) {
		kept[i + 2] = keep[i];
		if (!bring_near(keep[i]))
			_exit(1);
	}
	if (keep_count <= KEEP_MAX)
		err = sandbox_enter(kept, keep_count + 2, limits->memory, limits->cpu_seconds,
				    meeting >= 0);
	if (!err && meeting >= 0)
		meet_parent(meeting);
	work(context, pipe, err);
	_exit(0);
}

static void close_pair(const int pair[2])
{
	for (int i = 0; i < 2; i++)
		if (pair[i] >= 0)
			close(pair[i]);
}

int sandbox_run(const int *keep, size_t keep_count, const struct sandbox_limits *limits,
		const struct sandbox_files *files, void (*work)(void *context, int pipe, int err),
		void *context, struct buf *said)
{
	struct running running = {
		.listener = -1, .files = files, .keep = keep, .keep_count = keep_count};
	pid_t parent = getpid(), pid;
	int ends[2], meeting[2] = {-1, -1}, err;

	for (size_t i = 0; i < keep_count; i++) {
		running.is_far |= file_is_far(keep[i]);
		if (file_check(keep[i]))
			return -ETIMEDOUT;
	}
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	err = files && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, meeting) ? -errno : 0;
	pid = err ? -1 : fork();
	if (pid < 0) {
		err = err ? err : -errno;
		close(ends[0]);
		close(ends[1]);
		close_pair(meeting);
		return err;
	}
	if (!pid) {
		close(ends[0]);
		child(parent, ends[1], meeting[1], keep, keep_count, limits, work, context);
	}
	close(ends[1]);
	running.pipe = ends[0];
	if (files) {
		close(meeting[1]);
		meeting[1] = -1;
		running.listener = meet_child(meeting[0], pid);
	}
	close_pair(meeting);
	err = hear(&running, WAIT_FACTOR * limits->cpu_seconds, said);
	close(ends[0]);
	if (running.listener >= 0)
		close(running.listener);
	if (err)
		kill(pid, SIGKILL);
	/*
	 * it ends by itself if nothing was wrong; if it waits for a file, later than is waited for
	 */
	child_reap(pid, REAP_MS);
	return err;
}
