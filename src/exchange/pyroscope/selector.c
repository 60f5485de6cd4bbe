// SPDX-License-Identifier: Apache-2.0
/*
 * Selectors of labels, as Prometheus has them: {KEY="VALUE", KEY!="VALUE", KEY=~"REGEX",
 * KEY!~"REGEX"} (https://prometheus.io/docs/prometheus/latest/querying/basics/).
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "exchange/pyroscope/query.h"

enum {
	MATCHERS_MAX = 32,
	REGEX_MAX = 256, /* bytes */
};

static void skip_blanks(const char **at)
{
	while (**at == ' ' || **at == '\t' || **at == '\n')
		++*at;
}

static int invalid(const char *at, struct fail *why)
{
	return fail(why, -EINVAL, "write {KEY=\"VALUE\"}", "cannot read the selector at '%.40s'",
		    at);
}

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == ':';
}

static char *read_name(const char **at)
{
	const char *begin = *at;

	while (is_of_name(**at))
		++*at;
	return strndup(begin, (size_t)(*at - begin));
}

/*
 * The text between quotes, in which a backslash stands before quotes, backslashes and n; null: it
 * is invalid.
 */
static char *read_quoted(const char **at)
{
	struct buf text = {0};
	char quote = **at;

	if (quote != '"' && quote != '\'' && quote != '`')
		return NULL;
	for (++*at; **at && **at != quote; ++*at) {
		if (**at == '\\' && quote != '`' && (*at)[1]) {
			++*at;
			buf_put_u8(&text, **at == 'n' ? '\n' : (uint8_t) * *at);
		} else {
			buf_put_u8(&text, (uint8_t) * *at);
		}
	}
	if (!**at) {
		buf_free(&text);
		return NULL;
	}
	++*at;
	return buf_steal_text(&text);
}

/* An expression must match the whole value. */
static int compile(struct pyroscope_matcher *matcher, struct fail *why)
{
	char whole[REGEX_MAX + 8];

	if (strlen(matcher->value) > REGEX_MAX)
		return fail(why, -EINVAL, NULL, "a regular expression is longer than %d bytes",
			    REGEX_MAX);
	snprintf(whole, sizeof(whole), "^(?:%s)$", matcher->value);
	return regex_compile(whole, &matcher->regex, why);
}

static int read_matcher(const char **at, struct pyroscope_query *query, struct fail *why)
{
	struct pyroscope_matcher *matcher;
	bool is_regex;

	if (query->matchers.count == MATCHERS_MAX)
		return fail(why, -E2BIG, NULL, "a selector has more than %d conditions",
			    MATCHERS_MAX);
	if (!vec_push(&query->matchers, (struct pyroscope_matcher){0}))
		return fail_errno(why, -ENOMEM, NULL, "cannot read the selector");
	matcher = vec_last(&query->matchers);
	matcher->name = read_name(at);
	if (!matcher->name)
		return fail_errno(why, -ENOMEM, NULL, "cannot read the selector");
	skip_blanks(at);
	if (!*matcher->name || (**at != '=' && **at != '!'))
		return invalid(*at, why);
	matcher->is_negative = **at == '!';
	is_regex = (*at)[1] == '~';
	if (matcher->is_negative && !is_regex && (*at)[1] != '=')
		return invalid(*at, why);
	*at += matcher->is_negative || is_regex ? 2 : 1;
	skip_blanks(at);
	matcher->value = read_quoted(at);
	if (!matcher->value)
		return invalid(*at, why);
	return is_regex ? compile(matcher, why) : 0;
}

int pyroscope_selector_parse(const char *text, struct pyroscope_query *query, struct fail *why)
{
	const char *at = text;
	int err = 0;

	skip_blanks(&at);
	if (!*at)
		return 0;
	if (*at++ != '{')
		return invalid(text, why);
	skip_blanks(&at);
	while (!err && *at != '}') {
		err = read_matcher(&at, query, why);
		if (err)
			return err;
		skip_blanks(&at);
		if (*at == ',')
			at++;
		else if (*at != '}')
			return invalid(at, why);
		skip_blanks(&at);
	}
	at++;
	skip_blanks(&at);
	return *at ? invalid(at, why) : 0;
}

bool pyroscope_matches(const struct pyroscope_matcher *matcher, const char *value)
{
	bool is_equal = matcher->regex ? regex_matches(matcher->regex, value)
				       : !strcmp(matcher->value, value);

	return is_equal != matcher->is_negative;
}
