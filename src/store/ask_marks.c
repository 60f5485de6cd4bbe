// SPDX-License-Identifier: Apache-2.0
/* Marks of a time: those that were kept, and the first sample of each new version of a service. */
#include "store/marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/ask_private.h"

#define MINUTE_NONE UINT64_MAX

struct finder {
	const struct asked *asked;
	struct index_reader *reader;
	sqlite3_stmt *hour, *minute;
	vec(struct store_mark) all;
	struct store_answer_private *private;
	struct fail *why;
};

static int no_memory(struct fail *why)
{
	return fail_errno(why, -ENOMEM, NULL, "cannot list the marks");
}

/* What a mark is of, in a question: "" is all, on either side. */
static bool fits(const char *wanted, const char *of)
{
	return !wanted || !*of || !strcmp(wanted, of);
}

static int add_kept(void *context, const struct store_mark *mark)
{
	struct finder *f = context;
	const struct store_ask *ask = f->asked->ask;
	struct name_pool *names = &f->private->names;
	struct store_mark copy = {.time = mark->time};

	if (!fits(ask->host, mark->host) || !fits(ask->service, mark->service) ||
	    !fits(ask->version, mark->version) || !asked_service(ask, mark->service))
		return 0;
	copy.host = name_pool_add(names, mark->host);
	copy.service = name_pool_add(names, mark->service);
	copy.version = name_pool_add(names, mark->version);
	copy.text = name_pool_add(names, mark->text);
	return copy.host && copy.service && copy.version && copy.text && vec_push(&f->all, copy)
		       ? 0
		       : -ENOMEM;
}

static int open_statements(struct finder *f)
{
	sqlite3 *db = f->reader->db;
	int rc = sql_open(db, &f->hour,
			  "SELECT key, minutes FROM hour WHERE key BETWEEN ? AND ?"
			  " ORDER BY key LIMIT 1",
			  "");

	if (rc == SQLITE_OK)
		rc = sql_open(db, &f->minute,
			      "SELECT min(key) FROM minute WHERE key BETWEEN ? AND ?", "");
	return rc == SQLITE_OK ? 0 : index_failed(f->asked->index, db, rc, f->why);
}

static void bind_series(const struct finder *f, sqlite3_stmt *rows, uint32_t series)
{
	sqlite3_bind_int64(rows, 1, index_key(f->asked->event, series, 0));
	sqlite3_bind_int64(rows, 2, index_key(f->asked->event, series, (1u << KEY_TIME_BITS) - 1));
}

/* The first minute of a packed hour that has samples. */
static int first_of_hour(struct finder *f, uint64_t *first)
{
	uint64_t begin = key_time(sqlite3_column_int64(f->hour, 0)) * HOUR_MINUTES;
	struct cell_sum sums[HOUR_MINUTES];
	int err = minutes_unpack(&f->reader->cells, sqlite3_column_blob(f->hour, 1),
				 (size_t)sqlite3_column_bytes(f->hour, 1), sums);

	if (err == -EBADMSG)
		return index_damaged(f->asked->index, f->why);
	if (err)
		return no_memory(f->why);
	for (uint32_t i = 0; i < HOUR_MINUTES; i++) {
		if (!sums[i].samples)
			continue;
		*first = begin + i;
		break;
	}
	return 0;
}

/* The first minute of a series; MINUTE_NONE: it has none (any more). */
static int first_of_series(struct finder *f, uint32_t series, uint64_t *first)
{
	uint64_t minute;
	int rc, err = 0;

	*first = MINUTE_NONE;
	bind_series(f, f->hour, series);
	rc = sqlite3_step(f->hour);
	if (rc == SQLITE_ROW)
		err = first_of_hour(f, first);
	sqlite3_reset(f->hour);
	if (err)
		return err;
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return index_failed(f->asked->index, f->reader->db, rc, f->why);
	bind_series(f, f->minute, series);
	rc = sqlite3_step(f->minute);
	if (rc == SQLITE_ROW && sqlite3_column_type(f->minute, 0) != SQLITE_NULL) {
		minute = key_time(sqlite3_column_int64(f->minute, 0));
		*first = minute < *first ? minute : *first;
	}
	sqlite3_reset(f->minute);
	return rc == SQLITE_ROW ? 0 : index_failed(f->asked->index, f->reader->db, rc, f->why);
}

static int by_service_and_version(const void *x, const void *y, void *context)
{
	const struct dictionary *d = context;
	const struct dictionary_series *a = dictionary_series_at(d, *(const uint32_t *)x);
	const struct dictionary_series *b = dictionary_series_at(d, *(const uint32_t *)y);

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return strcmp(a->version, b->version);
}

/* A version of the service at hand, and the first minute in which any of its series has samples. */
struct seen {
	const struct dictionary_series *series;
	uint64_t first;
};

struct seen_list {
	vec(struct seen) all;
};

