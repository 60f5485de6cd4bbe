// SPDX-License-Identifier: Apache-2.0
#include "server/querier.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "film/events.h"
#include "film/labels.h"
#include "server/ask.h"
#include "server/internal.h"

#define TYPE_LABEL "__profile_type__"

static int no_memory(struct fail *why)
{
	return fail_errno(why, -ENOMEM, NULL, "cannot answer");
}

void querier_type_id(const struct store_event *event, char id[QUERIER_ID_MAX + 1])
{
	const char *type = event_type_abroad(event->name, event->unit);
	const char *unit = event_unit_abroad(event->unit);

	snprintf(id, QUERIER_ID_MAX + 1, "%.80s:%.50s:%.30s:%.50s:%.30s",
		 event_pyroscope(event->name, event->unit), type, unit, type, unit);
}

bool querier_is_profile(const struct store_event *event)
{
	const struct event_type *type = event_find(event->name, event->unit);

	return type->shape == SHAPE_SAMPLES && !type->has_no_samples;
}

/*
 * Whether a label is a key as Pyroscope writes it (exchange/pyroscope/writer.c): '_' stands for
 * other signs than letters and digits.
 */
static bool is_same_key(const char *key, const char *label)
{
	for (; *key && *label; key++, label++)
		if (*key != *label && (isalnum((unsigned char)*key) || *label != '_'))
			return false;
	return !*key && !*label;
}

const char *querier_label(const struct store_series *series, const char *label,
			  char buffer[QUERIER_ID_MAX + 1])
{
	const char *labels = series->labels, *value;
	char key[FILM_LABEL_KEY_MAX + 1];
	size_t length;

	if (!strcmp(label, "service_name"))
		return series->service;
	if (!strcmp(label, "hostname"))
		return series->host;
	if (!strcmp(label, "version"))
		return series->version;
	while ((value = film_labels_next(&labels, key, &length)))
		if (is_same_key(key, label)) {
			snprintf(buffer, QUERIER_ID_MAX + 1, "%.*s", (int)length, value);
			return buffer;
		}
	return "";
}

void querier_rename(char *key)
{
	for (; *key; key++)
		*key = isalnum((unsigned char)*key) ? *key : '_';
}

void querier_put_line(struct buf *to, const char *text)
{
	for (; *text; text++)
		buf_put_u8(to, *text == '\n' ? ' ' : (uint8_t)*text);
	buf_put_u8(to, '\n');
}

static bool is_selected(const struct pyroscope_query *query, const char *type_id,
			const struct store_series *series)
{
	char buffer[QUERIER_ID_MAX + 1];

	vec_foreach (&query->matchers, matcher) {
		const char *value = !strcmp(matcher->name, TYPE_LABEL)
					    ? type_id
					    : querier_label(series, matcher->name, buffer);

		if (!pyroscope_matches(matcher, value))
			return false;
	}
	return true;
}

static int check_matchers(const struct pyroscope_query *query, struct fail *why)
{
	int err = 0;

	vec_foreach (&query->matchers, matcher)
		if (!err && matcher->regex)
			err = regex_check(matcher->regex, why);
	return err;
}

/* The event and the time; an end that is missing is now. */
static int ask_basics(const struct http_request *request, const struct pyroscope_query *query,
		      const char *event, struct store_ask *ask, struct fail *why)
{
	*ask = (struct store_ask){
		.event = event,
		.from = query->start * MS_NS,
		.to = query->end     ? query->end * MS_NS
		      : query->start ? clock_wall()
				     : 0,
	};
	return ask_limit(request, ask, why);
}

static int each_of_event(const struct http_request *request, const struct pyroscope_query *query,
			 const struct store_event *event, querier_series_function *each,
			 void *context, struct fail *why)
{
	struct store_series_list list = {0};
	char id[QUERIER_ID_MAX + 1];
	struct store_ask ask;
	int err;

	querier_type_id(event, id);
	err = ask_basics(request, query, event->name, &ask, why);
	if (!err)
		err = store_series(request->store, &ask, SIZE_MAX, &list, why);
	for (size_t i = 0; !err && i < list.count; i++)
		if (is_selected(query, id, &list.at[i])) {
			err = each(context, id, &list.at[i]);
			if (err == -ENOMEM)
				no_memory(why);
			else if (err == -E2BIG)
				fail(why, err, "select fewer", "the store has too many labels");
		}
	store_series_free(&list);
	return err;
}

