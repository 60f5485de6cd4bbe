/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_RECORDING_H
#define CMD_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "record/camera.h"
#include "process/command.h"
#include "record/session.h"
#include "film/labels.h"
#include "film/writer.h"
#include "process/select.h"

/* What the verbs that record have in common. */

/* Their options: short ones, and rows for the table given to getopt_long(). */
#define RECORDING_SHORT_TARGETS "ap:t:n:"
#define RECORDING_LONG_TARGETS                                                                 \
	{"all", no_argument, NULL, 'a'}, {"pid", required_argument, NULL, 'p'},                \
		{"tid", required_argument, NULL, 't'}, {"name", required_argument, NULL, 'n'}, \
	{                                                                                      \
		"cgroup", required_argument, NULL, RECORDING_OPT_CGROUP                        \
	}
#define RECORDING_SHORT_OPTIONS RECORDING_SHORT_TARGETS "d:o:qu:"
#define RECORDING_LONG_OPTIONS                                                               \
	RECORDING_LONG_TARGETS, {"duration", required_argument, NULL, 'd'},                  \
		{"output", required_argument, NULL, 'o'}, {"quiet", no_argument, NULL, 'q'}, \
		{"verbose", no_argument, NULL, RECORDING_OPT_VERBOSE},                       \
		{"user", required_argument, NULL, 'u'},                                      \
		{"no-randomize-addr", no_argument, NULL, RECORDING_OPT_NO_RANDOMIZE_ADDR},   \
		{"label", required_argument, NULL, RECORDING_OPT_LABEL},                     \
	{                                                                                    \
		"no-children", no_argument, NULL, RECORDING_OPT_NO_CHILDREN                  \
	}

enum {
	RECORDING_OPT_CGROUP = 1000,
	RECORDING_OPT_NO_CHILDREN,
	RECORDING_OPT_LABEL,
	RECORDING_OPT_NO_RANDOMIZE_ADDR,
	RECORDING_OPT_VERBOSE
};

struct recording_options {
	struct selection selection;
	double seconds; /* 0: until something else ends it */
	const char *film;
	char labels[FILM_LABELS_SIZE]; /* of the film */
	bool quiet;
	bool verbose; /* the kernel's words, too */
	/* of the command */
	struct command_user *user;
	bool no_randomize_addr;
};

void recording_options_free(struct recording_options *options);

/*
 * Parses optarg of one of these options. Returns 0, an exit status with all said, or -1: it is none
 * of them.
 */
int recording_parse_option(const char *verb, int option, struct recording_options *options);

/* Whether the targets go together. Returns 0, or an exit status with all said. */
int recording_check_options(const char *verb, struct recording_options *options);

/*
 * Whether there is such a command, before an older film makes way for one without it. Returns 0, or
 * -ENOENT or -EACCES with *why filled and command->exec_error set.
 */
int recording_check_command(char *const *argv, struct command *command, struct fail *why);

/* Says which names of -n no process has yet, unless options->quiet is set. done: "filmed" … */
void recording_say_absent(const struct recording_options *options, const char *done);

/* The command, whether it is filmed or not; null: none was given. */
char *const *recording_argv(const struct recording_options *options);

/* How the command is to be started. */
struct command_options recording_command(const struct recording_options *options);

/* A film at path for a recording of this command line; path null: one that is kept nowhere. */
int recording_create_film(const char *path, const char *labels, int argc, char **argv,
			  struct film_writer **film, struct fail *why);

/* A recording from its start until its film is closed. */
struct recording {
	const struct recording_options *options;
	struct session session;
	struct film_writer *film;
	uint64_t film_bytes; /* out */
};
/*
 * Where no command waits for that, it says that it has begun: scripts that start a load must know.
 */
int recording_run(struct recording *recording, struct fail *why);

/*
 * The exit status for the shell: the command's own status, or why there is none. err: of the
 * recording.
 */
int recording_exit_status(struct command *command, int err, const struct fail *why);

#endif
