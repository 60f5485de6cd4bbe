/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_COMMAND_H
#define PROCESS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/fail.h"

/* A user as whom a command runs, with the environment of a login: HOME, SHELL, USER, LOGNAME. */
struct command_user {
	uid_t uid;
	gid_t gid;
	char *name, *home, *shell;
};

/*
 * name: of a user, or a number of one. Returns 0, or a negative errno with *why filled (-ENOENT:
 * there is none).
 */
int command_user_find(const char *name, struct command_user **user, struct fail *why);
void command_user_free(struct command_user *user);

/* A variable of a command's environment. */
struct command_variable {
	char name[32];
	char value[512];
	bool is_list; /* what it had before stays, behind a colon */
};

#define COMMAND_VARIABLES_MAX 8
struct command_environment {
	struct command_variable at[COMMAND_VARIABLES_MAX];
	size_t count;
};

/* How a command is started. */
struct command_options {
	char *const *argv;
	const struct command_user *user; /* null: as stackcam itself */
	/* its memory lies at the same addresses each time (personality(2)) */
	bool no_randomize_addr;
	const struct command_environment *environment; /* what is added to it; null: nothing */
};

/* A command that is filmed from its first instruction on ("-- CMD ARG…"). */
struct command {
	pid_t pid;	/* 0: there is none */
	int pidfd;	/* readable when it has ended */
	int go;		/* writing here lets it begin */
	int failed;	/* what went wrong before its first instruction comes from here */
	int exec_error; /* what exec said: a negative errno, or 0 */
};

/* Makes the process; it waits, before its exec, for command_go(). */
int command_prepare(const struct command_options *options, struct command *command,
		    struct fail *why);

/*
 * Lets it begin. Fails when the program cannot be executed (-ENOENT, -EACCES …), or not as that
 * user (-EPERM).
 */
int command_go(struct command *command, char *const *argv, struct fail *why);

/* Waits for its end. Returns its exit status, 128 + n after signal n. */
int command_wait(struct command *command);

/* Ends one that was never let go, and closes what belongs to it. */
void command_free(struct command *command);

#endif
