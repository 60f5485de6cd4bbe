// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "server/internal.h"
#include "server/spent.h"

/*
 * Called as soon as a request's first line is known. What it returns is the call in all that
 * follows.
 */
void *handle_address(void *context, const char *uri, struct MHD_Connection *connection)
{
	struct call *call = calloc(1, sizeof(*call));
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	if (!call)
		return NULL;
	call->server = context;
	call->connection = connection;
	call->watched = info ? info->socket_context : NULL;
	call->body.fd = -1;
	call->began = clock_ns();
	call->raw = strdup(uri);
	if (call->raw)
		return call;
	free(call);
	return NULL;
}

/* Requests that no route is for, and those that ended without an answer, are not counted. */
static void count_served(const struct call *call)
{
	enum served_outcome outcome = call->status < 400   ? SERVED_ANSWERED
				      : call->status < 500 ? SERVED_REFUSED
							   : SERVED_FAILED;

	if (call->route && call->status)
		atomic_fetch_add(&call->server->state.served.requests[call->route->lane][outcome],
				 1);
}

/* Questions, what is recorded, and what was refused: not the films that agents send. */
static bool is_audited(const struct call *call)
{
	const struct route *route = call->route;
	bool is_refused =
		call->status == MHD_HTTP_UNAUTHORIZED || call->status == MHD_HTTP_FORBIDDEN;

	return call->server->state.audit && route && !route->is_open &&
	       (route->lane != LANE_PUSH || route->is_record || is_refused);
}

static void audit(const struct call *call)
{
	struct peer peer = watch_peer(call->watched);
	char address[INET6_ADDRSTRLEN], sender[24] = "";
	const struct access_grant *grant = &call->grant;
	const struct audit_line line = {
		.time = clock_wall(),
		.user = call->user,
		.token = *grant->name ? grant->name : sender,
		.address = peer_text(peer, address),
		.method = call->route->method,
		.route = call->route->path,
		.status = call->status,
		.asked = &call->asked,
		.bytes = call->status == MHD_HTTP_NOT_MODIFIED ? 0 : call->sent,
		.ns = clock_ns() - call->began,
	};

	if (grant->sender)
		snprintf(sender, sizeof(sender), "%016" PRIx64, grant->sender);
	audit_put(call->server->state.audit, &line);
}

void handle_end(void *context, struct MHD_Connection *connection, void **call_at,
		enum MHD_RequestTerminationCode how)
{
	struct call *call = *call_at;

	(void)context;
	(void)connection;
	(void)how;
	if (!call)
		return;
	watch_set(call->server->watch, call->watched, WATCH_IDLE);
	count_served(call);
	if (is_audited(call))
		audit(call);
	spent_leave(call);
	atomic_fetch_sub(&call->server->body_bytes, call->reserved);
	body_close(&call->body);
	url_free(&call->url);
	free(call->raw);
	free(call);
	*call_at = NULL;
}

void handle_connection(void *context, struct MHD_Connection *connection, void **watched,
		       enum MHD_ConnectionNotificationCode what)
{
	struct server *server = context;
	const union MHD_ConnectionInfo *info;
	struct peer peer;

	spent_go_on(server);
	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		watch_remove(server->watch, *watched);
		*watched = NULL;
		return;
	}
	/* each call may overwrite what the one before it has returned, and does since 1.0 */
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	peer = peer_of(info ? info->client_addr : NULL);
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	*watched = info ? watch_add(server->watch, info->connect_fd, peer) : NULL;
}

/*
 * Sends the response that was made; MHD_NO ends the connection, where there was no memory for one.
 * What a worker made is kept until the call ends: see spent.h.
 */
static enum MHD_Result send_response(struct call *call)
{
	enum MHD_Result done;

	if (!call->response)
		return MHD_NO;
	watch_set(call->server->watch, call->watched, WATCH_SENDING);
	done = MHD_queue_response(call->connection, call->status, call->response);
	if (!call->was_worked_on) {
		MHD_destroy_response(call->response);
		call->response = NULL;
	}
	return done;
}

static enum MHD_Result send_failure(struct call *call, unsigned int status, const struct fail *why)
{
	call->response = respond_failure(call, status, why);
	return send_response(call);
}

static enum MHD_Result begin(struct call *call, const char *method)
{
	struct fail why = {0};
	int err = call_begin(call, method, &why);

	call->has_begun = true;
	if (err)
		return send_failure(call, call->status ? call->status : respond_status(err), &why);
	watch_set(call->server->watch, call->watched, WATCH_RECEIVING);
	return MHD_YES;
}

static enum MHD_Result add_upload(struct call *call, const char *upload, size_t *upload_size)
{
	body_add(&call->body, upload, *upload_size);
	*upload_size = 0;
	/* the answer says that it is too much, but only who then stops gets to read it */
	return call->body.count > 2 * call->body.max + (1 << 20) ? MHD_NO : MHD_YES;
}

