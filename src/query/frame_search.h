/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_FRAME_SEARCH_H
#define QUERY_FRAME_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "query/functions.h"
#include "query/tree.h"

/*
 * What a reader searches a profile for, in the language of the page's search field
 * (web/src/flame/pattern.ts): plain text is found anywhere in the name, ASCII letters in any case;
 * "in quotes" is the whole name; with a * it is a glob of the whole name; /between slashes/ is a
 * regular expression (base/regex.h), with an i behind it in any case; image: and file: look there
 * instead, and a glob of an image also fits its file name.
 */
struct frame_search;

enum {
	FRAME_SEARCH_HIDDEN_MAX = 64,
};

/*
 * is_regex: the text is a regular expression without slashes, in any case. hidden: patterns of
 * frames that do not count, one a line; those that are wrong mean nothing; may be null. Returns 0,
 * -ENOMEM, or -EINVAL with *why filled; *search is null after an error.
 */
int frame_search_new(const char *text, bool is_regex, const char *hidden,
		     struct frame_search **search, struct fail *why);
void frame_search_free(struct frame_search *search); /* null is allowed */

struct frame_matches {
	uint64_t frames;     /* nodes of the flame that match */
	uint64_t total[2];   /* of the outermost of them, by enum tree_side: nothing counts twice */
	struct functions of; /* the functions that match, in the order they had; to be freed */
};

/*
 * Searches a whole answer, whose tree and flame are the same node for node (flame_of_tree()). The
 * functions of the matches point to what functions has. Returns 0, -ENOMEM, or -EINVAL where a
 * regular expression takes too long; *why filled. functions_free() of matches->of is needed in
 * either case.
 */
int frame_search_run(const struct frame_search *search, const struct tree *tree,
		     const struct flame *flame, const struct functions *functions,
		     struct frame_matches *matches, struct fail *why);

#endif
