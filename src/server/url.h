/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_URL_H
#define SERVER_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"

/* What a request asks for. The path stays as it was sent: a path with '%' is none of ours. */
enum {
	URL_LENGTH_MAX = 8192,
	URL_PARAMETERS_MAX = 64
};

struct url {
	char *text; /* holds what the others point to */
	const char *path;
	struct url_parameter {
		const char *name, *value; /* decoded: any bytes but zero */
	} parameters[URL_PARAMETERS_MAX];
	size_t count;
};

/*
 * Takes "/path?name=value&…" ('+' and %20 are blanks). Returns 0, -ENOMEM, or -EINVAL with *why
 * filled: too long, too many, a '%' that is followed by no two digits, a zero byte. url_free() is
 * needed in either case.
 */
int url_parse(const char *raw, struct url *url, struct fail *why);
void url_free(struct url *url);

/* The value of the first parameter of that name, or null. */
const char *url_value(const struct url *url, const char *name);

#endif
