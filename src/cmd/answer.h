/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_ANSWER_H
#define CMD_ANSWER_H

#include "film/reader.h"
#include "query/question.h"
#include "show/output.h"
#include "show/show.h"

/* What the verbs share that ask films and show the answer. */

/*
 * The format that a verb writes: the one called name, or, where that is null, the one that the name
 * of the output (null: standard output) ends in. An ending that names none is warned of and gets a
 * table. Returns 0, or EXIT_USAGE with all said: the verb cannot write that.
 */
int cmd_choose_format(const char *verb, const char *name, const char *output,
		      const struct show_format **format);

/* How an answer is shown there: as --wide and --no-color, the terminal and NO_COLOR want it. */
void cmd_fit_output(struct show_options *options, const struct output *output, bool wide,
		    bool no_color);

/*
 * Returns 0, or EXIT_USAGE with all said: in that film the span of time asked for ends before it
 * starts.
 */
int cmd_check_span(const char *verb, const struct question *question, const struct film *film);

#endif
