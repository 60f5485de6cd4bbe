// SPDX-License-Identifier: Apache-2.0
/* Spans of traces: taken from OpenTelemetry's clients, and those of a trace or of a process. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/protobuf.h"
#include "server/api.h"
#include "server/ask.h"
#include "server/push.h"
#include "exchange/otlp/spans.h"
#include "server/put.h"
#include "show/spans.h"
#include "store/spans.h"

enum {
	LISTED = 1000,
	LISTED_MAX = 10000,
};

/* -- taking ------------------------------------------------------------------------------------ */

static bool is_type(const char *type, const char *wanted)
{
	size_t size = strlen(wanted);

	return type && !strncasecmp(type, wanted, size) && strchr("; ", type[size]);
}

/* Spans of a machine come with its own token alone, if that has a host. */
static int check_hosts(const struct http_request *request, struct otlp_spans *spans,
		       struct fail *why)
{
	const char *bound = request->grant->host;

	if (!*bound)
		return 0;
	vec_foreach (&spans->all, span) {
		if (!*span->host)
			span->host = bound;
		if (strcmp(span->host, bound) != 0)
			return fail(why, -EPERM, "set host.name so, or use another token",
				    "this token sends spans of %.64s only, and not of %.64s", bound,
				    span->host);
	}
	return 0;
}

/* An ExportTraceServiceResponse: empty, or with what was rejected and why. */
static void answer_protobuf(const struct otlp_spans *spans, struct answer *answer)
{
	struct buf inner = {0}, all = {0};

	answer->type = "application/x-protobuf";
	if (!spans->rejected)
		return;
	proto_number(&inner, 1, spans->rejected);
	proto_text(&inner, 2, spans->reason);
	proto_message(&all, 1, &inner);
	fwrite(all.at, 1, all.failed ? 0 : all.count, answer->out);
	buf_free(&inner);
	buf_free(&all);
}

static void answer_json(const struct otlp_spans *spans, struct answer *answer)
{
	struct json j = {.out = answer->out};
	char count[24];

	json_open(&j, NULL, '{');
	if (spans->rejected) {
		/* numbers of 64 bits are texts there */
		snprintf(count, sizeof(count), "%" PRIu64, spans->rejected);
		json_open(&j, "partialSuccess", '{');
		json_text(&j, "rejectedSpans", count);
		json_text(&j, "errorMessage", spans->reason);
		json_close(&j, '}');
	}
	json_close(&j, '}');
}

int push_traces(const struct http_request *request, struct answer *answer, struct fail *why)
{
	const char *type = request_header(request, "Content-Type");
	struct otlp_spans spans = {.now = clock_wall()};
	bool is_json = is_type(type, "application/json");
	struct spans_added added;
	int err;

	if (!request->spool)
		return fail(why, -EOPNOTSUPP, "send them to 'stackcam serve'",
			    "cannot take these spans: nothing is kept here");
	if (is_json)
		err = otlp_spans_json(&spans, request->body, request->body_size, why);
	else if (is_type(type, "application/x-protobuf") || is_type(type, "application/protobuf"))
		err = otlp_spans_protobuf(&spans, request->body, request->body_size, why);
	else
		err = fail(why, -EOPNOTSUPP,
			   "send OTLP over HTTP, as application/x-protobuf or application/json",
			   "cannot take these spans: their Content-Type is not understood");
	if (!err)
		err = check_hosts(request, &spans, why);
	if (!err && spans.all.count)
		err = store_spans_add(request->store, spans.all.at, spans.all.count, &added, why);
	answer->no_store = true;
	if (!err && is_json)
		answer_json(&spans, answer);
	else if (!err)
		answer_protobuf(&spans, answer);
	otlp_spans_free(&spans);
	return err;
}

/* -- asking ------------------------------------------------------------------------------------ */

int api_spans(const struct http_request *request, struct answer *answer, struct fail *why)
{
	const char *trace = request_parameter(request, "trace");
	struct spans_wanted wanted = {.to = INT64_MAX};
	struct json j = {.out = answer->out};
	struct store_spans_status status;
	struct spans_found found = {0};
	uint8_t id[SPAN_TRACE];
	struct server_ask ask;
	uint64_t limit = LISTED;
	int err = ask_request(request, "trace limit", &ask, why);

	if (!err)
		err = ask_number(request->url, "limit", 1, LISTED_MAX, LISTED, &limit, why);
	if (!err && trace && *trace && !span_trace_parse(trace, id))
		err = fail(why, -EINVAL, NULL, "trace is an id of 32 hexadecimal digits");
	if (!err) {
		wanted.trace = trace && *trace ? id : NULL;
		wanted.host = ask.ask.host;
		wanted.services = ask.ask.services;
		wanted.pids = ask.question.filter.pids.at;
		wanted.pid_count = ask.question.filter.pids.count;
		wanted.from = ask.ask.from;
		wanted.to = ask.ask.to ? ask.ask.to : INT64_MAX;
		wanted.limit = limit;
		err = store_spans_find(request->store, &wanted, &found, why);
	}
	if (!err) {
		store_spans_status(request->store, &status);
		json_open(&j, NULL, '{');
		if (show_spans_json(&j, "spans", &found))
			err = fail_errno(why, -ENOMEM, NULL, "cannot answer");
		json_bool(&j, "cut", found.is_cut);
		json_u64(&j, "kept", status.spans);
		json_u64(&j, "dropped", status.dropped);
		json_close(&j, '}');
	}
	spans_found_free(&found);
	ask_free(&ask);
	return err;
}
