// SPDX-License-Identifier: Apache-2.0
#include "base/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* A match of a usual expression takes some hundred steps at most; this many take milliseconds. */
#define STEPS_MAX   100000
#define DEPTH_MAX   1000
#define HEAP_KB_MAX 4096
/* ns: of the matches that took longer than a usual one, all together */
#define SLOW_MATCH  50000
#define SLOW_BUDGET 1000000000ull
/*
 * ns of these from which on the thread's own clock, which takes a system call, says how long one
 * took: on a busy machine others run in the middle of a match
 */
#define SLOW_SEEN 10000000ull
/* groups within groups; bytes */
#define NESTED_MAX 50
#define TEXT_MAX   4096

struct regex {
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *limits;
	uint64_t slow; /* ns */
	bool is_over;
	char text[80]; /* for the words */
};

void regex_free(struct regex *regex)
{
	if (!regex)
		return;
	pcre2_match_context_free(regex->limits);
	pcre2_match_data_free(regex->data);
	pcre2_code_free(regex->code);
	free(regex);
}

static int compile(struct regex *regex, const char *text, struct fail *why)
{
	pcre2_compile_context *limits = pcre2_compile_context_create(NULL);
	PCRE2_UCHAR words[128] = "";
	PCRE2_SIZE at;
	int err;

	if (!limits)
		return -ENOMEM;
	pcre2_set_parens_nest_limit(limits, NESTED_MAX);
	regex->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
				    PCRE2_NEVER_BACKSLASH_C, &err, &at, limits);
	pcre2_compile_context_free(limits);
	if (regex->code)
		return 0;
	pcre2_get_error_message(err, words, sizeof(words));
	return fail(why, -EINVAL, "see pcre2pattern(3)",
		    "'%.200s' is not a regular expression: %s (at byte %zu)", text,
		    (const char *)words, (size_t)at);
}

int regex_compile(const char *text, struct regex **result, struct fail *why)
{
	struct regex *regex;
	int err;

	if (strlen(text) > TEXT_MAX)
		return fail(why, -EINVAL, NULL, "a regular expression has at most %d bytes",
			    TEXT_MAX);
	regex = calloc(1, sizeof(*regex));
	if (!regex)
		return -ENOMEM;
	strncpy(regex->text, text, sizeof(regex->text) - 1);
	err = compile(regex, text, why);
	if (!err) {
		regex->data = pcre2_match_data_create(1, NULL);
		regex->limits = pcre2_match_context_create(NULL);
		err = regex->data && regex->limits ? 0 : -ENOMEM;
	}
	if (err) {
		regex_free(regex);
		return err;
	}
	pcre2_set_match_limit(regex->limits, STEPS_MAX);
	pcre2_set_depth_limit(regex->limits, DEPTH_MAX);
	pcre2_set_heap_limit(regex->limits, HEAP_KB_MAX);
	*result = regex;
	return 0;
}

bool regex_matches(struct regex *regex, const char *text)
{
	uint64_t (*clock)(void) = regex->slow < SLOW_SEEN ? clock_ns : clock_thread_ns;
	uint64_t begin, took;
	int found;

	if (regex->is_over)
		return false;
	begin = clock();
	found = pcre2_match(regex->code, (PCRE2_SPTR)text, strlen(text), 0, 0, regex->data,
			    regex->limits);
	took = clock() - begin;
	if (took > SLOW_MATCH)
		regex->slow += took;
	/* a limit, or no memory: whether it matches is not known */
	regex->is_over = (found < 0 && found != PCRE2_ERROR_NOMATCH) || regex->slow > SLOW_BUDGET;
	return found >= 0;
}

int regex_check(const struct regex *regex, struct fail *why)
{
	return regex->is_over
		       ? fail(why, -EINVAL, "write it without repeats of what repeats itself",
			      "the regular expression '%s' takes too long", regex->text)
		       : 0;
}
