// SPDX-License-Identifier: Apache-2.0
#include "query/patterns.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "query/names.h"

int patterns_add(struct patterns *patterns, bool include, const char *text, struct fail *why)
{
	struct pattern pattern = {.include = include, .glob = text};
	int err;

	if (!strncmp(text, "re:", 3)) {
		pattern.glob = NULL;
		err = regex_compile(text + 3, &pattern.regex, why);
		if (err)
			return err;
	}
	if (vec_push(&patterns->all, pattern))
		return 0;
	regex_free(pattern.regex);
	return -ENOMEM;
}

void patterns_free(struct patterns *patterns)
{
	vec_foreach (&patterns->all, pattern)
		regex_free(pattern->regex);
	vec_free(&patterns->all);
}

/* How long a name is without the parameters of C++ at its end, and what stands behind them. */
static size_t length_without_parameters(const char *name)
{
	static const char word[] = "operator";
	const char *at = strrchr(name, ')');
	size_t depth = 1, length;

	if (!at || (at[1] && at[1] != ' ' && at[1] != '@'))
		return strlen(name);
	while (depth && at > name) {
		at--;
		depth += *at == ')';
		depth -= *at == '(';
	}
	length = (size_t)(at - name);
	if (depth || !length ||
	    (length >= sizeof(word) - 1 &&
	     !memcmp(at - (sizeof(word) - 1), word, sizeof(word) - 1)))
		return strlen(name);
	return length;
}

static bool matches(const struct pattern *pattern, const char *name)
{
	return pattern->glob ? !fnmatch(pattern->glob, name, 0)
			     : regex_matches(pattern->regex, name);
}

static bool is_meant(const struct patterns *patterns, const char *name, const char *shorter)
{
	bool meant = !patterns->all.count || !patterns->all.at[0].include;

	vec_foreach (&patterns->all, pattern)
		if (matches(pattern, name) || matches(pattern, shorter))
			meant = pattern->include;
	return meant;
}

static int check(const struct patterns *patterns, struct fail *why)
{
	int err = 0;

	vec_foreach (&patterns->all, pattern)
		if (!err && pattern->regex)
			err = regex_check(pattern->regex, why);
	return err;
}

int patterns_match(const struct patterns *patterns, const char *name, bool *result,
		   struct fail *why)
{
	char *shorter = strndup(name, length_without_parameters(name));

	if (!shorter)
		return fail_errno(why, -ENOMEM, NULL, "cannot choose functions");
	*result = is_meant(patterns, name, shorter);
	free(shorter);
	return check(patterns, why);
}

int patterns_frames(const struct patterns *patterns, const struct film *film, uint8_t **result,
		    struct fail *why)
{
	uint8_t *frames = *result = calloc(film->frame_count + 1ull, 1);

	if (!frames)
		return fail_errno(why, -ENOMEM, NULL, "cannot choose functions");
	for (uint32_t i = 0; i < film->frame_count; i++) {
		const struct film_frame *frame = &film->frames[i];
		char place[256];
		const char *name = frame->function
					   ? film->functions[frame->function].name
					   : name_of_place(film, frame, place, sizeof(place));
		bool is_wanted = false;
		int err = patterns_match(patterns, name, &is_wanted, why);

		if (err)
			return err;
		frames[i] = is_wanted;
	}
	return 0;
}
