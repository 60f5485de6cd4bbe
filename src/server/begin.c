// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

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

const char *request_header(const struct request *request, const char *name)
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
 * Where a body ends must be said once and plainly: two readers that understand it differently (a proxy and this
 * server) could be made to see different requests.
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

static int check_access(struct call *call, bool is_post, struct fail *why)
{
	struct server *server = call->server;
	struct access_request request = {
		.host = call_header(call, "Host"),
		.origin = call_header(call, "Origin"),
		.fetch_site = call_header(call, "Sec-Fetch-Site"),
		.authorization = call_header(call, "Authorization"),
		.is_post = is_post,
		.is_open = call->route && call->route->is_open,
	};
	int err;

	if (server->needs_certificate && !tls_has_certificate(call->connection)) {
		call->status = MHD_HTTP_FORBIDDEN;
		return fail(why, -EPERM, NULL,
			    "this server answers only clients with a certificate of its CA");
	}
	pthread_mutex_lock(&server->lock);
	err = access_check(server->token, server->loopback, &request, why);
	pthread_mutex_unlock(&server->lock);
	if (err)
		call->status = err == -EACCES ? MHD_HTTP_UNAUTHORIZED : MHD_HTTP_FORBIDDEN;
	return err;
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
	struct request request = {.state = &call->server->state,
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
	if (!request.spool)
		return fail(why, -EOPNOTSUPP, NULL, "this server takes no films");
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
	lost = find_route(call, method, &missing);
	/* who may not ask does not learn what there is */
	err = check_access(call, strcmp(method, "GET") != 0, why);
	if (!err && lost)
		*why = missing;
	if (!err)
		err = lost;
	return err ? err : open_body(call, &framing, why);
}
