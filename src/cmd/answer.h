/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_ANSWER_H
#define CMD_ANSWER_H

#include "film/reader.h"
#include "query/question.h"
#include "show/output.h"
#include "show/show.h"

/* What the verbs share that ask films and show the answer: report and diff. */

struct answer_arguments {
	struct question question;
	struct show_options show;
	const struct show_format *format;
	const char *format_name, *output; /* as given; output null: standard output */
	bool wide, no_color, help;
};

/* Those of their options that are none of the question's. */
enum answer_option {
	ANSWER_OUTPUT = 'o',
	ANSWER_HELP = 'h',
	ANSWER_FORMAT = 0x2000,
	ANSWER_LIMIT,
	ANSWER_WIDE,
	ANSWER_NO_COLOR,
	ANSWER_SERVICE,
};

#define ANSWER_SHORT_OPTIONS ":o:h" QUESTION_SHORT_OPTIONS

/* clang-format off */
#define ANSWER_LONG_OPTIONS                                                                        \
	QUESTION_LONG_OPTIONS,                                                                     \
	{"format", required_argument, NULL, ANSWER_FORMAT},                                        \
	{"output", required_argument, NULL, ANSWER_OUTPUT},                                        \
	{"limit", required_argument, NULL, ANSWER_LIMIT},                                          \
	{"wide", no_argument, NULL, ANSWER_WIDE},                                                  \
	{"no-color", no_argument, NULL, ANSWER_NO_COLOR},                                          \
	{"service", required_argument, NULL, ANSWER_SERVICE},                                      \
	{"help", no_argument, NULL, ANSWER_HELP}
/* clang-format on */

/*
 * Parses one option, that of the question too. value must live as long as a. Returns 0 or an exit
 * status.
 */
int cmd_parse_answer(const char *verb, struct answer_arguments *a, int option, const char *value);

/*
 * The format that a verb writes: the one called name, or, where that is null, the one that the name
 * of the output (null: standard output) ends in. An ending that names none is warned of and gets a
 * table. Returns 0, or EXIT_USAGE with all said: the verb cannot write that.
 */
int cmd_choose_format(const char *verb, const char *name, const char *output,
		      const struct show_format **format);

/* Returns 0, or EXIT_USAGE after a message: options do not fit each other. */
int cmd_check_answer(const char *verb, const struct answer_arguments *a);

/* 0, or -EINVAL with *why filled: what is not text does not go to a terminal. */
int cmd_check_terminal(const struct show_format *format, const struct output *output,
		       struct fail *why);

/* How an answer is shown there: as --wide and --no-color, the terminal and NO_COLOR want it. */
void cmd_fit_output(struct show_options *options, const struct output *output, bool wide,
		    bool no_color);

/*
 * Returns 0, or EXIT_USAGE with all said: in that film the span of time asked for ends before it
 * starts.
 */
int cmd_check_span(const char *verb, const struct question *question, const struct film *film);

#endif
