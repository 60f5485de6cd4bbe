/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_COMMAND_H
#define CAMERA_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/fail.h"

/* A command that is filmed from its first instruction on ("-- CMD ARG…"). */
struct command {
	pid_t pid;	/* 0: there is none */
	int pidfd;	/* readable when it has ended */
	int go;		/* writing here lets it begin */
	int failed;	/* what exec said comes from here */
	int exec_error; /* what it said: a negative errno, or 0 */
};

/* Makes the process; it waits, before its exec, for command_go(). */
int command_prepare(char *const *argv, struct command *command, struct fail *why);

/* Lets it begin. Fails when the program cannot be executed (-ENOENT, -EACCES …). */
int command_go(struct command *command, char *const *argv, struct fail *why);

/* Waits for its end. Returns its exit status, 128 + n after signal n. */
int command_wait(struct command *command);

/* Ends one that was never let go, and closes what belongs to it. */
void command_free(struct command *command);

#endif
