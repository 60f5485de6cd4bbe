// SPDX-License-Identifier: Apache-2.0
#include "query/frame_search.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/regex.h"
#include "base/vec.h"

enum field {
	FIELD_NAME,
	FIELD_IMAGE,
	FIELD_PLACE
};

struct frame_pattern {
	enum field field;
	bool is_whole;	     /* text is all of the field, in this case */
	char *text;	     /* with stars: a glob of the whole field */
	struct regex *regex; /* null: text */
};

struct frame_search {
	struct frame_pattern wanted;
	vec(struct frame_pattern) hidden;
};

static void pattern_free(struct frame_pattern *pattern)
{
	free(pattern->text);
	regex_free(pattern->regex);
}

/* "(?i)" and an expression. */
static int compile(struct frame_pattern *pattern, const char *text, bool any_case, struct fail *why)
{
	char *whole;
	int err;

	if (asprintf(&whole, "%s%s", any_case ? "(?i)" : "", text) < 0)
		return -ENOMEM;
	err = regex_compile(whole, &pattern->regex, why);
	free(whole);
	return err;
}

/* Whether it is /expression/ or /expression/i, which is left in text without its slashes. */
static bool strip_slashes(char *text, bool *any_case)
{
	size_t length = strlen(text);

	*any_case = length > 3 && text[length - 1] == 'i' && text[length - 2] == '/';
	length -= *any_case;
	if (length < 3 || text[0] != '/' || text[length - 1] != '/')
		return false;
	text[length - 1] = 0;
	memmove(text, text + 1, length - 1);
	return true;
}

static bool strip_quotes(char *text)
{
	size_t length = strlen(text);

	if (length < 3 || text[0] != '"' || text[length - 1] != '"')
		return false;
	text[length - 1] = 0;
	memmove(text, text + 1, length - 1);
	return true;
}

/* After an error, too, pattern_free() is needed. */
static int parse_pattern(struct frame_pattern *pattern, const char *text, bool is_regex,
			 struct fail *why)
{
	static const char *const prefixes[] = {[FIELD_IMAGE] = "image:", [FIELD_PLACE] = "file:"};
	bool any_case, is_slashed;

	*pattern = (struct frame_pattern){0};
	for (enum field field = FIELD_IMAGE; field <= FIELD_PLACE; field++)
		if (!strncmp(text, prefixes[field], strlen(prefixes[field]))) {
			pattern->field = field;
			text += strlen(prefixes[field]);
			break;
		}
	pattern->text = strdup(text);
	if (!pattern->text)
		return -ENOMEM;
	is_slashed = strip_slashes(pattern->text, &any_case);
	if (is_slashed || is_regex)
		return compile(pattern, pattern->text, !is_slashed || any_case, why);
	pattern->is_whole = strip_quotes(pattern->text);
	return 0;
}

/* Where the first size bytes of a part stand in text, ASCII letters in any case; or null. */
static const char *find(const char *text, const char *part, size_t size)
{
	for (size_t left = strlen(text); left >= size; text++, left--)
		if (!strncasecmp(text, part, size))
			return text;
	return NULL;
}

/* "a*b": the whole text begins with a and ends with b. Each part is found where it comes first. */
static bool fits_glob(const char *text, const char *glob)
{
	const char *star = strchr(glob, '*');
	size_t left = strlen(text), size = (size_t)(star - glob);

	if (left < size || strncasecmp(text, glob, size) != 0)
		return false;
	for (text += size;; text += size) {
		const char *part = star + 1;

		star = strchr(part, '*');
		size = star ? (size_t)(star - part) : strlen(part);
		if (!star)
			return (left = strlen(text)) >= size &&
			       !strcasecmp(text + left - size, part);
		text = find(text, part, size);
		if (!text)
			return false;
	}
}

static bool fits(const struct frame_pattern *pattern, const char *text)
{
	if (pattern->regex)
		return regex_matches(pattern->regex, text);
	if (pattern->is_whole)
		return !strcmp(text, pattern->text);
	return strchr(pattern->text, '*') ? fits_glob(text, pattern->text)
					  : strcasestr(text, pattern->text) != NULL;
}

/* "src/parse.c:120", as the page writes it. */
static bool fits_place(const struct frame_pattern *pattern, const struct label *label)
{
	char place[PATH_MAX + 16];

	if (!*label->file)
		return false;
	if (!label->line)
		return fits(pattern, label->file);
	snprintf(place, sizeof(place), "%.*s:%u", PATH_MAX, label->file, label->line);
	return fits(pattern, place);
}

