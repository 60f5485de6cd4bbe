// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/text.h"
#include "server/access.h"
#include "server/internal.h"

enum {
	BODIES_MAX = 64 << 20 /* bytes of all bodies that are in memory at a time */
};

const char *call_header(const struct call *call, const char *name)
{
	return MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND, name);
}

const char *request_header(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value((struct MHD_Connection *)request->connection,
					   MHD_HEADER_KIND, name);
}

struct framing {
	unsigned int lengths, encodings, hosts;
	bool is_odd;
	uint64_t length;
};

static enum MHD_Result look_at_header(void *context, enum MHD_ValueKind kind, const char *name,
				      const char *value)
{
	struct framing *f = context;

	(void)kind;
	if (!strcasecmp(name, "Content-Length")) {
		f->lengths++;
		f->is_odd |= !value || text_parse_u64(value, 0, INT64_MAX, &f->length) != 0;
	} else if (!strcasecmp(name, "Transfer-Encoding")) {
		f->encodings++;
		f->is_odd |= !value || strcasecmp(value, "chunked") != 0;
	} else if (!strcasecmp(name, "Host")) {
		f->hosts++;
	}
	return MHD_YES;
}

/*
 * Where a body ends must be said once and plainly: two readers that understand it differently (a
 * proxy and this server) could be made to see different requests.
 */
static int check_framing(struct call *call, struct framing *f, struct fail *why)
{
	MHD_get_connection_values(call->connection, MHD_HEADER_KIND, look_at_header, f);
	if (f->is_odd || f->lengths > 1 || f->encodings > 1 || (f->lengths && f->encodings) ||
	    f->hosts > 1)
		return fail(why, -EINVAL, NULL,
			    "the request's header is not clear about its length or its host");
	return 0;
}

static int find_route(struct call *call, const char *method, struct fail *why)
{
	bool has_path = false;

	for (size_t i = 0; i < route_count; i++) {
		if (strcmp(routes[i].path, call->url.path))
			continue;
		has_path = true;
		if (!strcmp(routes[i].method, method))
			call->route = &routes[i];
	}
	if (call->route)
		return 0;
	call->status = has_path ? MHD_HTTP_METHOD_NOT_ALLOWED : MHD_HTTP_NOT_FOUND;
	if (has_path)
		return fail(why, -ENOENT, NULL, "this address does not take that method");
	return fail(why, -ENOENT, "/api/v1/openapi.json says what there is",
		    "there is nothing at this address");
}

/* Says that a client was refused, but not so often that the log is of nothing else. */
static void say_refused(struct call *call, const struct fail *refused)
{
	struct server *server = call->server;
	struct peer peer = watch_peer(call->watched);
	char address[INET6_ADDRSTRLEN], more[64] = "", words[640];
	uint64_t count;

	if (!server->state.say || !logins_failed(server->logins, peer, clock_ns(), &count))
		return;
	if (count > 1)
		snprintf(more, sizeof(more), " (%" PRIu64 " times since that was said last)",
			 count);
	snprintf(words, sizeof(words), "refused a request from %s: %s%s", peer_text(peer, address),
		 refused->what, more);
	server->state.say(server->state.context, words);
}

static int check_token(struct call *call, bool is_post, struct fail *why)
{
	struct server *server = call->server;
	struct access_request request = {
		.host = call_header(call, "Host"),
		.origin = call_header(call, "Origin"),
		.fetch_site = call_header(call, "Sec-Fetch-Site"),
		.authorization = call_header(call, "Authorization"),
		.is_post = is_post,
		.is_push = call->route && call->route->lane == LANE_PUSH,
		.is_record = call->route && call->route->is_record,
		.is_open = call->route && call->route->is_open,
		/* and where there is nothing, nothing is said */
		.is_of_all = !call->route || call->route->shows == SHOWS_UNDECLARED ||
			     call->route->shows == SHOWS_ALL,
	};
	struct access_rules rules = {
		.tokens = &server->state.tokens,
		.address = server->loopback,
		.read_open = server->read_open,
		.is_read_only = !server->state.spool,
	};
	int err;

	pthread_mutex_lock(&server->state.lock);
	/* where there are no tokens, the certificate, which is asked for before, allows all */
	if (server->needs_certificate && !rules.tokens->all.count)
		rules.read_open = rules.write_open = true;
	err = access_check(&rules, &request, &call->grant, why);
	pthread_mutex_unlock(&server->state.lock);
	return err;
}