int querier_each_series(const struct http_request *request, const struct pyroscope_query *query,
			querier_series_function *each, void *context, struct fail *why)
{
	struct store_event events[STORE_EVENTS_MAX];
	size_t count = store_events(request->store, events, STORE_EVENTS_MAX);
	int err = 0;

	for (size_t i = 0; !err && i < count; i++)
		if (querier_is_profile(&events[i]))
			err = each_of_event(request, query, &events[i], each, context, why);
	return err ? err : check_matchers(query, why);
}

/* -- questions --------------------------------------------------------------------------------- */

static int find_event(const struct http_request *request, const char *type_id,
		      struct store_event *found, struct fail *why)
{
	struct store_event events[STORE_EVENTS_MAX];
	size_t count = store_events(request->store, events, STORE_EVENTS_MAX);
	char id[QUERIER_ID_MAX + 1];

	if (!type_id || !*type_id)
		return fail(why, -EINVAL, NULL, "profile_typeID is missing");
	for (size_t i = 0; i < count; i++) {
		querier_type_id(&events[i], id);
		if (querier_is_profile(&events[i]) && !strcmp(id, type_id)) {
			*found = events[i];
			return 0;
		}
	}
	return fail(why, -ENODATA, NULL, "the store has no profiles of the type '%.80s'", type_id);
}

/* Where a condition is a value that the store itself finds: the member of the question. */
static const char **member_of(struct store_ask *ask, const struct pyroscope_matcher *matcher)
{
	if (matcher->regex || matcher->is_negative || !*matcher->value)
		return NULL;
	if (!strcmp(matcher->name, "service_name"))
		return &ask->service;
	if (!strcmp(matcher->name, "hostname"))
		return &ask->host;
	return strcmp(matcher->name, "version") != 0 ? NULL : &ask->version;
}

/* Fills what the store finds by itself. Returns whether that is all that the matchers say. */
static bool ask_direct(const struct pyroscope_query *query, struct store_ask *ask)
{
	bool is_all = true;

	vec_foreach (&query->matchers, matcher) {
		const char **member = member_of(ask, matcher);

		if (member && (!*member || !strcmp(*member, matcher->value)))
			*member = matcher->value;
		else
			is_all = false;
	}
	return is_all;
}

/* The values of the names that group the answer, a line each. */
static char *group_of(const struct pyroscope_query *query, const struct store_series *series)
{
	char buffer[QUERIER_ID_MAX + 1];
	struct buf text = {0};

	vec_foreach (&query->names, name)
		querier_put_line(&text, querier_label(series, *name, buffer));
	return buf_steal_text(&text);
}

/* How much of a series a question names. */
enum detail {
	BY_SERVICE,
	BY_VERSION,
	BY_LABELS,
};

static bool has_labels_of(const struct store_series *series, const struct store_series *of)
{
	const char *labels = of->labels, *value;
	char key[FILM_LABEL_KEY_MAX + 1], pair[sizeof(key) + FILM_LABEL_VALUE_MAX + 1];
	size_t length;

	while ((value = film_labels_next(&labels, key, &length))) {
		snprintf(pair, sizeof(pair), "%s=%.*s", key, (int)length, value);
		if (!film_labels_have(series->labels, pair))
			return false;
	}
	return true;
}

static bool is_covered(const struct store_series *series, const struct store_series *of,
		       enum detail detail)
{
	return !strcmp(series->service, of->service) && !strcmp(series->host, of->host) &&
	       (detail == BY_SERVICE || !strcmp(series->version, of->version)) &&
	       (detail != BY_LABELS || has_labels_of(series, of));
}

/* What is known of each series while questions are made. */
struct choice {
	bool is_wanted, is_done;
	char *group;
};

static bool is_same_group(const struct choice *one, const struct choice *other)
{
	return one->group && other->group && !strcmp(one->group, other->group);
}

/*
 * Whether a question about that series has no others than those that are wanted, and in one group.
 */
static bool is_exact(const struct store_series_list *list, const struct choice *choices, size_t of,
		     enum detail detail)
{
	for (size_t i = 0; i < list->count; i++)
		if (is_covered(&list->at[i], &list->at[of], detail) &&
		    (!choices[i].is_wanted || choices[i].is_done ||
		     !is_same_group(&choices[i], &choices[of])))
			return false;
	return true;
}

static int add_labels(struct querier_part *part, const char *labels)
{
	const char *begin = labels, *value;
	char key[FILM_LABEL_KEY_MAX + 1];
	size_t length;

	part->labels = calloc(FILM_LABELS_MAX, sizeof(*part->labels));
	if (!part->labels)
		return -ENOMEM;
	part->ask.labels = part->labels;
	for (; part->ask.label_count < FILM_LABELS_MAX &&
	       (value = film_labels_next(&labels, key, &length));
	     begin = labels) {
		char *pair = strndup(begin, (size_t)(value + length - begin));

		if (!pair)
			return -ENOMEM;
		part->labels[part->ask.label_count++] = pair;
	}
	return 0;
}

