/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_ACCESS_H
#define SERVER_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/tokens.h"

/*
 * What each client may ask.
 *
 * - A request that shows a token may do what the token allows: "Authorization: Bearer TOKEN", or as
 *   the password of Basic, which is what clients of other profilers can send. To read, to send and
 *   to have something recorded are different things.
 * - A token that is of some services gets answers about these alone; what cannot be limited to
 *   services, and each route that does not say how it is limited, is refused.
 * - Without one, the page's own files are there for all, and the rest only where the server was
 *   set up for that: all may read (--read-open), or a client has shown a certificate.
 * - On loopback, without a token, no page of another site that a browser shows may ask: the Host
 *   header must name this machine (a name that was made to lead here would have another one), and a
 *   POST must not come from another origin.
 */
struct access_rules {
	const struct tokens *tokens;
	const char *
		address; /* that the server is bound to, if that is a loopback address, else null */
	bool read_open, write_open; /* without a token */
	/* from any client: no token would help, and none is asked for */
	bool is_read_only;
};

struct access_request {
	const char *host, *origin, *fetch_site, *authorization; /* headers, or null */
	bool is_post;	/* a method that may change something */
	bool is_push;	/* it sends films, or has some kept, and does not read */
	bool is_record; /* is_push: it has some kept */
	bool is_open;	/* of the page's own files */
	/* its answer shows what cannot be limited to some services */
	bool is_of_all;
};

/* Whom a request comes from, as far as it has shown that. */
struct access_grant {
	uint64_t sender;	       /* the id of the token; 0: none */
	char host[TOKEN_HOST_MAX + 1]; /* the token is of films of that machine only; "": of any */
	char name[TOKEN_NAME_MAX + 1]; /* of the token; "": it has none */
	char services[TOKEN_SERVICES_MAX + 1]; /* globs of those that are shown; "": all */
	uint32_t questions;		       /* at most, a minute; 0: no limit */
};

/* Null: all are shown. */
static inline const char *access_services(const struct access_grant *grant)
{
	return *grant->services ? grant->services : NULL;
}

/*
 * Returns 0 with *grant filled, -EACCES (who asks is not known: 401) or -EPERM (403) with *why
 * filled. All tokens are compared in a time that does not depend on what they have in common with
 * the one that was sent.
 */
int access_check(const struct access_rules *rules, const struct access_request *request,
		 struct access_grant *grant, struct fail *why);

#endif