/* Those of a service that are not its first one have marks. */
static int mark_versions(struct finder *f, const struct seen_list *list)
{
	const struct asked *a = f->asked;
	uint64_t first = MINUTE_NONE;

	vec_foreach (&list->all, seen)
		first = seen->first < first ? seen->first : first;
	vec_foreach (&list->all, seen) {
		uint64_t time = seen->first * NS_MINUTE;

		if (seen->first == MINUTE_NONE || seen->first == first || time >= a->to ||
		    time + NS_MINUTE <= a->from || !fits(a->ask->version, seen->series->version))
			continue;
		if (!vec_push(&f->all, (struct store_mark){time, "", seen->series->service,
							   seen->series->version, "", true}))
			return no_memory(f->why);
	}
	return 0;
}

/* The series [*i, …) of one service, which becomes the first one behind them. */
static int add_service(struct finder *f, const uint32_t *series, size_t count, size_t *i,
		       struct seen_list *list)
{
	const struct dictionary *d = &f->asked->index->dictionary;
	uint32_t group = dictionary_series_at(d, series[*i])->group;
	bool several = false;
	size_t end = *i;
	int err = 0;

	for (; end < count && dictionary_series_at(d, series[end])->group == group; end++)
		several |= dictionary_series_at(d, series[end])->version !=
			   dictionary_series_at(d, series[*i])->version;
	list->all.count = 0;
	for (; several && !err && *i < end; ++*i) {
		const struct dictionary_series *s = dictionary_series_at(d, series[*i]);
		struct seen *last = list->all.count ? vec_last(&list->all) : NULL;
		uint64_t first;

		err = first_of_series(f, series[*i], &first);
		if (!err && last && last->series->version == s->version)
			last->first = first < last->first ? first : last->first;
		else if (!err && !vec_push(&list->all, (struct seen){s, first}))
			err = no_memory(f->why);
	}
	*i = end;
	return err ? err : mark_versions(f, list);
}

/* All of the services that are meant: of a version, the others of its service matter, too. */
static int list_series(const struct asked *a, uint32_t **series, size_t *count)
{
	const struct dictionary *d = &a->index->dictionary;
	struct store_ask ask = *a->ask;
	uint32_t all = dictionary_readable(&d->series);

	ask.version = NULL;
	*count = 0;
	*series = calloc(all + 1ull, sizeof(**series));
	if (!*series)
		return -ENOMEM;
	for (uint32_t i = SERIES_OTHERS + 1; i < all; i++)
		if (*dictionary_series_at(d, i)->version &&
		    asked_series(&ask, dictionary_series_at(d, i)))
			(*series)[(*count)++] = i;
	if (*count)
		qsort_r(*series, *count, sizeof(**series), by_service_and_version, (void *)d);
	return 0;
}

static int find_versions(struct finder *f)
{
	struct seen_list list = {0};
	uint32_t *series = NULL;
	size_t count = 0;
	int err = 0;

	if (!f->asked->event)
		return 0;
	if (list_series(f->asked, &series, &count))
		return no_memory(f->why);
	err = index_reader_get(f->asked->index, &f->reader, f->why);
	if (!err) {
		err = open_statements(f);
		for (size_t i = 0; !err && i < count;) {
			err = asked_still(f->asked, f->why);
			if (!err)
				err = add_service(f, series, count, &i, &list);
		}
		sqlite3_finalize(f->hour);
		sqlite3_finalize(f->minute);
		index_reader_put(f->asked->index, f->reader);
	}
	vec_free(&list.all);
	free(series);
	return err;
}

static int by_time(const void *x, const void *y)
{
	const struct store_mark *a = x, *b = y;
	int order = a->time != b->time ? (a->time < b->time ? -1 : 1) : 0;

	order = order ? order : strcmp(a->service, b->service);
	order = order ? order : strcmp(a->version, b->version);
	return order ? order : strcmp(a->text, b->text);
}

static int ask_marks(struct finder *f, size_t limit, struct store_mark_list *list)
{
	const struct asked *a = f->asked;
	int err = store_each_mark(a->store, a->from, a->to, add_kept, f);

	if (err)
		return no_memory(f->why);
	err = find_versions(f);
	if (err)
		return err;
	if (f->all.count)
		qsort(f->all.at, f->all.count, sizeof(*f->all.at), by_time);
	list->from = a->from;
	list->to = a->to;
	list->count = f->all.count < limit ? f->all.count : limit;
	list->others = f->all.count - list->count;
	if (list->others)
		memmove(f->all.at, f->all.at + list->others, list->count * sizeof(*f->all.at));
	list->at = f->all.at;
	f->all.at = NULL;
	return 0;
}

int store_marks(struct store *store, const struct store_ask *ask, size_t limit,
		struct store_mark_list *list, struct fail *why)
{
	struct asked asked = {0};
	struct finder f = {.asked = &asked, .why = why};
	int err;

	*list = (struct store_mark_list){.private = answer_private_new(why)};
	if (!list->private)
		return -ENOMEM;
	f.private = list->private;
	err = asked_begin(&asked, store, ask, why);
	if (!err)
		err = ask_marks(&f, limit, list);
	/* names of series lie in the index */
	if (!err)
		list->private->index = index_share(asked.index);
	free(f.all.at);
	asked_free(&asked);
	return err;
}

void store_marks_free(struct store_mark_list *list)
{
	free(list->at);
	answer_private_free(list->private);
	*list = (struct store_mark_list){0};
}
