// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sources/sched/pipe_ends.h"

/* A process that has a copy of a descriptor, and none of the others. */
static pid_t holder(int fd, const int close_too[], size_t count)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	for (size_t i = 0; i < count; i++)
		if (close_too[i] != fd)
			close(close_too[i]);
	for (;;)
		pause();
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static pid_t other_end(int fd, uint8_t descriptor, uint32_t state)
{
	const struct off_cpu_wait wait = {
		.descriptor = descriptor,
		.state = state,
		.arguments = {(uint64_t)fd},
	};
	struct pipe_ends ends = {0};
	pid_t pid = pipe_ends_find(&ends, getpid(), &wait);

	pipe_ends_free(&ends);
	return pid;
}

static pid_t found(int fd)
{
	return other_end(fd, OFF_CPU_FD_PIPE, OFF_CPU_STATE_SLEEPS);
}

/* Its own copies of both ends do not hide the one other process; a second one does. */
static void test_one_other_process(void **state)
{
	pid_t writer, second;
	int both[2];

	(void)state;
	assert_int_equal(pipe(both), 0);
	assert_int_equal(found(both[0]), 0);
	writer = holder(both[1], both, 2);
	/* until it has closed the end that it does not need, nothing speaks against it */
	assert_int_equal(found(both[0]), writer);
	assert_int_equal(other_end(both[0], OFF_CPU_FD_FILE, OFF_CPU_STATE_SLEEPS), 0);
	assert_int_equal(other_end(both[0], OFF_CPU_FD_PIPE, 0), 0);
	close(both[1]);
	assert_int_equal(found(both[0]), writer);
	second = fork();
	if (!second) {
		/* the writer's end is not this process's any more: no child has it */
		for (;;)
			pause();
	}
	assert_int_equal(found(both[0]), writer);
	end(second);
	end(writer);
	assert_int_equal(found(both[0]), 0);
	close(both[0]);
}

static void test_several(void **state)
{
	pid_t first, second;
	int both[2];

	(void)state;
	assert_int_equal(pipe(both), 0);
	first = holder(both[1], both, 2);
	second = holder(both[1], both, 2);
	assert_int_equal(found(both[0]), 0);
	end(second);
	assert_int_equal(found(both[0]), first);
	end(first);
	close(both[0]);
	close(both[1]);
}

/* A pipe with a name: each end was opened by that; a file of the same folder is none. */
static void try_with_a_name(char *folder)
{
	char path[64], other[64];
	int both[2], file;
	pid_t writer;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/fifo", folder);
	snprintf(other, sizeof(other), "%s/file", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	file = open(other, O_CREAT | O_RDONLY, 0600);
	both[0] = open(path, O_RDONLY | O_NONBLOCK);
	both[1] = open(path, O_WRONLY);
	assert_true(file >= 0 && both[0] >= 0 && both[1] >= 0);
	assert_int_equal(found(both[0]), 0);
	assert_int_equal(found(file), 0);
	writer = holder(both[1], both, 2);
	close(both[1]);
	assert_int_equal(found(both[0]), writer);
	unlink(path);
	assert_int_equal(found(both[0]), writer);
	end(writer);
	assert_int_equal(found(both[0]), 0);
	close(both[0]);
	close(file);
	unlink(other);
	rmdir(folder);
}

static void test_with_a_name(void **state)
{
	char folder[] = "/tmp/stackcam-ends-XXXXXX", memory[] = "/dev/shm/stackcam-ends-XXXXXX";

	(void)state;
	try_with_a_name(folder);
	/* not the path of a device */
	try_with_a_name(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_other_process),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_with_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
