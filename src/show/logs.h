/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_LOGS_H
#define SHOW_LOGS_H

#include <stdio.h>

#include "base/json.h"
#include "query/log_lines.h"
#include "show/show.h"

/* Lines of logs, as show_heatmap() is called: *count becomes how many there are. */
int show_logs(struct film *film, const struct question *q, const struct show_options *options,
	      FILE *out, uint64_t *count, struct fail *why);
int show_logs_json(struct film *film, const struct question *q, const struct show_options *options,
		   FILE *out, uint64_t *count, struct fail *why);

/* One line as a row of a text, harmless, with its time of day. */
void put_log_line(const struct film *film, const struct log_line *line, FILE *out);

/* The members of an object for a line, but for its times: of its text at most that many bytes. */
void json_put_log(struct json *j, const struct log_shown *line, size_t characters);

#endif
