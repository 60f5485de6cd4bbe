/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_VERB_H
#define CMD_VERB_H

/*
 * One function per verb, in the file of that name: it parses options, connects rooms and returns an
 * exit status. argv[0] is the verb. Exit status: 0 done, 1 failed, 2 wrong usage, 3 not allowed by
 * the kernel or permissions.
 */
int cmd_agent(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_keep(int argc, char **argv);
int cmd_upload(int argc, char **argv);
int cmd_mcp(int argc, char **argv);
int cmd_play(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_resolve(int argc, char **argv);
int cmd_schema(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_threads(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_inspect(int argc, char **argv);
int cmd_trace(int argc, char **argv);

struct buf;
struct option;
struct settings;

enum {
	EXIT_USAGE = 2,
	EXIT_NOT_ALLOWED = 3
};

/* Where a serve of this machine listens, and keeps its tokens, by default. */
#define CMD_LOCAL_SERVER "http://127.0.0.1:7171"
#define CMD_LOCAL_TOKENS "/var/lib/stackcam/tokens"

/* Prints "stackcam VERB: MESSAGE" and a hint to --help on standard error; returns EXIT_USAGE. */
int cmd_usage(const char *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Prints the help of a verb. CMD_HELP_EVENTS in the text is replaced by the option -e and the
 * events that it accepts.
 */
#define CMD_HELP_EVENTS "\1"
/* In the same way, this is replaced by the options of all sources of events. */
#define CMD_HELP_SOURCES "\2"
void cmd_print_help(const char *help);

/*
 * Call it after getopt_long() returned '?' or ':' with opterr = 0. Prints the option and whether it
 * is unknown, ambiguous, lacks its value, or takes none. options: the table passed to
 * getopt_long(), which must also have every short option. Returns EXIT_USAGE.
 */
int cmd_usage_option(const char *verb, char **argv, const struct option *options);

/* As settings_read(), and prints errors. Returns 0, an exit status, or -1: --help was printed. */
int cmd_read_settings(const struct settings *settings, int argc, char **argv);

/*
 * Appends the command line in the form that films store, with a terminating zero. argv[0] is the
 * verb.
 */
void cmd_put_command(struct buf *to, int argc, char **argv);

#endif