static bool means(const struct frame_pattern *pattern, const struct label *label)
{
	const char *slash = strrchr(label->image, '/');

	switch (pattern->field) {
	case FIELD_IMAGE:
		return fits(pattern, label->image) || (slash && fits(pattern, slash + 1));
	case FIELD_PLACE:
		return fits_place(pattern, label);
	case FIELD_NAME:
		break;
	}
	return fits(pattern, label->name);
}

/* One a line. */
static int parse_hidden(struct frame_search *search, const char *lines, struct fail *why)
{
	while (lines && *lines) {
		struct frame_pattern pattern = {0};
		size_t length = strcspn(lines, "\n");
		char *text = strndup(lines, length);
		struct fail ignored;
		int err = text ? parse_pattern(&pattern, text, false, &ignored) : -ENOMEM;

		free(text);
		if (err || !length) {
			pattern_free(&pattern);
		} else if (search->hidden.count == FRAME_SEARCH_HIDDEN_MAX) {
			pattern_free(&pattern);
			return fail(why, -EINVAL, NULL, "at most %d patterns can be hidden",
				    FRAME_SEARCH_HIDDEN_MAX);
		} else if (!vec_push(&search->hidden, pattern)) {
			pattern_free(&pattern);
			err = -ENOMEM;
		}
		if (err == -ENOMEM)
			return err;
		lines += length + (lines[length] == '\n');
	}
	return 0;
}

int frame_search_new(const char *text, bool is_regex, const char *hidden,
		     struct frame_search **result, struct fail *why)
{
	struct frame_search *search = calloc(1, sizeof(*search));
	int err = search ? parse_pattern(&search->wanted, text, is_regex, why) : -ENOMEM;

	if (!err)
		err = parse_hidden(search, hidden, why);
	if (err) {
		frame_search_free(search);
		search = NULL;
	}
	*result = search;
	return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot search") : err;
}

void frame_search_free(struct frame_search *search)
{
	if (!search)
		return;
	pattern_free(&search->wanted);
	vec_foreach (&search->hidden, pattern)
		pattern_free(pattern);
	vec_free(&search->hidden);
	free(search);
}

static bool is_wanted(const struct frame_search *search, const struct label *label)
{
	if (!means(&search->wanted, label))
		return false;
	vec_foreach (&search->hidden, pattern)
		if (means(pattern, label))
			return false;
	return true;
}

/* Parents come before their children, so what is above a node is known. */
static void add_nodes(const struct tree *tree, const struct flame *flame, const uint8_t *wanted,
		      uint8_t *inside, struct frame_matches *matches)
{
	for (uint32_t i = 1; i < flame->count; i++) {
		const struct flame_node *node = &flame->nodes[i];
		bool is_hit = wanted[tree->nodes.at[i].label];

		matches->frames += is_hit;
		inside[i] = inside[node->parent] || is_hit;
		if (!is_hit || inside[node->parent])
			continue;
		matches->total[TREE_NOW] += node->total;
		matches->total[TREE_BEFORE] += node->before_total;
	}
}

static int match_functions(const struct tree *tree, const struct functions *functions,
			   const uint8_t *wanted, struct functions *to)
{
	to->at = calloc(functions->count + 1, sizeof(*to->at));
	if (!to->at)
		return -ENOMEM;
	for (size_t i = 0; i < functions->count; i++) {
		const struct function *f = &functions->at[i];

		if (!wanted[f->label - tree->labels.all.at])
			continue;
		to->at[to->count] = *f;
		memset(to->at[to->count++].calls, 0, sizeof(f->calls)); /* they have one owner */
	}
	return 0;
}

/* What did not match while a limit was reached is not known to be none. */
static int check(const struct frame_search *search, struct fail *why)
{
	int err = search->wanted.regex ? regex_check(search->wanted.regex, why) : 0;

	vec_foreach (&search->hidden, pattern)
		if (!err && pattern->regex)
			err = regex_check(pattern->regex, why);
	return err;
}

int frame_search_run(const struct frame_search *search, const struct tree *tree,
		     const struct flame *flame, const struct functions *functions,
		     struct frame_matches *matches, struct fail *why)
{
	size_t labels = tree->labels.all.count;
	uint8_t *wanted = calloc(labels + 1, 1), *inside = calloc(flame->count + 1ull, 1);
	int err = wanted && inside ? 0 : -ENOMEM;

	*matches = (struct frame_matches){0};
	for (size_t i = 0; !err && i < labels; i++)
		wanted[i] = is_wanted(search, &tree->labels.all.at[i]);
	if (!err)
		err = check(search, why);
	if (!err) {
		add_nodes(tree, flame, wanted, inside, matches);
		err = match_functions(tree, functions, wanted, &matches->of);
	}
	free(wanted);
	free(inside);
	return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot search") : err;
}
