// SPDX-License-Identifier: Apache-2.0
/* What hosts, services and their versions used. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "film/labels.h"
#include "query/view.h"
#include "store/ask_private.h"
#include "store/index_series.h"

struct lister {
	const struct asked *asked;
	const struct dictionary *dictionary; /* of rows */
	vec(struct store_series) all;
	struct map of; /* series, or in films a hash of its words, to its place in all */
	struct store_sum *sum;
	struct store_answer_private *private;
	struct fail *why;
};

static int no_memory(struct fail *why)
{
	return fail_errno(why, -ENOMEM, NULL, "cannot list the series");
}

static int add_row(void *context, const struct sums_row *row)
{
	struct lister *l = context;
	uint64_t *known = map_get(&l->of, row->series);
	struct store_series *at;

	if (known) {
		at = &l->all.at[*known];
	} else {
		const struct dictionary_series *s =
			dictionary_series_at(l->dictionary, row->series);

		if (!vec_push(&l->all, (struct store_series){s->host, s->service, s->version,
							     s->labels, 0, 0}) ||
		    !map_put(&l->of, row->series, l->all.count - 1))
			return no_memory(l->why);
		at = vec_last(&l->all);
	}
	at->samples += row->sum.samples;
	at->total += row->sum.total;
	l->sum->truncated += row->sum.truncated;
	l->sum->guessed += row->sum.guessed;
	return sum_add(l->sum, row->sum.samples, row->sum.total, l->why);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	return hash_u64(hash ^ hash_bytes(text, strlen(text)));
}

/* The series of a process in a film. */
static struct store_series *series_of(struct lister *l, const struct ask_film *of,
				      const struct film_process *process)
{
	char service[INDEX_SERVICE_SIZE], version[INDEX_VERSION_SIZE], labels[FILM_LABELS_SIZE];
	struct store_series made = {0};
	uint64_t key, *known;

	index_service_of(l->asked->index, process, service);
	index_version_of(of->finder, process, version);
	index_labels_of(of->finder, process, labels);
	key = hash_text(hash_text(0, of->host), service);
	key = hash_text(hash_text(key, version), labels);
	known = map_get(&l->of, key);
	if (known)
		return &l->all.at[*known];
	made.host = name_pool_add(&l->private->names, of->host);
	made.service = name_pool_add(&l->private->names, service);
	made.version = name_pool_add(&l->private->names, version);
	made.labels = name_pool_add(&l->private->names, labels);
	if (!made.host || !made.service || !made.version || !made.labels ||
	    !vec_push(&l->all, made) || !map_put(&l->of, key, l->all.count - 1))
		return NULL;
	return vec_last(&l->all);
}

static int add_film(void *context, const struct ask_film *of)
{
	struct lister *l = context;
	struct view view = {0};
	int err = view_open(of->film, of->question, VIEW_PROCESS, &view, l->why);

	if (!err)
		err = sum_add(l->sum, view.samples, view.total, l->why);
	l->sum->truncated += view.stacks.truncated;
	l->sum->guessed += view.stacks.guessed;
	for (size_t i = 0; !err && i < view.weights.count;) {
		uint32_t process = view.weights.at[i].group;
		struct store_series *at = series_of(l, of, &of->film->processes[process]);

		for (; at && i < view.weights.count && view.weights.at[i].group == process; i++) {
			at->samples += view.weights.at[i].samples;
			at->total += view.weights.at[i].value;
		}
		if (!at)
			err = no_memory(l->why);
	}
	view_free(&view);
	return err;
}

static int largest_first(const void *x, const void *y)
{
	const struct store_series *a = x, *b = y;
	int order;

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	order = strcmp(a->service, b->service);
	order = order ? order : strcmp(a->host, b->host);
	order = order ? order : strcmp(a->version, b->version);
	return order ? order : strcmp(a->labels, b->labels);
}

static int read_series(struct asked *asked, struct lister *l, struct fail *why)
{
	struct sums_view *view;
	int err;

	if (asked_needs_films(asked))
		return ask_films(asked, film_open, l->sum, add_film, l, why);
	err = asked_sums(asked, SUMS_TOTALS, true)->open(asked, &view, why);
	if (err)
		return err;
	/* each series for itself */
	asked->one_service = false;
	l->dictionary = view->dictionary;
	err = view->verbs->select(asked, view, SUMS_TOTALS, why);
	if (!err)
		err = view->verbs->about(asked, view, l->sum, why);
	if (!err)
		err = view->verbs->each(asked, view, SUMS_TOTALS, add_row, l, why);
	view->verbs->close(asked, view, l->private);
	return err;
}

int store_series(struct store *store, const struct store_ask *ask, size_t limit,
		 struct store_series_list *list, struct fail *why)
{
	struct asked asked = {0};
	struct lister l = {.asked = &asked, .sum = &list->sum, .why = why};
	int err;

	*list = (struct store_series_list){.private = answer_private_new(why)};
	if (!list->private)
		return -ENOMEM;
	l.private = list->private;
	err = asked_begin(&asked, store, ask, why);
	if (!err)
		err = read_series(&asked, &l, why);
	if (!err && l.all.count)
		qsort(l.all.at, l.all.count, sizeof(*l.all.at), largest_first);
	list->at = l.all.at;
	list->count = l.all.count < limit ? l.all.count : limit;
	for (size_t i = list->count; !err && i < l.all.count; i++)
		list->others += l.all.at[i].total;
	map_free(&l.of);
	asked_free(&asked);
	return err;
}

void store_series_free(struct store_series_list *list)
{
	free(list->at);
	answer_private_free(list->private);
	*list = (struct store_series_list){0};
}
