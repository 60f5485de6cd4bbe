// SPDX-License-Identifier: Apache-2.0
#include "cmd/recording.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/text.h"
#include "record/new_film.h"
#include "cmd/verb.h"
#include "host/notify.h"
#include "host/say.h"
#include "process/program.h"

/* Returns 1; 0: it is none of these options; a negative errno with *why filled. */
static int parse_target(int option, struct selection *selection, struct fail *why)
{
	int err = 0;

	switch (option) {
	case 'a':
		selection->whole_machine = true;
		break;
	case 'p':
		err = selection_add_pids(selection, optarg, why);
		break;
	case 't':
		err = selection_add_tids(selection, optarg, why);
		break;
	case 'n':
		err = selection_add_name(selection, optarg, why);
		break;
	case RECORDING_OPT_CGROUP:
		err = selection_add_cgroup(selection, optarg, why);
		break;
	case RECORDING_OPT_NO_CHILDREN:
		selection->no_children = true;
		break;
	default:
		return 0;
	}
	return err ? err : 1;
}

static int say(const struct fail *why)
{
	fail_print(why);
	return why->err == -EINVAL ? EXIT_USAGE : fail_exit_status(why);
}

int recording_parse_option(const char *verb, int option, struct recording_options *options)
{
	struct fail why = {0};
	int taken = parse_target(option, &options->selection, &why);
	uint64_t ns;

	if (taken)
		return taken < 0 ? say(&why) : 0;
	switch (option) {
	case 'd':
		if (text_parse_time(optarg, 1000000000, &ns) || !ns)
			return cmd_usage(verb, "-d takes a time such as 10, 500ms or 5m, not '%s'",
					 optarg);
		options->seconds = (double)ns / 1e9;
		return 0;
	case RECORDING_OPT_LABEL:
		return film_labels_add(options->labels, sizeof(options->labels), optarg, &why)
			       ? say(&why)
			       : 0;
	case 'o':
		if (!strcmp(optarg, "-"))
			return cmd_usage(verb, "a film is a file: -o takes its name, not '-'");
		options->film = optarg;
		return 0;
	case 'q':
		options->quiet = true;
		return 0;
	case RECORDING_OPT_VERBOSE:
		options->verbose = true;
		return 0;
	case 'u':
		command_user_free(options->user);
		options->user = NULL;
		return command_user_find(optarg, &options->user, &why) ? say(&why) : 0;
	case RECORDING_OPT_NO_RANDOMIZE_ADDR:
		options->no_randomize_addr = true;
		return 0;
	default:
		return -1;
	}
}

int recording_check_options(const char *verb, struct recording_options *options)
{
	struct fail why = {0};

	if ((options->user || options->no_randomize_addr) && !options->selection.command)
		return cmd_usage(verb, "%s says how a command is started: give one, -- COMMAND",
				 options->user ? "-u" : "--no-randomize-addr");
	return selection_check(&options->selection, &why) ? say(&why) : 0;
}

void recording_say_absent(const struct recording_options *options, const char *done)
{
	const struct selection *s = &options->selection;

	for (size_t i = 0; !options->quiet && i < s->name_count; i++) {
		if (selection_name_runs(s, i))
			continue;
		fputs("stackcam: no process is called '", stderr);
		text_print_safe(stderr, s->names[i]);
		fprintf(stderr,
			"' now; those that start later are %s; 'ps -eo comm' shows what there "
			"is%s\n",
			done,
			strchr(s->names[i], ',') ? ", and -n may be given several times" : "");
	}
}

void recording_options_free(struct recording_options *options)
{
	selection_free(&options->selection);
	command_user_free(options->user);
	options->user = NULL;
}

char *const *recording_argv(const struct recording_options *options)
{
	const struct selection *selection = &options->selection;

	return selection->command ? selection->command : selection->beside;
}

struct command_options recording_command(const struct recording_options *options)
{
	return (struct command_options){
		.argv = recording_argv(options),
		.user = options->user,
		.no_randomize_addr = options->no_randomize_addr,
	};
}

int recording_create_film(const char *path, const char *labels, int argc, char **argv,
			  struct film_writer **film, struct fail *why)
{
	struct new_film options = {.path = path, .labels = labels, .command = ""};
	struct buf command = {0};
	int err;

	cmd_put_command(&command, argc, argv);
	if (!command.failed)
		options.command = (const char *)command.at;
	err = new_film(&options, film, NULL, why);
	buf_free(&command);
	return err;
}

int recording_check_command(char *const *argv, struct command *command, struct fail *why)
{
	char *path = program_search(argv[0]);

	free(path);
	if (path)
		return 0;
	command->exec_error = strchr(argv[0], '/') && !access(argv[0], F_OK) ? -EACCES : -ENOENT;
	return fail_errno(why, command->exec_error, "check its name and that it may be executed",
			  "cannot execute '%s'", argv[0]);
}

/* A command that was to be filmed, and was not found to be one when it was to be executed. */
static bool never_ran(const struct session *session)
{
	return session->selection->command && session->command && session->command->exec_error;
}

/* A caller listens at a socket (sd_notify(3)), or reads standard error. */
static void notify_begun(void *context)
{
	(void)context;
	notify("READY=1");
}

static void report_begun(void *context)
{
	host_say("recording; Ctrl-C, or 'kill -INT %d', ends it", (int)getpid());
	notify_begun(context);
}

int recording_run(struct recording *recording, struct fail *why)
{
	struct film_writer *film = recording->film;
	struct fail ignored;
	uint64_t end;
	int err, closed;

	recording->session.film = film;
	/* a terminal shows its progress */
	if (!recording->session.command)
		recording->session.begun = recording->options->quiet || isatty(STDERR_FILENO)
						   ? notify_begun
						   : report_begun;
	err = session_run(&recording->session, why);
	end = recording->session.ended;
	/* the film is closed in any case; the first error is the one that tells why */
	closed = film_commit(film, end, true, err ? &ignored : why);
	recording->film_bytes = film_size(film);
	if (err)
		film_close_failed(film, end, never_ran(&recording->session));
	else if (film_close(film, end, closed ? &ignored : why) && !closed)
		closed = -EIO;
	return err ? err : closed;
}

int recording_exit_status(struct command *command, int err, const struct fail *why)
{
	if (err) {
		fail_print(why);
		/* as shells say it: 127 not found, 126 found but not executable */
		return command->exec_error == -ENOENT ? 127
		       : command->exec_error	      ? 126
						      : fail_exit_status(why);
	}
	return command->pid && command->go < 0 ? command_wait(command) : 0;
}
