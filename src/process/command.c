// SPDX-License-Identifier: Apache-2.0
#include "process/command.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"

/* What did not work before the command's first instruction. */
enum step {
	STEP_USER,
	STEP_ADDRESSES,
	STEP_ENVIRONMENT,
	STEP_EXEC,
};

struct said {
	enum step step;
	int err; /* errno */
};

int command_user_find(const char *name, struct command_user **result, struct fail *why)
{
	const struct passwd *found;
	struct command_user *user;
	uint64_t number;

	errno = 0;
	found = getpwnam(name);
	if (!found && !text_parse_u64(name, 0, UINT32_MAX - 1, &number))
		found = getpwuid((uid_t)number);
	if (!found && errno && errno != ENOENT && errno != ESRCH)
		return fail_errno(why, -errno, NULL, "cannot look up user '%s'", name);
	if (!found)
		return fail(why, -ENOENT, "'getent passwd' lists all", "there is no user '%s'",
			    name);
	user = calloc(1, sizeof(*user));
	if (!user)
		return fail_errno(why, -ENOMEM, NULL, "cannot look up user '%s'", name);
	user->uid = found->pw_uid;
	user->gid = found->pw_gid;
	user->name = strdup(found->pw_name);
	user->home = strdup(*found->pw_dir ? found->pw_dir : "/");
	user->shell = strdup(*found->pw_shell ? found->pw_shell : "/bin/sh");
	if (user->name && user->home && user->shell) {
		*result = user;
		return 0;
	}
	command_user_free(user);
	return fail_errno(why, -ENOMEM, NULL, "cannot look up user '%s'", name);
}

void command_user_free(struct command_user *user)
{
	if (!user)
		return;
	free(user->name);
	free(user->home);
	free(user->shell);
	free(user);
}

static int become_user(const struct command_user *user)
{
	/* the groups first: only root may change them */
	if (initgroups(user->name, user->gid) || setresgid(user->gid, user->gid, user->gid) ||
	    setresuid(user->uid, user->uid, user->uid))
		return -1;
	return setenv("HOME", user->home, 1) || setenv("SHELL", user->shell, 1) ||
			       setenv("USER", user->name, 1) || setenv("LOGNAME", user->name, 1)
		       ? -1
		       : 0;
}

static int set_variable(const struct command_variable *variable)
{
	const char *before = variable->is_list ? getenv(variable->name) : NULL;
	char *value;
	int err;

	if (!before || !*before)
		return setenv(variable->name, variable->value, 1);
	if (asprintf(&value, "%s:%s", variable->value, before) < 0)
		return -1;
	err = setenv(variable->name, value, 1);
	free(value);
	return err;
}

/* Returns which step failed, with errno set. */
static enum step execute(const struct command_options *options)
{
	const struct command_environment *environment = options->environment;
	int persona;

	if (options->user && become_user(options->user))
		return STEP_USER;
	for (size_t i = 0; environment && i < environment->count; i++)
		if (set_variable(&environment->at[i]))
			return STEP_ENVIRONMENT;
	if (options->no_randomize_addr) {
		persona = personality(0xffffffff);
		if (persona < 0 || personality((unsigned long)persona | ADDR_NO_RANDOMIZE) < 0)
			return STEP_ADDRESSES;
	}
	execvp(options->argv[0], options->argv);
	return STEP_EXEC;
}

/* In the child: waits for the word, then becomes the command. */
static void __attribute__((noreturn))
become(const struct command_options *options, int go, int failed)
{
	struct said said;
	sigset_t none;
	char word;

	if (read(go, &word, 1) != 1)
		_exit(127);
	/*
	 * the recorder blocks signals to read them from a descriptor; a program expects them open
	 */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	said.step = execute(options);
	said.err = errno;
	if (write(failed, &said, sizeof(said)) != sizeof(said))
		_exit(126);
	_exit(said.step == STEP_EXEC && said.err == ENOENT ? 127 : 126);
}

int command_prepare(const struct command_options *options, struct command *command,
		    struct fail *why)
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
		become(options, go[0], failed[1]);
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
	return fail_errno(why, err, NULL, "cannot watch '%s'", options->argv[0]);
failed:
	err = -errno;
	for (int i = 0; i < 2; i++) {
		if (go[i] >= 0)
			close(go[i]);
		if (failed[i] >= 0)
			close(failed[i]);
	}
	return fail_errno(why, err, NULL, "cannot start '%s'", options->argv[0]);
}

static int start_failed(struct command *command, const struct said *said, const char *name,
			struct fail *why)
{
	switch (said->step) {
	case STEP_USER:
		return fail_errno(why, -said->err, "-u needs root", "cannot run '%s' as that user",
				  name);
	case STEP_ADDRESSES:
		return fail_errno(why, -said->err, "leave out --no-randomize-addr",
				  "cannot fix the addresses of '%s'", name);
	case STEP_ENVIRONMENT:
		return fail_errno(why, -said->err, NULL, "cannot set the environment of '%s'",
				  name);
	default:
		command->exec_error = -said->err;
		return fail_errno(why, -said->err, "check its name and that it may be executed",
				  "cannot execute '%s'", name);
	}
}

int command_go(struct command *command, char *const *argv, struct fail *why)
{
	struct said said = {0};
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
	return start_failed(command, &said, argv[0], why);
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
