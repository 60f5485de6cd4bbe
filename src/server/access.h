/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_ACCESS_H
#define SERVER_ACCESS_H

#include <stdbool.h>

#include "base/fail.h"

/*
 * Who may ask what.
 *
 * - With a token, all but the page's own files needs it: "Authorization: Bearer TOKEN", or as the password of
 *   Basic, which is what clients of other profilers can send.
 * - On loopback without one, every user of this machine may ask, but no page of another site that a browser
 *   shows: the Host header must name this machine (a name that was made to lead here would have another one),
 *   and a POST must not come from another origin.
 */
enum {
	ACCESS_TOKEN_MIN = 16,
	ACCESS_TOKEN_MAX = 512
};

struct access_request {
	const char *host, *origin, *fetch_site, *authorization; /* headers, or null */
	bool is_post;
	bool is_open; /* of the page's own files */
};

/*
 * token: null for none. address: that the server is bound to, if that is a loopback address, else null. Returns
 * 0, -EACCES (who asks is not known: 401) or -EPERM (403) with *why filled.
 */
int access_check(const char *token, const char *address, const struct access_request *request,
		 struct fail *why);

/*
 * Reads a token, the first line of a file, to be freed. Returns 0 or a negative errno with *why filled; -EINVAL
 * for one that is too short, too long, or not of printable characters.
 */
int access_read_token(const char *path, char **token, struct fail *why);

/* The same of a text. */
int access_take_token(const char *text, char **token, struct fail *why);

#endif