static int add_part(struct querier_selected *selected, const struct store_ask *base,
		    struct choice *choices, size_t of, enum detail detail, struct fail *why)
{
	const struct store_series *series = &selected->list.at[of];
	struct querier_part *part;

	if (selected->parts.count == QUERIER_SELECTED_MAX)
		return fail(why, -E2BIG, "select fewer",
			    "the selector has more than %d services, hosts and versions",
			    QUERIER_SELECTED_MAX);
	if (!vec_push(&selected->parts, (struct querier_part){.ask = *base}))
		return no_memory(why);
	part = vec_last(&selected->parts);
	part->ask.service = series->service;
	part->ask.host = series->host;
	if (detail != BY_SERVICE)
		part->ask.version = series->version;
	part->group = strdup(choices[of].group ? choices[of].group : "");
	if (!part->group || (detail == BY_LABELS && add_labels(part, series->labels)))
		return no_memory(why);
	for (size_t i = 0; i < selected->list.count; i++)
		choices[i].is_done |= is_covered(&selected->list.at[i], series, detail);
	return 0;
}

static int choose(struct querier_selected *selected, const struct store_ask *base,
		  struct choice *choices, struct fail *why)
{
	int err = 0;

	for (size_t i = 0; !err && i < selected->list.count; i++) {
		unsigned int detail = BY_SERVICE;

		if (!choices[i].is_wanted || choices[i].is_done)
			continue;
		while (detail <= BY_LABELS && !is_exact(&selected->list, choices, i, detail))
			detail++;
		err = detail > BY_LABELS
			      ? fail(why, -EOPNOTSUPP, "select by service_name or hostname",
				     "the store cannot tell these series of %.80s from others",
				     selected->list.at[i].service)
			      : add_part(selected, base, choices, i, (enum detail)detail, why);
	}
	return err;
}

/* Series with few labels come first: a question about them has those with more. */
static int compare_series(const void *a, const void *b)
{
	size_t one = strlen(((const struct store_series *)a)->labels);
	size_t other = strlen(((const struct store_series *)b)->labels);

	return (one > other) - (one < other);
}

static int select_series(const struct http_request *request, const struct pyroscope_query *query,
			 const struct store_ask *base, struct querier_selected *selected,
			 struct fail *why)
{
	struct store_series_list *list = &selected->list;
	char id[QUERIER_ID_MAX + 1];
	struct choice *choices;
	int err = store_series(request->store, base, QUERIER_SERIES_MAX, list, why);

	if (err)
		return err;
	if (list->others)
		return fail(why, -E2BIG, "select fewer", "the store has too many series");
	if (list->count)
		qsort(list->at, list->count, sizeof(*list->at), compare_series);
	choices = calloc(list->count + 1, sizeof(*choices));
	querier_type_id(&selected->event, id);
	for (size_t i = 0; choices && !err && i < list->count; i++) {
		choices[i].is_wanted = is_selected(query, id, &list->at[i]);
		choices[i].group = group_of(query, &list->at[i]);
		if (!choices[i].group)
			err = no_memory(why);
	}
	if (!choices)
		err = no_memory(why);
	if (!err)
		err = choose(selected, base, choices, why);
	for (size_t i = 0; choices && i < list->count; i++)
		free(choices[i].group);
	free(choices);
	return err ? err : check_matchers(query, why);
}

int querier_select(const struct http_request *request, const struct pyroscope_query *query,
		   bool is_grouped, struct querier_selected *selected, struct fail *why)
{
	struct store_ask ask;
	int err;

	*selected = (struct querier_selected){0};
	err = find_event(request, query->profile_type, &selected->event, why);
	if (!err)
		err = ask_basics(request, query, selected->event.name, &ask, why);
	if (err)
		return err;
	if (!ask_direct(query, &ask) || is_grouped)
		return select_series(request, query, &ask, selected, why);
	/* once more, as it names its service now */
	err = ask_limit(request, &ask, why);
	if (err)
		return err;
	return vec_push(&selected->parts, (struct querier_part){.ask = ask}) ? 0 : no_memory(why);
}

void querier_selected_free(struct querier_selected *selected)
{
	vec_foreach (&selected->parts, part) {
		for (size_t i = 0; part->labels && i < part->ask.label_count; i++)
			free((char *)part->labels[i]);
		free(part->labels);
		free(part->group);
	}
	vec_free(&selected->parts);
	store_series_free(&selected->list);
}