static int check_access(struct call *call, bool is_post, struct fail *why)
{
	struct server *server = call->server;
	uint64_t certificate = 0;
	int err = server->needs_certificate ? tls_check_client(call->connection, &certificate, why)
					    : 0;

	if (!err)
		err = check_token(call, is_post, why);
	if (!call->grant.sender)
		call->grant.sender = certificate;
	if (err) {
		call->status = err == -EACCES ? MHD_HTTP_UNAUTHORIZED : MHD_HTTP_FORBIDDEN;
		/* a page that is opened without its token is not an attempt at anything */
		if (err == -EPERM || call_header(call, "Authorization") ||
		    (call->route && call->route->lane == LANE_PUSH))
			say_refused(call, why);
	} else if (call->grant.sender) {
		watch_know(server->watch, call->watched);
	}
	return err;
}

/* Whether the sender has to wait before it may send more. */
static int check_quota(struct call *call, struct fail *why)
{
	uint64_t wait = quota_wait(call->server->state.quota, call->grant.sender, clock_ns());

	if (!wait)
		return 0;
	call->status = MHD_HTTP_TOO_MANY_REQUESTS;
	call->retry_after = 1 + wait / 1000000000;
	return fail(why, -EBUSY, "send less, or have --sender-limit raised",
		    "this token's films of an hour are all sent");
}

/* Whether the token has asked too much. */
static int check_questions(struct call *call, struct fail *why)
{
	const struct access_grant *grant = &call->grant;
	uint64_t wait = grant->questions ? quota_ask(call->server->state.quota, grant->sender,
						     grant->questions, clock_ns())
					 : 0;

	if (!wait)
		return 0;
	call->status = MHD_HTTP_TOO_MANY_REQUESTS;
	call->retry_after = 1 + wait / 1000000000;
	return fail(why, -EBUSY, "ask less often, or have its 'questions=' raised",
		    "this token's questions of a minute are all asked");
}

/* Whom a proxy names, whose word is taken for it. */
static void set_user(struct call *call)
{
	const struct server *server = call->server;
	const char *user = server->user_header ? call_header(call, server->user_header) : NULL;
	struct peer peer;

	if (!user)
		return;
	peer = watch_peer(call->watched);
	for (size_t i = 0; i < server->proxy_count; i++)
		if (peer_same(server->proxies[i], peer))
			snprintf(call->user, sizeof(call->user), "%s", user);
}

/* What may be in memory at a time is shared by all requests. */
static bool reserve(struct call *call, uint64_t bytes)
{
	if (atomic_fetch_add(&call->server->body_bytes, bytes) + bytes > BODIES_MAX) {
		atomic_fetch_sub(&call->server->body_bytes, bytes);
		return false;
	}
	call->reserved = bytes;
	return true;
}

static int open_body(struct call *call, const struct framing *f, struct fail *why)
{
	const struct route *route = call->route;
	bool in_file = route->body == ROUTE_IN_FILE;
	const struct http_request request = {.state = &call->server->state,
					     .spool = call->server->state.spool};
	uint64_t max = route->body_max;
	char path[PATH_MAX];

	if (!max)
		max = in_file ? ROUTE_FILE_MAX : ROUTE_MEMORY_MAX;
	if (route->body == ROUTE_NO_BODY)
		max = 0;
	if (f->lengths && f->length > max)
		return fail(why, -E2BIG, NULL, "at most %" PRIu64 " bytes are taken here", max);
	if (route->body == ROUTE_NO_BODY)
		return body_open(&call->body, NULL, 0, why);
	if (!in_file && !reserve(call, f->lengths ? f->length : max))
		return fail(why, -EBUSY, NULL, "too much is being sent at the same time");
	request_spool_name(&request, path, sizeof(path));
	return body_open(&call->body, in_file ? path : NULL, max, why);
}

int call_begin(struct call *call, const char *method, struct fail *why)
{
	struct framing framing = {0};
	struct fail missing = {0};
	int err = check_framing(call, &framing, why), lost;

	call->is_head = !strcmp(method, "HEAD");
	if (call->is_head)
		method = "GET";
	if (!err)
		err = url_parse(call->raw, &call->url, why);
	if (err)
		return err;
	set_user(call);
	lost = find_route(call, method, &missing);
	/* a client that may not ask does not learn what there is */
	err = check_access(call, strcmp(method, "GET") != 0, why);
	if (!err && lost)
		*why = missing;
	if (!err)
		err = lost;
	if (!err && call->route->lane == LANE_PUSH)
		err = check_quota(call, why);
	if (!err && call->route->lane == LANE_QUESTION)
		err = check_questions(call, why);
	return err ? err : open_body(call, &framing, why);
}
