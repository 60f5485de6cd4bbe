/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_FRAME_SEARCH_H
#define QUERY_FRAME_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "query/functions.h"
#include "query/tree.h"

/*
 * Searches a profile with the syntax of the page's search field (web/src/flame/pattern.ts). Plain
 * text matches anywhere in the name and ignores the case of ASCII letters; "in quotes" matches the
 * whole name; text with a * is a glob for the whole name; /between slashes/ is a regular expression
 * (base/regex.h), and a following i ignores case. The prefixes image: and file: search there
 * instead; a glob of an image also matches its file name.
 */
struct frame_search;

enum {
	FRAME_SEARCH_HIDDEN_MAX = 64,
};

/*
 * is_regex: text is a regular expression without slashes that ignores case. hidden: patterns of
 * frames to ignore, one per line, of which invalid ones have no effect; may be null. Returns 0,
 * -ENOMEM, or -EINVAL with *why filled; *search is null after an error.
 */
int frame_search_new(const char *text, bool is_regex, const char *hidden,
		     struct frame_search **search, struct fail *why);
void frame_search_free(struct frame_search *search); /* null is allowed */

struct frame_matches {
	uint64_t frames; /* number of nodes that match */
	/* sum over the outermost matches, so that nothing counts twice; by enum tree_side */
	uint64_t total[2];
	struct functions of; /* the functions that match, in their present order; free them */
};

/*
 * Searches a whole result, whose tree and flame have the same nodes (flame_of_tree()). The
 * functions of the matches point into functions. Returns 0, -ENOMEM, or -EINVAL if a regular
 * expression takes too long; *why is filled. Call functions_free() for matches->of in all cases.
 */
int frame_search_run(const struct frame_search *search, const struct tree *tree,
		     const struct flame *flame, const struct functions *functions,
		     struct frame_matches *matches, struct fail *why);

#endif
