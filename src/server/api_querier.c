// SPDX-License-Identifier: Apache-2.0
/*
 * The service that Grafana's data source for Pyroscope queries, by the Connect protocol: a POST of
 * a message to /querier.v1.QuerierService/METHOD, as protobuf or JSON
 * (https://connectrpc.com/docs/protocol).
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "server/api.h"
#include "server/querier.h"

static const char *part_of(char *id, char **rest)
{
	char *colon = strchr(id, ':');

	if (colon)
		*colon = 0;
	*rest = colon ? colon + 1 : id + strlen(id);
	return id;
}

static void put_type(struct message *m, const char *id)
{
	static const struct {
		unsigned int field;
		const char *name;
	} parts[] = {{2, "name"},
		     {4, "sampleType"},
		     {5, "sampleUnit"},
		     {6, "periodType"},
		     {7, "periodUnit"}};
	char copy[QUERIER_ID_MAX + 1], *rest = copy;

	memcpy(copy, id, strlen(id) + 1);
	message_open(m, 1, NULL);
	message_text(m, 1, "ID", id);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		message_text(m, parts[i].field, parts[i].name, part_of(rest, &rest));
	message_close(m);
}

/* Grafana also calls this to check whether the data source works. */
static int list_types(const struct http_request *request, const struct pyroscope_query *query,
		      struct message *m, struct fail *why)
{
	struct store_event events[STORE_EVENTS_MAX];
	size_t count = store_events(request->store, events, STORE_EVENTS_MAX);
	char id[QUERIER_ID_MAX + 1];

	(void)query;
	(void)why;
	message_list(m, "profileTypes");
	for (size_t i = 0; i < count; i++)
		if (querier_is_profile(&events[i])) {
			querier_type_id(&events[i], id);
			put_type(m, id);
		}
	message_list_end(m);
	return 0;
}

static int show_stats(const struct http_request *request, const struct pyroscope_query *query,
		      struct message *m, struct fail *why)
{
	struct store_status status = {0};

	(void)query;
	(void)why;
	store_status(request->store, &status);
	message_bool(m, 1, "dataIngested", status.last != 0);
	message_number(m, 2, "oldestProfileTime", status.first / MS_NS);
	message_number(m, 3, "newestProfileTime", status.last / MS_NS);
	return 0;
}

typedef int answer_function(const struct http_request *request, const struct pyroscope_query *query,
			    struct message *m, struct fail *why);

static const struct {
	const char *name;
	enum pyroscope_method method;
	answer_function *answer;
} methods[] = {
	{"ProfileTypes", PYROSCOPE_PROFILE_TYPES, list_types},
	{"LabelNames", PYROSCOPE_LABEL_NAMES, querier_label_names},
	{"LabelValues", PYROSCOPE_LABEL_VALUES, querier_label_values},
	{"Series", PYROSCOPE_SERIES, querier_series},
	{"SelectMergeStacktraces", PYROSCOPE_STACKTRACES, querier_stacktraces},
	{"SelectSeries", PYROSCOPE_SELECT_SERIES, querier_select_series},
	{"GetProfileStats", PYROSCOPE_STATS, show_stats},
};

/* A failure, as Connect has it: a code that belongs to the status, and a text. */
static void put_failure(struct answer *answer, int err, const struct fail *why)
{
	static const struct {
		int err;
		unsigned int status;
		const char *code;
	} codes[] = {
		{-EINVAL, 400, "invalid_argument"},  {-EBADMSG, 400, "invalid_argument"},
		{-EPERM, 403, "permission_denied"},  {-E2BIG, 429, "resource_exhausted"},
		{-EOPNOTSUPP, 501, "unimplemented"}, {-ENOENT, 404, "not_found"},
		{-ECANCELED, 499, "canceled"},	     {-ENOMEM, 503, "unavailable"},
		{-EBUSY, 503, "unavailable"},	     {0, 500, "internal"},
	};
	struct json j = {.out = answer->out};
	size_t i = 0;

	while (codes[i].err && codes[i].err != err)
		i++;
	answer->status = codes[i].status;
	answer->type = "application/json";
	json_open(&j, NULL, '{');
	json_text(&j, "code", codes[i].code);
	json_text(&j, "message", why->what);
	json_close(&j, '}');
}

/* 0, or -EOPNOTSUPP: the body is neither JSON nor protobuf. */
static int read_type(const struct http_request *request, bool *is_json, struct fail *why)
{
	const char *type = request_header(request, "Content-Type");
	size_t length = type ? strcspn(type, "; ") : 0;

	*is_json = length == strlen("application/json") &&
		   !strncasecmp(type, "application/json", length);
	if (*is_json || (length == strlen("application/proto") &&
			 !strncasecmp(type, "application/proto", length)))
		return 0;
	return fail(why, -EOPNOTSUPP, "send application/proto or application/json",
		    "cannot answer: the Content-Type is not understood");
}

/* The answer is empty where the store has no such profiles. */
static int answer_query(const struct http_request *request, size_t of, bool is_json,
			struct answer *answer, struct fail *why)
{
	struct pyroscope_query query = {0};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct message m;
	int err = out ? pyroscope_query_read(methods[of].method, is_json, request->body,
					     request->body_size, &query, why)
		      : fail_errno(why, -ENOMEM, NULL, "cannot answer");

	if (!err) {
		message_begin(&m, is_json, out);
		err = methods[of].answer(request, &query, &m, why);
		if (message_end(&m) && !err)
			err = fail_errno(why, -ENOMEM, NULL, "cannot answer");
	}
	if (out && fclose(out) && !err)
		err = fail_errno(why, -ENOMEM, NULL, "cannot answer");
	if (!err)
		fwrite(text, 1, size, answer->out);
	free(text);
	pyroscope_query_free(&query);
	return err;
}

int api_querier(const struct http_request *request, struct answer *answer, struct fail *why)
{
	const char *name = strrchr(request->url->path, '/') + 1;
	bool is_json = true;
	size_t of = 0;
	int err = read_type(request, &is_json, why);

	while (strcmp(methods[of].name, name) != 0)
		of++;
	answer->no_store = true;
	answer->type = is_json ? "application/json" : "application/proto";
	if (!err)
		err = answer_query(request, of, is_json, answer, why);
	if (err)
		put_failure(answer, err, why);
	return 0;
}
