// SPDX-License-Identifier: Apache-2.0
/* What matches a search, in all of a profile: the page has only its largest frames. */
#include <errno.h>
#include <string.h>

#include "query/frame_search.h"
#include "server/api.h"
#include "server/ask.h"
#include "server/put.h"

enum {
	FUNCTIONS = 200,
	FUNCTIONS_MAX = 20000,
	HIDDEN_MAX = 4096, /* bytes of all patterns */
};

#define OWN "text regex hide limit request"

static int make_search(const struct http_request *request, struct frame_search **search,
		       struct fail *why)
{
	const char *text = request_parameter(request, "text");
	const char *hide = request_parameter(request, "hide");
	uint64_t is_regex;
	int err;

	if (!text || !*text || strlen(text) > ASK_REGEX_MAX)
		return fail(why, -EINVAL, NULL,
			    "text, of at most %d bytes, is what is searched for", ASK_REGEX_MAX);
	if (hide && strlen(hide) > HIDDEN_MAX)
		return fail(why, -EINVAL, NULL, "hide is longer than %d bytes", HIDDEN_MAX);
	err = ask_number(request->url, "regex", 0, 1, 0, &is_regex, why);
	return err ? err : frame_search_new(text, is_regex, hide, search, why);
}

static int put_matches(struct json *j, const struct store_answer *found,
		       const struct frame_matches *matches, bool is_diff, uint64_t limit)
{
	/* of a comparison, furthest moved first, as they stand */
	enum function_order order = is_diff ? FUNCTIONS_AS_THEY_ARE : FUNCTIONS_BY_TOTAL;
	uint64_t others;
	int err;

	json_open(j, NULL, '{');
	put_sum(j, "sum", &found->sum);
	json_text(j, "unit", found->sum.unit);
	json_u64(j, "frames", matches->frames);
	json_u64(j, "total", matches->total[TREE_NOW]);
	if (is_diff)
		json_u64(j, "before_total", matches->total[TREE_BEFORE]);
	err = put_functions(j, &matches->of, order, limit, is_diff, &others);
	json_u64(j, "functions_found", matches->of.count);
	json_close(j, '}');
	return err;
}

/* Both sides if there are two. All nodes are asked for, as what is small may match, too. */
static int find(const struct http_request *request, bool is_diff, struct store_answer *found,
		struct fail *why)
{
	struct server_ask before = {0}, now;
	int err = is_diff ? ask_request_two(request, OWN, &before, &now, why)
			  : ask_request(request, OWN, &now, why);

	if (!err)
		err = ask_of_request(request->url, &now, why);
	if (!err)
		err = is_diff ? store_diff(request->store, &before.ask, &now.ask, found, why)
			      : store_flame(request->store, &now.ask, found, why);
	ask_free(&before);
	ask_free(&now);
	return err;
}

int api_search(const struct http_request *request, struct answer *answer, struct fail *why)
{
	bool is_diff = ask_has_before(request->url);
	struct json j = {.out = answer->out};
	struct store_answer found = {0};
	struct frame_matches matches = {0};
	struct frame_search *search = NULL;
	uint64_t limit;
	int err = make_search(request, &search, why);

	if (!err)
		err = ask_number(request->url, "limit", 1, FUNCTIONS_MAX, FUNCTIONS, &limit, why);
	if (!err)
		err = find(request, is_diff, &found, why);
	if (!err)
		err = frame_search_run(search, &found.tree, &found.flame, &found.functions,
				       &matches, why);
	if (!err && put_matches(&j, &found, &matches, is_diff, limit))
		err = fail_errno(why, -ENOMEM, NULL, "cannot answer");
	functions_free(&matches.of);
	frame_search_free(search);
	store_answer_free(&found);
	return err;
}
