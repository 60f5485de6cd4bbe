/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_CONFIG_H
#define BASE_CONFIG_H

#include <stddef.h>

#include "base/fail.h"

/*
 * A configuration file. Each line has a long option without its dashes and, if the option takes
 * one, its value:
 *
 *	# films, and how long they are kept
 *	keep-age = 7d
 *	label = env=prod
 *	no-record
 *
 * Blanks around names and values are ignored; a line that begins with '#' is a comment. A value is
 * the rest of its line, literally: there is no quoting.
 */

/*
 * Called for each setting in order. value is null for an option without one ("no-record"). Returns
 * 0, or a negative errno with *why filled, to which the parser prepends file and line.
 */
typedef int config_handler(void *context, const char *name, const char *value, struct fail *why);

/*
 * Parses length bytes of text, and modifies them. path is the name for error messages. The strings
 * that handle() gets point into the text. Returns 0 or a negative errno with *why filled.
 */
int config_parse(char *text, size_t length, const char *path, config_handler *handle, void *context,
		 struct fail *why);

/*
 * The same for a file. *text is the memory of the strings; the caller frees it, also after an
 * error.
 */
int config_read(const char *path, char **text, config_handler *handle, void *context,
		struct fail *why);

#endif
