// SPDX-License-Identifier: Apache-2.0
/*
 * Any address of a request: what is taken is within its bounds, and a regular expression does not
 * take long.
 */
#include <regex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server/access.h"
#include "server/ask.h"
#include "server/out.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW 1732199580000000000ull

static void check(const struct server_ask *ask)
{
	const struct store_ask *a = &ask->ask;

	if ((a->from || a->to) && a->from >= a->to)
		abort();
	if (a->label_count > ASK_LABELS_MAX || ask->question.filter.pids.count > ASK_LIST_MAX)
		abort();
	if (ask->question.filter.focus)
		regex_matches(ask->question.filter.focus, "std::vector<int>::push_back(int&&)");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct token token = {.text = "0123456789abcdef", .may_read = true};
	struct tokens tokens = {.all = {.at = &token, .count = 1}};
	struct access_rules rules = {.tokens = &tokens, .address = "127.0.0.1"};
	struct access_request request = {.host = text, .origin = text, .authorization = text};
	struct access_grant grant;
	struct server_ask ask, before;
	struct url url;
	struct fail why;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	if (!url_parse(text, &url, &why)) {
		if (!ask_parse(&url, "nodes limit", NOW, &ask, &why))
			check(&ask);
		ask_free(&ask);
		if (!ask_parse_two(&url, "nodes", NOW, &before, &ask, &why)) {
			check(&before);
			check(&ask);
		}
		ask_free(&before);
		ask_free(&ask);
	}
	url_free(&url);
	access_check(&rules, &request, &grant, &why);
	out_choose(text);
	free(text);
	return 0;
}
