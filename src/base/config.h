/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_CONFIG_H
#define BASE_CONFIG_H

#include <stddef.h>

#include "base/fail.h"

/*
 * A configuration: a text of lines, each a long option without its dashes and, if it takes one, its
 * value:
 *
 *	# films, and how long they are kept
 *	keep-age = 7d
 *	label = env=prod
 *	no-record
 *
 * Space around names and values does not count, a line that begins with '#' is a comment. A value
 * reaches to the end of its line as it stands: there are no quotes.
 */

/*
 * Called for each setting in order; value null: there is none ("no-record"). Returns 0, or a
 * negative errno with *why filled; the words then get file and line in front.
 */
typedef int config_take(void *context, const char *name, const char *value, struct fail *why);

/*
 * Reads the text, length bytes, which is changed; path: what errors call it. The strings that
 * take() gets live as long as the text. Returns 0 or a negative errno with *why filled.
 */
int config_parse(char *text, size_t length, const char *path, config_take *take, void *context,
		 struct fail *why);

/* The same of a file. *text: what its strings lie in; the caller frees it, in every case. */
int config_read(const char *path, char **text, config_take *take, void *context, struct fail *why);

#endif
