// SPDX-License-Identifier: Apache-2.0
/* Lines that the threads of the timeline wrote to logs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "film/events.h"
#include "film/logs.h"
#include "server/api.h"
#include "server/ask.h"
#include "server/lane_list.h"
#include "server/put.h"
#include "show/logs.h"
#include "store/logs.h"

enum {
	LINES_USUAL = 2000,
	LINES_MAX = 20000,
};

static void put_lines(struct json *j, const struct store_logs *logs, uint64_t characters)
{
	json_open(j, "lines", '[');
	vec_foreach (&logs->lines, line) {
		json_open(j, NULL, '{');
		json_u64(j, "time", line->time > logs->from ? line->time - logs->from : 0);
		json_text(j, "host", line->host);
		json_put_log(j, line, characters);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_u64(j, "left", logs->left);
}

int api_timeline_logs(const struct http_request *request, struct answer *answer, struct fail *why)
{
	struct json j = {.out = answer->out};
	struct server_ask ask;
	struct store_logs logs = {0};
	struct store_sum sum = {0};
	struct lane_id *of = NULL;
	uint64_t limit = 0, characters = 0;
	char base[24];
	int err = ask_request(request, "lanes find limit characters", &ask, why);

	if (!err && !ask.ask.event)
		ask.ask.event = event_type(EVENT_THREADS)->name;
	if (!err)
		err = parse_lane_list(request, &of, &logs.of_count, why);
	if (!err)
		err = ask_number(request->url, "limit", 1, LINES_MAX, LINES_USUAL, &limit, why);
	if (!err)
		err = ask_number(request->url, "characters", 1, FILM_LOG_MAX, FILM_LOG_MAX,
				 &characters, why);
	logs.of = of;
	logs.limit = limit;
	logs.find = request_parameter(request, "find");
	if (!err)
		err = store_logs(request->store, &ask.ask, &logs, &sum, why);
	if (!err) {
		snprintf(base, sizeof(base), "%" PRIu64, logs.from);
		json_open(&j, NULL, '{');
		put_sum(&j, "sum", &sum);
		json_text(&j, "base", base);
		json_u64(&j, "length", logs.to - logs.from);
		put_lines(&j, &logs, characters);
		json_close(&j, '}');
	}
	store_logs_free(&logs);
	ask_free(&ask);
	free(of);
	return err;
}
