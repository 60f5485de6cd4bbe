/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_ASK_H
#define SERVER_ASK_H

#include "server/route.h"
#include "store/ask.h"

enum {
	ASK_LABELS_MAX = 16,
	ASK_TEXT_MAX = 256,  /* bytes of a name */
	ASK_REGEX_MAX = 256, /* of a regular expression */
	ASK_LIST_MAX = 64,   /* pids, tids; patterns of comm */
};

/* What a request asks of the store, checked. It points into the url. */
struct server_ask {
	struct store_ask ask;
	struct question question;
	const char *labels[ASK_LABELS_MAX];
};

/*
 * Parses the parameters that all questions share (doc/openapi.json); own: those that the route has
 * besides, separated by blanks. Any other is refused, and so is one that is given twice where that
 * means nothing. now: ns since 1970, for times such as "-15m". Returns 0, or -EINVAL or -ENOMEM
 * with *why filled; ask_free() is needed in either case.
 */
int ask_parse(const struct url *url, const char *own, uint64_t now, struct server_ask *ask,
	      struct fail *why);

/*
 * The same of a request, for now: the question is given up when no client waits for its answer any
 * more.
 */
int ask_request(const struct http_request *request, const char *own, struct server_ask *ask,
		struct fail *why);
int ask_request_two(const struct http_request *request, const char *own, struct server_ask *before,
		    struct server_ask *ask, struct fail *why);

/*
 * The part of ask_request() that is about the client: whether it still waits, what it may see, and
 * that it asked. 0, or -EPERM with *why filled: what it asks shows more.
 */
int ask_limit(const struct http_request *request, struct store_ask *ask, struct fail *why);

/*
 * Takes the parameter "request", one of the route's own: the answer is of what was done for that
 * request alone. Returns 0 or -EINVAL with *why filled.
 */
int ask_of_request(const struct url *url, struct server_ask *ask, struct fail *why);

/*
 * For a comparison: parses all twice, *before with what "before_…" says in place of the same
 * without it.
 */
int ask_parse_two(const struct url *url, const char *own, uint64_t now, struct server_ask *before,
		  struct server_ask *ask, struct fail *why);

/* Whether any "before_…" is given. */
bool ask_has_before(const struct url *url);

void ask_free(struct server_ask *ask);

/*
 * A parameter that is a number from min to max; otherwise if it is not given. Returns 0 or -EINVAL
 * with *why filled.
 */
int ask_number(const struct url *url, const char *name, uint64_t min, uint64_t max,
	       uint64_t otherwise, uint64_t *number, struct fail *why);

/*
 * A point in time as ns since 1970: unix seconds "1732199528.5", RFC 3339 "2026-11-21T14:32:08Z",
 * "now", or back from it: "-15m", "-1d". Returns 0 or -EINVAL with *why filled.
 */
int ask_time(const char *text, uint64_t now, uint64_t *time, struct fail *why);

#endif
