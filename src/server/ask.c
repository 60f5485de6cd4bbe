// SPDX-License-Identifier: Apache-2.0
#include "server/ask.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "server/audit.h"

#define BEFORE "before_"

static int parse_text(const char *name, const char *value, const char **to, struct fail *why)
{
	if (strlen(value) > ASK_TEXT_MAX)
		return fail(why, -EINVAL, NULL, "%s is longer than %d bytes", name, ASK_TEXT_MAX);
	/* an empty one is what a form sends for "all" */
	*to = *value ? value : NULL;
	return 0;
}

static int parse_label(struct server_ask *ask, const char *value, struct fail *why)
{
	const char *equals = strchr(value, '=');

	if (!*value)
		return 0; /* with "before_": none of those on the other side */
	if (!equals || equals == value || strlen(value) > ASK_TEXT_MAX)
		return fail(why, -EINVAL, NULL, "label is KEY=VALUE, of at most %d bytes",
			    ASK_TEXT_MAX);
	if (ask->ask.label_count == ASK_LABELS_MAX)
		return fail(why, -EINVAL, NULL, "at most %d labels can be asked for",
			    ASK_LABELS_MAX);
	ask->labels[ask->ask.label_count++] = value;
	return 0;
}

static int parse_ids(struct server_ask *ask, int option, const char *name, const char *value,
		     struct fail *why)
{
	size_t count = 1;

	for (const char *at = value; *at; at++)
		count += *at == ',';
	if (count > ASK_LIST_MAX)
		return fail(why, -EINVAL, NULL, "%s lists more than %d numbers", name,
			    ASK_LIST_MAX);
	return question_parse(&ask->question, option, value, why);
}

static int parse_comm(struct server_ask *ask, const char *value, struct fail *why)
{
	if (strlen(value) > ASK_TEXT_MAX || ask->question.filter.comms.count == ASK_LIST_MAX)
		return fail(why, -EINVAL, NULL, "comm is too long, or given too often");
	return question_parse(&ask->question, QUESTION_COMM, value, why);
}

static int parse_regex(struct server_ask *ask, int option, const char *name, const char *value,
		       struct fail *why)
{
	if (!*value)
		return 0;
	if (strlen(value) > ASK_REGEX_MAX)
		return fail(why, -EINVAL, NULL, "%s is longer than %d bytes", name, ASK_REGEX_MAX);
	return question_parse(&ask->question, option, value, why);
}

static int parse_groups(struct server_ask *ask, const char *value, struct fail *why)
{
	int err = question_parse(&ask->question, QUESTION_BY, value, why);

	if (!err && ask->question.by_value)
		return fail(why, -EINVAL, "/api/v1/values does", "'%.64s' groups no stacks", value);
	return err;
}

static int parse_flag(const char *name, const char *value, bool *flag, struct fail *why)
{
	*flag = !strcmp(value, "1") || !strcmp(value, "true");
	if (*flag || !strcmp(value, "0") || !strcmp(value, "false"))
		return 0;
	return fail(why, -EINVAL, NULL, "%s is 0 or 1, not '%.64s'", name, value);
}

enum name {
	NAME_EVENT,
	NAME_FROM,
	NAME_TO,
	NAME_HOST,
	NAME_SERVICE,
	NAME_VERSION,
	NAME_LABEL,
	NAME_PID,
	NAME_TID,
	NAME_COMM,
	NAME_FOCUS,
	NAME_IGNORE,
	NAME_BY,
	NAME_LINES,
	NAME_INLINES,
	NAME_NATIVE,
	NAME_LEAKS,
	NAME_GROWN,
	NAMES
};

static const char *const names[NAMES] = {
	"event", "from",  "to",	    "host", "service", "version", "label",  "pid",   "tid",
	"comm",	 "focus", "ignore", "by",   "lines",   "inlines", "native", "leaks", "grown",
};

static bool is_repeatable(enum name name)
{
	return name == NAME_LABEL || name == NAME_COMM;
}

static int parse_one(struct server_ask *ask, enum name name, const char *value, uint64_t now,
		     struct fail *why)
{
	struct shape *shape = &ask->question.shape;

	switch (name) {
	case NAME_EVENT:
		return parse_text("event", value, &ask->ask.event, why);
	case NAME_FROM:
		return *value ? ask_time(value, now, &ask->ask.from, why) : 0;
	case NAME_TO:
		return *value ? ask_time(value, now, &ask->ask.to, why) : 0;
	case NAME_HOST:
		return parse_text("host", value, &ask->ask.host, why);
	case NAME_SERVICE:
		return parse_text("service", value, &ask->ask.service, why);
	case NAME_VERSION:
		return parse_text("version", value, &ask->ask.version, why);
	case NAME_LABEL:
		return parse_label(ask, value, why);
	case NAME_PID:
		return parse_ids(ask, QUESTION_PID, "pid", value, why);
	case NAME_TID:
		return parse_ids(ask, QUESTION_TID, "tid", value, why);
	case NAME_COMM:
		return parse_comm(ask, value, why);
	case NAME_FOCUS:
		return parse_regex(ask, QUESTION_FOCUS, "focus", value, why);
	case NAME_IGNORE:
		return parse_regex(ask, QUESTION_IGNORE, "ignore", value, why);
	case NAME_BY:
		return *value ? parse_groups(ask, value, why) : 0;
	case NAME_LINES:
		return parse_flag("lines", value, &shape->lines, why);
	case NAME_INLINES:
		return parse_flag("inlines", value, &shape->inlines, why);
	case NAME_NATIVE:
		return parse_flag("native", value, &shape->native, why);
	case NAME_LEAKS:
		return *value ? question_parse(&ask->question, QUESTION_LEAKS, value, why) : 0;
	case NAME_GROWN:
		return *value ? question_parse(&ask->question, QUESTION_GROWN, value, why) : 0;
	case NAMES:
		break;
	}
	return -EINVAL;
}

