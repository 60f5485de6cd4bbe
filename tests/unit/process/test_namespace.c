// SPDX-License-Identifier: Apache-2.0
/*
 * Programs that cannot be reached by their path: in another mount namespace, and deleted there.
 * Needs the right to mount; the mounts are in a namespace that goes with its only process.
 */
#include "../prelude.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/targets.h"

#define WORD	"-word-of-the-namespace-test-"
#define SKIPPED 77

static char directory[] = "/tmp/stackcam-test-XXXXXX";

static bool copy_self(const char *to)
{
	int in = open("/proc/self/exe", O_RDONLY), out = open(to, O_WRONLY | O_CREAT, 0700);
	struct stat st;
	bool copied = in >= 0 && out >= 0 && !fstat(in, &st) &&
		      sendfile(out, in, NULL, (size_t)st.st_size) == st.st_size;

	close(in);
	close(out);
	return copied;
}

/* Becomes the program "inside", which only this process's namespace has. */
static void enter(const char *program)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", directory, "tmpfs", 0, NULL))
		_exit(SKIPPED);
	if (!copy_self(program))
		_exit(1);
	execl(program, "inside", WORD, program, NULL);
	_exit(2);
}

/* The program: deletes itself, says so, and waits for its end. */
static int inside(const char *program)
{
	unlink(program);
	if (write(STDOUT_FILENO, "x", 1) != 1)
		return 1;
	pause();
	return 0;
}

/* Starts it; 0: it is not permitted. */
static pid_t start(const char *program)
{
	int ready[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		dup2(ready[1], STDOUT_FILENO);
		close(ready[0]);
		close(ready[1]);
		enter(program);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1) {
		waitpid(pid, NULL, 0);
		pid = 0;
	}
	close(ready[0]);
	return pid;
}

static void deleted_in_another_namespace(void **state)
{
	struct targets_listener listener = {0};
	struct targets *targets;
	struct process *p;
	struct image *image = NULL;
	char program[64], root[64], byte;
	pid_t pid;

	(void)state;
	snprintf(program, sizeof(program), "%s/inside", directory);
	pid = start(program);
	if (!pid)
		skip();
	assert_int_equal(targets_new(&listener, &targets), 0);
	p = targets_find(targets, pid);
	assert_non_null(p);
	assert_string_equal(p->exe, program);
	for (size_t i = 0; i < p->mapping_count; i++)
		if (!strcmp(p->mappings[i].image->path, program))
			image = p->mappings[i].image;
	assert_non_null(image);
	snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	assert_string_equal(image->root, root);
	assert_true(image->fd >= 0);
	assert_true(image->is_elf);
	/* it stays readable when nothing else is left */
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(pread(image->fd, &byte, 1, 0), 1);
	assert_int_equal(byte, 0x7f);
	targets_free(targets);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deleted_in_another_namespace),
	};
	int status;

	if (argc == 3 && !strcmp(argv[1], WORD))
		return inside(argv[2]);
	if (geteuid())
		return SKIPPED;
	if (!mkdtemp(directory))
		return 1;
	status = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(directory);
	return status;
}
