// SPDX-License-Identifier: Apache-2.0
/* The labels of what a store has, as Pyroscope's data source lists them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "film/labels.h"
#include "server/querier.h"

enum {
	NAMES_MAX = 100000, /* distinct ones, about */
};

/* A list of texts that becomes one of distinct, sorted texts. */
typedef vec(char *) texts;

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_texts(texts *of)
{
	size_t kept = 0;

	if (of->count)
		qsort(of->at, of->count, sizeof(*of->at), compare_texts);
	for (size_t i = 0; i < of->count; i++) {
		if (kept && !strcmp(of->at[kept - 1], of->at[i]))
			free(of->at[i]);
		else
			of->at[kept++] = of->at[i];
	}
	of->count = kept;
}

/* -E2BIG: there are too many. */
static int add_text(texts *to, const char *text)
{
	char *copy;

	if (!*text)
		return 0;
	if (to->count == 2 * NAMES_MAX) {
		sort_texts(to);
		if (to->count > NAMES_MAX)
			return -E2BIG;
	}
	copy = strdup(text);
	if (copy && vec_push(to, copy))
		return 0;
	free(copy);
	return -ENOMEM;
}

static void free_texts(texts *of)
{
	vec_foreach (of, text)
		free(*text);
	vec_free(of);
}

static const char *const own_labels[] = {"__profile_type__", "hostname", "service_name", "version"};

static int add_label_names(void *context, const char *type_id, const struct store_series *series)
{
	const char *labels = series->labels;
	char key[FILM_LABEL_KEY_MAX + 1];
	texts *names = context;
	size_t length;
	int err = 0;

	(void)type_id;
	while (!err && film_labels_next(&labels, key, &length)) {
		querier_rename(key);
		err = add_text(names, key);
	}
	return err;
}

static void put_names(struct message *m, const texts *names)
{
	message_list(m, "names");
	vec_foreach (names, name)
		message_text(m, 1, NULL, *name);
	message_list_end(m);
}

int querier_label_names(const struct http_request *request, const struct pyroscope_query *query,
			struct message *m, struct fail *why)
{
	texts names = {0};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(own_labels) / sizeof(own_labels[0]); i++)
		err = add_text(&names, own_labels[i]);
	err = err ? fail_errno(why, err, NULL, "cannot answer")
		  : querier_each_series(request, query, add_label_names, &names, why);
	sort_texts(&names);
	put_names(m, &names);
	free_texts(&names);
	return err;
}

/* The values of one label. */
struct values {
	const char *label;
	texts all;
};

static const char *value_of(const char *label, const char *type_id,
			    const struct store_series *series, char buffer[QUERIER_ID_MAX + 1])
{
	return strcmp(label, "__profile_type__") != 0 ? querier_label(series, label, buffer)
						      : type_id;
}

static int add_value(void *context, const char *type_id, const struct store_series *series)
{
	struct values *values = context;
	char buffer[QUERIER_ID_MAX + 1];

	return add_text(&values->all, value_of(values->label, type_id, series, buffer));
}

int querier_label_values(const struct http_request *request, const struct pyroscope_query *query,
			 struct message *m, struct fail *why)
{
	struct values values = {.label = query->label ? query->label : ""};
	int err = querier_each_series(request, query, add_value, &values, why);

	sort_texts(&values.all);
	put_names(m, &values.all);
	free_texts(&values.all);
	return err;
}

/* A set of labels is a text: NAME, '\n', VALUE, '\n' and so on. */
struct sets {
	const struct pyroscope_query *query;
	texts all;
};

static void put_pair_text(struct buf *to, const char *name, const char *value)
{
	if (!*value)
		return;
	querier_put_line(to, name);
	querier_put_line(to, value);
}

static int add_set(void *context, const char *type_id, const struct store_series *series)
{
	struct sets *sets = context;
	char buffer[QUERIER_ID_MAX + 1], key[FILM_LABEL_KEY_MAX + 1], *text;
	const char *labels = series->labels;
	struct buf set = {0};
	size_t length;
	int err;

	vec_foreach (&sets->query->names, name)
		put_pair_text(&set, *name, value_of(*name, type_id, series, buffer));
	if (!sets->query->names.count) {
		for (size_t i = 0; i < sizeof(own_labels) / sizeof(own_labels[0]); i++)
			put_pair_text(&set, own_labels[i],
				      value_of(own_labels[i], type_id, series, buffer));
		while (film_labels_next(&labels, key, &length)) {
			querier_rename(key);
			put_pair_text(&set, key, querier_label(series, key, buffer));
		}
	}
	text = buf_steal_text(&set);
	err = text ? add_text(&sets->all, text) : -ENOMEM;
	free(text);
	return err;
}

void querier_put_pairs(struct message *m, char *set)
{
	char *rest = NULL, *name, *value;

	message_list(m, "labels");
	for (name = strtok_r(set, "\n", &rest); name; name = strtok_r(NULL, "\n", &rest)) {
		value = strtok_r(NULL, "\n", &rest);
		message_open(m, 1, NULL);
		message_text(m, 1, "name", name);
		message_text(m, 2, "value", value ? value : "");
		message_close(m);
	}
	message_list_end(m);
}

int querier_series(const struct http_request *request, const struct pyroscope_query *query,
		   struct message *m, struct fail *why)
{
	struct sets sets = {.query = query};
	int err = querier_each_series(request, query, add_set, &sets, why);

	sort_texts(&sets.all);
	message_list(m, "labelsSet");
	vec_foreach (&sets.all, set) {
		message_open(m, 2, NULL);
		querier_put_pairs(m, *set);
		message_close(m);
	}
	message_list_end(m);
	free_texts(&sets.all);
	return err;
}
