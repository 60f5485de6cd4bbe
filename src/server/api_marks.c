// SPDX-License-Identifier: Apache-2.0
/* Marks: deployments and the like, as clients send them, and new versions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/globs.h"
#include "server/api.h"
#include "server/ask.h"
#include "server/put.h"
#include "store/marks.h"

enum {
	MARKS = 200,
	MARKS_MAX = 10000,
};

static void put_mark(struct json *j, const char *key, const struct store_mark *mark)
{
	json_open(j, key, '{');
	put_time(j, "time", mark->time);
	json_text(j, "host", mark->host);
	json_text(j, "service", mark->service);
	json_text(j, "version", mark->version);
	json_text(j, "text", mark->text);
	json_bool(j, "derived", mark->is_derived);
	json_close(j, '}');
}

int api_marks(const struct http_request *request, struct answer *answer, struct fail *why)
{
	struct json j = {.out = answer->out};
	struct store_mark_list list = {0};
	struct server_ask ask;
	uint64_t limit;
	int err = ask_request(request, "limit", &ask, why);

	if (!err)
		err = ask_number(request->url, "limit", 1, MARKS_MAX, MARKS, &limit, why);
	if (!err)
		err = store_marks(request->store, &ask.ask, limit, &list, why);
	if (!err) {
		json_open(&j, NULL, '{');
		put_time(&j, "from", list.from);
		put_time(&j, "to", list.to);
		json_open(&j, "marks", '[');
		for (size_t i = 0; i < list.count; i++)
			put_mark(&j, NULL, &list.at[i]);
		json_close(&j, ']');
		json_u64(&j, "others", list.others);
		json_close(&j, '}');
	}
	store_marks_free(&list);
	ask_free(&ask);
	return err;
}

/* What a form says, or the address; "" where it is in neither. */
static const char *value_of(const struct http_request *request, const struct url *form,
			    const char *name)
{
	const char *value = url_value(form, name);

	value = value ? value : request_parameter(request, name);
	return value ? value : "";
}

static int check_names(const struct url *url, struct fail *why)
{
	static const char *const names[] = {"time", "host", "service", "version", "text"};

	for (size_t i = 0; i < url->count; i++) {
		bool is_known = false;

		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
			is_known = is_known || !strcmp(url->parameters[i].name, names[k]);
		if (!is_known)
			return fail(
				why, -EINVAL, NULL,
				"a mark has time, host, service, version and text, and no '%.64s'",
				url->parameters[i].name);
	}
	return 0;
}

/* The body as it is, behind a path, as url_parse() takes it. */
static int parse_form(const struct http_request *request, struct url *form, struct fail *why)
{
	static const char path[] = "/form?";
	const size_t before = sizeof(path) - 1;
	char *text = malloc(before + request->body_size + 1);
	int err;

	if (!text)
		return fail_errno(why, -ENOMEM, NULL, "cannot take the mark");
	memcpy(text, path, before);
	if (request->body_size)
		memcpy(text + before, request->body, request->body_size);
	text[before + request->body_size] = 0;
	if (memchr(text, 0, before + request->body_size))
		err = fail(why, -EINVAL, NULL, "the body has a zero byte, and is not a form");
	else
		err = url_parse(text, form, why);
	free(text);
	return err ? err : check_names(form, why);
}

static int parse_mark(const struct http_request *request, const struct url *form,
		      struct store_mark *mark, struct fail *why)
{
	const char *time = value_of(request, form, "time"), *bound = request->grant->host;
	const char *services = access_services(request->grant);

	*mark = (struct store_mark){
		.time = clock_wall(),
		.host = value_of(request, form, "host"),
		.service = value_of(request, form, "service"),
		.version = value_of(request, form, "version"),
		.text = value_of(request, form, "text"),
	};
	if (!request->spool)
		return fail(why, -EOPNOTSUPP, "send it to 'stackcam serve'",
			    "cannot take this mark: nothing is kept here");
	if (!*mark->service && !*mark->text)
		return fail(why, -EINVAL, NULL, "a mark needs a service or a text");
	if (services && !globs_match(services, mark->service))
		return fail(why, -EPERM, "use another token of the server's file",
			    "this token is of other services than '%.64s'", mark->service);
	if (*bound && *mark->host && strcmp(bound, mark->host) != 0)
		return fail(why, -EPERM, "name the machine so, or use another token",
			    "this token sends marks of %.64s only, and not of %.64s", bound,
			    mark->host);
	if (*bound)
		mark->host = bound;
	return *time ? ask_time(time, mark->time, &mark->time, why) : 0;
}

int api_add_mark(const struct http_request *request, struct answer *answer, struct fail *why)
{
	struct json j = {.out = answer->out};
	struct url form = {0};
	struct store_mark mark;
	int err = check_names(request->url, why);

	if (!err)
		err = parse_form(request, &form, why);
	if (!err)
		err = parse_mark(request, &form, &mark, why);
	if (!err)
		err = store_mark(request->store, &mark, why);
	if (!err)
		put_mark(&j, NULL, &mark);
	answer->no_store = true;
	url_free(&form);
	return err;
}
