/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_VERB_H
#define CMD_VERB_H

/*
 * One function per verb, in the file of that name: options in, rooms wired together, exit status
 * out. argv[0] is the verb. Exit status: 0 done, 1 failed, 2 wrong usage, 3 the kernel or the
 * permissions do not allow it.
 */
int cmd_agent(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_play(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_resolve(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_trace(int argc, char **argv);

struct option;

enum {
	EXIT_USAGE = 2,
	EXIT_NOT_ALLOWED = 3
};

/* "stackcam VERB: MESSAGE" and a pointer to --help, to standard error; returns EXIT_USAGE. */
int cmd_usage(const char *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "stackcam: WORDS" to standard error: what is told of while it goes on, a line from any thread. */
void cmd_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Prints the help of a verb. Where CMD_HELP_EVENTS stands as a part of it, the option -e does, and which events it
 * takes.
 */
#define CMD_HELP_EVENTS "\1"
void cmd_print_help(const char *help);

/*
 * For what getopt_long() returned '?' or ':' for just now, with opterr = 0: names the option and
 * says whether it is unknown, ambiguous, lacks its value, or takes none. options: the table
 * given to getopt_long(), in which every short option must stand, too. Returns EXIT_USAGE.
 */
int cmd_usage_option(const char *verb, char **argv, const struct option *options);

#endif
