// SPDX-License-Identifier: Apache-2.0
#include "camera/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child: waits for the word, then becomes the command. */
static void __attribute__((noreturn)) become(char *const *argv, int go, int failed)
{
	sigset_t none;
	char word;
	int err;

	if (read(go, &word, 1) != 1)
		_exit(127);
	/* the recorder blocks signals to read them from a descriptor; a program expects them open */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	execvp(argv[0], argv);
	err = errno;
	if (write(failed, &err, sizeof(err)) != sizeof(err))
		_exit(126);
	_exit(err == ENOENT ? 127 : 126);
}

int command_prepare(char *const *argv, struct command *command, struct fail *why)
{
	int go[2] = {-1, -1}, failed[2] = {-1, -1}, err;

	*command = (struct command){.pidfd = -1, .go = -1, .failed = -1};
	if (pipe2(go, O_CLOEXEC) || pipe2(failed, O_CLOEXEC))
		goto failed;
	command->pid = fork();
	if (command->pid < 0) {
		command->pid = 0;
		goto failed;
	}
	if (!command->pid) {
		close(go[1]);
		close(failed[0]);
		become(argv, go[0], failed[1]);
	}
	close(go[0]);
	close(failed[1]);
	command->go = go[1];
	command->failed = failed[0];
	command->pidfd = (int)syscall(SYS_pidfd_open, command->pid, 0);
	if (command->pidfd >= 0)
		return 0;
	err = -errno;
	command_free(command);
	return fail_errno(why, err, NULL, "cannot watch '%s'", argv[0]);
failed:
	err = -errno;
	for (int i = 0; i < 2; i++) {
		if (go[i] >= 0)
			close(go[i]);
		if (failed[i] >= 0)
			close(failed[i]);
	}
	return fail_errno(why, err, NULL, "cannot start '%s'", argv[0]);
}

int command_go(struct command *command, char *const *argv, struct fail *why)
{
	int said = 0;
	ssize_t got;

	if (write(command->go, "", 1) != 1)
		return fail_errno(why, -errno, NULL, "cannot start '%s'", argv[0]);
	close(command->go);
	command->go = -1;
	/* a successful exec closes the other end */
	do
		got = read(command->failed, &said, sizeof(said));
	while (got < 0 && errno == EINTR);
	close(command->failed);
	command->failed = -1;
	if (got <= 0)
		return 0;
	command_wait(command);
	command->exec_error = -said;
	return fail_errno(why, -said, "check its name and that it may be executed",
			  "cannot execute '%s'", argv[0]);
}

int command_wait(struct command *command)
{
	int status = 0;

	if (!command->pid)
		return 0;
	while (waitpid(command->pid, &status, 0) < 0 && errno == EINTR)
		;
	command->pid = 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void command_free(struct command *command)
{
	/* the end of this pipe is also the word to give up */
	if (command->go >= 0) {
		close(command->go);
		command_wait(command);
	}
	if (command->failed >= 0)
		close(command->failed);
	if (command->pidfd >= 0)
		close(command->pidfd);
	command->pidfd = command->go = command->failed = -1;
}
