// SPDX-License-Identifier: Apache-2.0
#include "cmd/mcp_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/text.h"

#define SELF	    "/proc/self/exe"
#define PRINTED_MAX 8192 /* bytes */
#define GRACE_MS    5000 /* from an interrupt to the end of its film */

extern char **environ;

static int spawn(char *const argv[], int out, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int err = posix_spawn_file_actions_init(&actions);

	if (err)
		return -err;
	err = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, out, 1);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, out, 2);
	if (!err)
		err = posix_spawn(pid, SELF, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

/*
 * What a child prints, until it has closed its end: true; false: the time is over. *left_out: bytes
 * that there was no room for.
 */
static bool read_all(int fd, uint64_t until, char *to, size_t *count, size_t *left_out)
{
	char rest[512];

	for (;;) {
		uint64_t now = clock_ns();
		struct pollfd readable = {.fd = fd, .events = POLLIN};
		size_t room = PRINTED_MAX - *count;
		ssize_t n;

		if (now >= until)
			return false;
		if (poll(&readable, 1, (int)((until - now) / 1000000) + 1) <= 0)
			continue;
		n = room ? read(fd, to + *count, room) : read(fd, rest, sizeof(rest));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return true;
		*(room ? count : left_out) += (size_t)n;
	}
}

static void put(char *text, FILE *out)
{
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		text_print_safe(out, line);
		fputc('\n', out);
	}
}

int mcp_child_run(char *const argv[], unsigned int seconds, FILE *out, int *status,
		  struct fail *why)
{
	char text[PRINTED_MAX + 1];
	uint64_t until = clock_ns() + seconds * 1000000000ull;
	size_t count = 0, left_out = 0;
	int ends[2], err, state = 0;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return fail_errno(why, -errno, NULL, "cannot run stackcam %s", argv[1]);
	err = spawn(argv, ends[1], &pid);
	close(ends[1]);
	if (err) {
		close(ends[0]);
		return fail_errno(why, err, NULL, "cannot run stackcam %s", argv[1]);
	}
	if (!read_all(ends[0], until, text, &count, &left_out)) {
		kill(pid, SIGINT);
		if (!read_all(ends[0], clock_ns() + GRACE_MS * 1000000ull, text, &count, &left_out))
			kill(pid, SIGKILL);
	}
	close(ends[0]);
	while (waitpid(pid, &state, 0) < 0 && errno == EINTR)
		;
	text[count] = 0;
	put(text, out);
	if (left_out)
		fprintf(out, "[cut: %zu bytes left out]\n", left_out);
	*status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
	return 0;
}