/*
 * The answer is whole. It stays in memory until the client has taken it, and who takes it slowly
 * could have many of them made: what all of them take is bounded.
 */
static int finish(struct call *call, struct out *out, struct fail *why)
{
	struct server *server = call->server;
	int err = out_finish(out);

	if (err == -E2BIG)
		return fail(why, -EINVAL, "ask for a shorter time, or for less",
			    "the answer is too large");
	if (err)
		return fail_errno(why, err, NULL, "cannot answer");
	call->sent = out->bytes.count;
	if (atomic_fetch_add(&server->answer_bytes, call->sent) + call->sent <= server->answer_max)
		return 0;
	return fail(why, -EBUSY, "ask again a little later",
		    "too many answers are waiting for those who asked");
}

/* What is answered at once is small, or packed already. */
static enum out_coding coding_of(const struct call *call)
{
	return call->route->lane == LANE_LIGHT ? OUT_PLAIN
					       : out_choose(call_header(call, "Accept-Encoding"));
}

/* Makes the answer: in a worker, or at once where that takes no work. */
static void make_answer(struct call *call)
{
	const struct server *server = call->server;
	struct http_request request = {
		.method = call->route->method,
		.url = &call->url,
		.state = &call->server->state,
		.store = server->state.store,
		.spool = server->state.spool,
		.connection = call->connection,
		.grant = &call->grant,
		.asked = &call->asked,
		.gone = watch_gone(call->watched),
	};
	struct answer answer = {.status = MHD_HTTP_OK, .type = "application/json"};
	struct fail why = {0};
	struct out out = {0};
	int err = body_finish(&call->body, call_header(call, "Content-Encoding"), &why);

	request.body = call->body.bytes.at;
	request.body_size = call->body.bytes.count;
	request.body_path = *call->body.path ? call->body.path : NULL;
	if (!err && out_open(&out, coding_of(call), &answer.packed))
		err = fail_errno(&why, -ENOMEM, NULL, "cannot answer");
	/* as it is without its encoding, whether it is taken or not */
	if (call->route->lane == LANE_PUSH)
		quota_charge(server->state.quota, call->grant.sender, call->body.count, clock_ns());
	if (!err) {
		answer.out = out.file;
		err = call->route->answer(&request, &answer, &why);
		if (!err) {
			err = finish(call, &out, &why);
			/* it is kept: 503 and 507 would say that it is not */
			if (err && call->route->lane == LANE_PUSH)
				answer.status = MHD_HTTP_INTERNAL_SERVER_ERROR;
		}
	}
	if (!err)
		call->response = respond(call, &answer, &out);
	out_close(&out);
	/* not only when the client has taken the answer */
	body_close(&call->body);
	if (err)
		call->response = respond_failure(
			call, answer.status >= 400 ? answer.status : respond_status(err), &why);
}

void handle_work(void *context, void *item)
{
	struct call *call = item;
	struct server *server = context;
	uint64_t start = clock_ns();
	struct fail why = {0};

	const atomic_bool *gone = watch_gone(call->watched);

	if (server->is_ending || (call->route->lane == LANE_QUESTION && gone && *gone)) {
		fail(&why, -EBUSY, NULL,
		     server->is_ending ? "this server is ending"
				       : "no client waits for the answer");
		call->response = respond_failure(call, MHD_HTTP_SERVICE_UNAVAILABLE, &why);
	} else {
		make_answer(call);
	}
	if (call->route->lane == LANE_QUESTION)
		atomic_fetch_add(&server->state.served.question_ns, clock_ns() - start);
	/* from here on the call belongs to the thread of the connections */
	MHD_resume_connection(call->connection);
}

static enum MHD_Result answer(struct call *call)
{
	struct server *server = call->server;
	struct fail why = {0};

	if (call->status)
		return send_response(call);
	if (call->route->lane == LANE_LIGHT) {
		make_answer(call);
		return send_response(call);
	}
	if (!workers_reserve(server->lanes[call->route->lane])) {
		fail(&why, -EBUSY, "ask again a little later", "this server has too much to do");
		return send_failure(call, MHD_HTTP_SERVICE_UNAVAILABLE, &why);
	}
	call->was_worked_on = true;
	watch_set(server->watch, call->watched, WATCH_ANSWERING);
	MHD_suspend_connection(call->connection);
	workers_put(server->lanes[call->route->lane], call);
	return MHD_YES;
}

enum MHD_Result handle_request(void *context, struct MHD_Connection *connection, const char *url,
			       const char *method, const char *version, const char *upload,
			       size_t *upload_size, void **call_at)
{
	struct call *call = *call_at;

	(void)context;
	(void)connection;
	(void)url;
	(void)version;
	if (!call)
		return MHD_NO;
	if (!call->has_begun)
		return begin(call, method);
	if (*upload_size)
		return add_upload(call, upload, upload_size);
	return answer(call);
}