static enum name name_of(const char *text)
{
	int i = 0;

	while (i < NAMES && strcmp(names[i], text))
		i++;
	return (enum name)i;
}

/* Whether a list separated by blanks has that word. */
static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (; length && *list; list += strcspn(list, " "), list += *list == ' ')
		if (strcspn(list, " ") == length && !memcmp(list, word, length))
			return true;
	return false;
}

static bool is_given_before(const struct url *url, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(url->parameters[k].name, url->parameters[i].name))
			return true;
	return false;
}

static bool has_prefix(const char *name)
{
	return !strncmp(name, BEFORE, strlen(BEFORE));
}

/* Refuses what is not known. */
static int check_names(const struct url *url, const char *own, bool is_pair, struct fail *why)
{
	for (size_t i = 0; i < url->count; i++) {
		const char *name = url->parameters[i].name;
		const char *plain = is_pair && has_prefix(name) ? name + strlen(BEFORE) : name;
		enum name known = name_of(plain);

		if (known == NAMES && !has_word(own, name))
			return fail(why, -EINVAL, "/api/v1/openapi.json says which there are",
				    "there is no parameter '%.64s' here", name);
		if ((known == NAMES || !is_repeatable(known)) && is_given_before(url, i))
			return fail(why, -EINVAL, NULL, "'%.64s' is given twice", name);
	}
	return 0;
}

/* What is there with the prefix stands for all of that name without. */
static bool is_replaced(const struct url *url, const char *name)
{
	for (size_t i = 0; i < url->count; i++)
		if (has_prefix(url->parameters[i].name) &&
		    !strcmp(url->parameters[i].name + strlen(BEFORE), name))
			return true;
	return false;
}

static int finish(struct server_ask *ask, uint64_t now, struct fail *why)
{
	struct store_ask *to = &ask->ask;

	to->question = &ask->question;
	to->labels = ask->labels;
	if (to->from && !to->to)
		to->to = now;
	if ((to->from || to->to) && to->from >= to->to)
		return fail(why, -EINVAL, NULL,
			    "the time ends before it begins: from is not before to");
	return 0;
}

static int parse_all(const struct url *url, bool before, uint64_t now, struct server_ask *ask,
		     struct fail *why)
{
	int err = 0;

	*ask = (struct server_ask){0};
	for (size_t i = 0; !err && i < url->count; i++) {
		const char *name = url->parameters[i].name;
		enum name known;

		if (before ? has_prefix(name) : false)
			name += strlen(BEFORE);
		else if (before && is_replaced(url, name))
			continue;
		known = name_of(name);
		if (known != NAMES)
			err = parse_one(ask, known, url->parameters[i].value, now, why);
	}
	return err ? err : finish(ask, now, why);
}

int ask_parse(const struct url *url, const char *own, uint64_t now, struct server_ask *ask,
	      struct fail *why)
{
	int err = check_names(url, own, false, why);

	*ask = (struct server_ask){0};
	return err ? err : parse_all(url, false, now, ask, why);
}

int ask_parse_two(const struct url *url, const char *own, uint64_t now, struct server_ask *before,
		  struct server_ask *ask, struct fail *why)
{
	int err = check_names(url, own, true, why);

	*ask = *before = (struct server_ask){0};
	if (!err)
		err = parse_all(url, false, now, ask, why);
	return err ? err : parse_all(url, true, now, before, why);
}

/* What is asked, for the audit. */
static void note(const struct http_request *request, const struct store_ask *ask)
{
	if (request->asked)
		audit_note(request->asked, ask->from, ask->to, ask->service, ask->host);
}

int ask_limit(const struct http_request *request, struct store_ask *ask, struct fail *why)
{
	const struct question *question = ask->question;

	ask->gone = request->gone;
	ask->services = access_services(request->grant);
	note(request, ask);
	if (ask->services && question && question->shape.by_waker)
		return fail(why, -EPERM, "ask without 'waker'",
			    "this token shows some services only, and wakers are of all");
	return 0;
}

int ask_request(const struct http_request *request, const char *own, struct server_ask *ask,
		struct fail *why)
{
	int err = ask_parse(request->url, own, clock_wall(), ask, why);

	return err ? err : ask_limit(request, &ask->ask, why);
}

int ask_of_request(const struct url *url, struct server_ask *ask, struct fail *why)
{
	const char *id = url_value(url, "request");

	return id ? parse_text("request", id, &ask->question.filter.request, why) : 0;
}

int ask_request_two(const struct http_request *request, const char *own, struct server_ask *before,
		    struct server_ask *ask, struct fail *why)
{
	int err = ask_parse_two(request->url, own, clock_wall(), before, ask, why);

	if (!err)
		err = ask_limit(request, &before->ask, why);
	return err ? err : ask_limit(request, &ask->ask, why);
}

bool ask_has_before(const struct url *url)
{
	for (size_t i = 0; i < url->count; i++)
		if (has_prefix(url->parameters[i].name))
			return true;
	return false;
}

void ask_free(struct server_ask *ask)
{
	question_free(&ask->question);
}

int ask_number(const struct url *url, const char *name, uint64_t min, uint64_t max,
	       uint64_t otherwise, uint64_t *number, struct fail *why)
{
	const char *value = url_value(url, name);

	*number = otherwise;
	if (!value || !text_parse_u64(value, min, max, number))
		return 0;
	return fail(why, -EINVAL, NULL,
		    "%s is a number from %" PRIu64 " to %" PRIu64 ", not '%.64s'", name, min, max,
		    value);
}
