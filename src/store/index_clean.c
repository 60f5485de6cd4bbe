// SPDX-License-Identifier: Apache-2.0
/*
 * An index without what nothing refers to any more. Films that go take their sums with them, but
 * what the sums were of (paths, functions, images, series) stays: after months most belongs to
 * programs that are gone. A copy is made, in which all is numbered anew in the old order: so a
 * parent still stands before its children, and lists of paths and keys stay sorted.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "film/schema.h"
#include "store/index_private.h"

/* By old number: in use, or the new number. */
struct clean {
	struct index *from, *to;
	uint32_t *paths, *functions, *images, *series;
	uint32_t *groups; /* of series: the new group of an old one */
	uint32_t path_count, function_count, image_count, series_count;
	struct index_reader *reader;
	struct columns columns;
	struct cell_list cells;
	struct fail *why;
};

static int no_memory(struct clean *c)
{
	return fail_errno(c->why, -ENOMEM, NULL, "cannot clean the index of the store");
}

static int cannot(struct clean *c, int err)
{
	if (err == -EBADMSG)
		return index_damaged(c->from, c->why);
	return err ? fail_errno(c->why, err, NULL, "cannot clean the index of the store") : 0;
}

static bool begin(struct clean *c)
{
	const struct dictionary *d = &c->from->dictionary;

	c->path_count = dictionary_readable(&d->paths);
	c->function_count = dictionary_readable(&d->functions);
	c->image_count = dictionary_readable(&d->images);
	c->series_count = dictionary_readable(&d->series);
	c->paths = calloc(c->path_count, sizeof(*c->paths));
	c->functions = calloc(c->function_count, sizeof(*c->functions));
	c->images = calloc(c->image_count, sizeof(*c->images));
	c->series = calloc(c->series_count, sizeof(*c->series));
	c->groups = calloc(c->series_count, sizeof(*c->groups));
	return c->paths && c->functions && c->images && c->series && c->groups;
}

static void end(struct clean *c)
{
	free(c->paths);
	free(c->functions);
	free(c->images);
	free(c->series);
	free(c->groups);
	columns_free(&c->columns);
	vec_free(&c->cells);
}

/* Takes the cells of a row apart: n of each list. */
static int unpack(struct clean *c, sqlite3_stmt *row, int column, const uint32_t *n, size_t lists)
{
	return cells_unpack(&c->reader->cells, sqlite3_column_blob(row, column),
			    (size_t)sqlite3_column_bytes(row, column), n, lists, c->path_count,
			    true);
}

/*
 * What the sums refer to themselves; those of services and of an hour's minutes are sums of these.
 */
static int mark_sums(struct clean *c)
{
	struct cells_reader *r = &c->reader->cells;
	sqlite3_stmt *row = NULL;
	int err = 0, rc = sql_open(c->reader->db, &row,
				   "SELECT key, n, data FROM minute UNION ALL"
				   " SELECT key, n, data FROM hour",
				   "");

	while (rc == SQLITE_OK && !err && (rc = sqlite3_step(row)) == SQLITE_ROW) {
		uint32_t series = key_series(sqlite3_column_int64(row, 0));
		uint32_t n = (uint32_t)sqlite3_column_int64(row, 1);

		err = series < c->series_count ? unpack(c, row, 2, &n, 1) : -EBADMSG;
		for (size_t i = 0; !err && i < r->path.count; i++)
			c->paths[r->path.at[i]] = 1;
		if (!err)
			c->series[series] = 1;
		rc = SQLITE_OK;
	}
	sqlite3_finalize(row);
	if (err)
		return cannot(c, err);
	return rc == SQLITE_DONE ? 0 : index_failed(c->from, c->reader->db, rc, c->why);
}

static uint32_t count_marks(const uint32_t *marks, uint32_t count)
{
	uint32_t marked = 0;

	for (uint32_t i = 1; i < count; i++)
		marked += marks[i];
	return marked;
}

/* What those need that are in use, and what every index begins with. */
static void mark_rest(struct clean *c)
{
	const struct dictionary *d = &c->from->dictionary;

	c->paths[PATH_UNKNOWN] = c->paths[PATH_OTHERS] = c->series[SERIES_OTHERS] = 1;
	for (uint32_t i = c->path_count - 1; i; i--) {
		const struct dictionary_path *path = dictionary_path_at(d, i);

		if (!c->paths[i])
			continue;
		c->paths[path->parent] = c->paths[path->plain] = 1;
		c->functions[path->function] = 1;
	}
	for (uint32_t i = 1; i < c->function_count; i++)
		if (c->functions[i])
			c->images[dictionary_function_at(d, i)->image] = 1;
}

/* From marks to new numbers. */
static int copy_dictionary(struct clean *c)
{
	const struct dictionary *d = &c->from->dictionary;
	struct dictionary *to = &c->to->dictionary;

	c->images[0] = c->functions[0] = c->paths[0] = c->series[0] = 0;
	for (uint32_t i = 1; i < c->image_count; i++)
		if (c->images[i] &&
		    !(c->images[i] = dictionary_image(to, dictionary_image_at(d, i))))
			return -ENOMEM;
	for (uint32_t i = 1; i < c->function_count; i++) {
		struct dictionary_function f = *dictionary_function_at(d, i);

		f.image = c->images[f.image];
		if (c->functions[i] && !(c->functions[i] = dictionary_function(to, &f)))
			return -ENOMEM;
	}
	for (uint32_t i = 1; i < c->path_count; i++) {
		const struct dictionary_path *p = dictionary_path_at(d, i);

		if (c->paths[i] &&
		    !(c->paths[i] = dictionary_path(to, c->paths[p->parent],
						    c->functions[p->function], p->flags)))
			return -ENOMEM;
	}
	for (uint32_t i = 1; i < c->series_count; i++) {
		const struct dictionary_series *s = dictionary_series_at(d, i);

		if (!c->series[i])
			continue;
		c->series[i] = dictionary_series(to, s);
		if (!c->series[i])
			return -ENOMEM;
		c->groups[s->group] = dictionary_series_at(to, c->series[i])->group;
	}
	return 0;
}

/* The cells of a row with their new paths, packed in c->columns. */
static int renumber(struct clean *c, sqlite3_stmt *row, int column, const uint32_t *n, size_t lists)
{
	const struct cells_reader *r = &c->reader->cells;
	int err = unpack(c, row, column, n, lists);

	if (!err && !vec_reserve(&c->cells, r->path.count))
		err = -ENOMEM;
	for (size_t i = 0; !err && i < r->path.count; i++)
		c->cells.at[i] =
			(struct cell){c->paths[r->path.at[i]], r->samples.at[i], r->value.at[i]};
	return err ? err : cells_pack(&c->columns, c->cells.at, n, lists);
}

/* The key of a row with its new series; 0: nothing refers to it. */
static int64_t new_key(const struct clean *c, int64_t key, const uint32_t *series)
{
	uint32_t of = key_series(key);

	if (of >= c->series_count || !series[of])
		return 0;
	return index_key(key_event(key), series[of], key_time(key));
}

/*
 * The tables of sums, with the columns that they share first: key, samples, total, truncated,
 * guessed, n.
 */
struct sums_table {
	const char *read, *write;
	bool of_services, has_minutes;
};

static int copy_sums(struct clean *c, const struct sums_table *table)
{
	sqlite3_stmt *row = NULL, *put = NULL;
	int err = 0, rc = sql_open(c->reader->db, &row, table->read, "");

	if (rc == SQLITE_OK)
		rc = sql_open(c->to->db, &put, table->write, "");
	while (rc == SQLITE_OK && !err && (rc = sqlite3_step(row)) == SQLITE_ROW) {
		uint32_t n = (uint32_t)sqlite3_column_int64(row, 5);
		int64_t key = new_key(c, sqlite3_column_int64(row, 0),
				      table->of_services ? c->groups : c->series);

		rc = SQLITE_OK;
		if (!key)
			continue;
		err = renumber(c, row, 6, &n, 1);
		if (err)
			break;
		sqlite3_bind_int64(put, 1, key);
		for (int i = 1; i < 6; i++)
			sqlite3_bind_int64(put, i + 1, sqlite3_column_int64(row, i));
		rc = sqlite3_bind_blob64(put, 7, c->columns.packed.at, c->columns.packed.count,
					 SQLITE_STATIC);
		if (rc == SQLITE_OK && table->has_minutes)
			rc = sqlite3_bind_value(put, 8, sqlite3_column_value(row, 7));
		if (rc == SQLITE_OK)
			rc = sql_again(put);
	}
	sqlite3_finalize(row);
	sqlite3_finalize(put);
	if (err)
		return cannot(c, err);
	return rc == SQLITE_DONE ? 0 : index_failed(c->to, c->to->db, rc, c->why);
}

/* The paths of an hour's minutes: how many each has stands with the hour. */
static int copy_minutes(struct clean *c)
{
	struct cell_sum sums[HOUR_MINUTES];
	uint32_t counts[HOUR_MINUTES];
	sqlite3_stmt *row = NULL;
	int err = 0, rc = sql_open(c->reader->db, &row,
				   "SELECT key, minutes, hour_minutes.data FROM hour"
				   " JOIN hour_minutes USING(key) ORDER BY key",
				   "");

	while (rc == SQLITE_OK && !err && (rc = sqlite3_step(row)) == SQLITE_ROW) {
		int64_t key = new_key(c, sqlite3_column_int64(row, 0), c->series);

		err = minutes_unpack(&c->reader->cells, sqlite3_column_blob(row, 1),
				     (size_t)sqlite3_column_bytes(row, 1), sums);
		for (int i = 0; !err && i < HOUR_MINUTES; i++)
			counts[i] = sums[i].cells;
		if (!err)
			err = renumber(c, row, 2, counts, HOUR_MINUTES);
		if (!err)
			rc = sql_run(c->to->db, "INSERT INTO hour_minutes VALUES(?, ?)", "ib", key,
				     c->columns.packed.at, c->columns.packed.count);
	}
	sqlite3_finalize(row);
	if (err)
		return cannot(c, err);
	return rc == SQLITE_DONE ? 0 : index_failed(c->to, c->to->db, rc, c->why);
}

/* Tables in which nothing is numbered by the dictionary. */
static int copy_others(struct clean *c)
{
	static const char *const tables[] = {"event",	"film",		"filmed",      "film_lost",
					     "lost",	"gap",		"lost_minute", "sender",
					     "merging", "merging_part", "in_bucket"};
	char words[128];
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < sizeof(tables) / sizeof(tables[0]); i++) {
		snprintf(words, sizeof(words), "INSERT INTO main.%s SELECT * FROM before.%s",
			 tables[i], tables[i]);
		rc = film_sql_run(c->to->db, words);
	}
	return rc == SQLITE_OK ? 0 : index_failed(c->to, c->to->db, rc, c->why);
}

static int copy_all(struct clean *c)
{
	static const struct sums_table tables[] = {
		{"SELECT key, samples, total, truncated, guessed, n, data FROM minute ORDER BY key",
		 "INSERT INTO minute VALUES(?, ?, ?, ?, ?, ?, ?)", false, false},
		{"SELECT key, samples, total, truncated, guessed, n, data, minutes FROM hour"
		 " ORDER BY key",
		 "INSERT INTO hour(key, samples, total, truncated, guessed, n, data, minutes)"
		 " VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
		 false, true},
		{"SELECT key, samples, total, truncated, guessed, n, data, minutes FROM "
		 "service_hour"
		 " ORDER BY key",
		 "INSERT INTO service_hour(key, samples, total, truncated, guessed, n, data,"
		 " minutes) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
		 true, true},
	};
	int err = cannot(c, copy_dictionary(c));

	for (size_t i = 0; !err && i < sizeof(tables) / sizeof(tables[0]); i++)
		err = copy_sums(c, &tables[i]);
	if (!err)
		err = copy_minutes(c);
	return err ? err : copy_others(c);
}

/* The copy is of no use before it is complete: it needs no journal on the disk. */
static int write_copy(struct clean *c, const char *path)
{
	const struct index_options options = {.path = path, .folder = c->from->folder};
	char *attach = sqlite3_mprintf("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;"
				       " ATTACH %Q AS before",
				       c->from->path);
	int err = attach ? index_open(&options, &c->to, c->why) : no_memory(c), rc;

	if (!err) {
		rc = film_sql_run(c->to->db, attach);
		err = rc == SQLITE_OK ? index_begin(c->to, c->why)
				      : index_failed(c->to, c->to->db, rc, c->why);
		if (!err)
			err = index_end(c->to, copy_all(c), c->why);
		rc = film_sql_run(c->to->db, "DETACH before; PRAGMA journal_mode = WAL");
		if (!err && rc != SQLITE_OK)
			err = index_failed(c->to, c->to->db, rc, c->why);
	}
	sqlite3_free(attach);
	index_free(c->to);
	return err;
}

/* Half of some dictionary is not in use. */
static bool is_worth_it(const struct clean *c)
{
	return c->path_count / 2 > count_marks(c->paths, c->path_count) ||
	       c->function_count / 2 > count_marks(c->functions, c->function_count) ||
	       c->series_count / 2 > count_marks(c->series, c->series_count);
}

bool index_may_clean(const struct index *index)
{
	return dictionary_readable(&index->dictionary.paths) >= index->clean_paths ||
	       dictionary_readable(&index->dictionary.series) >= index->clean_series;
}

/*
 * Not before there are twice as many as are in use now: to look takes as long as to ask for
 * everything.
 */
static void look_again_at(struct index *index, uint32_t paths, uint32_t series)
{
	index->clean_paths = 2 * paths > INDEX_CLEAN_PATHS ? 2 * paths : INDEX_CLEAN_PATHS;
	index->clean_series = 2 * series > INDEX_CLEAN_SERIES ? 2 * series : INDEX_CLEAN_SERIES;
}

int index_clean(struct index *index, const char *to, bool *cleaned, struct fail *why)
{
	struct clean c = {.from = index, .why = why};
	int err = index_reader_get(index, &c.reader, why);

	*cleaned = false;
	if (err)
		return err;
	err = begin(&c) ? mark_sums(&c) : no_memory(&c);
	if (!err) {
		mark_rest(&c);
		*cleaned = is_worth_it(&c);
		look_again_at(index, count_marks(c.paths, c.path_count),
			      count_marks(c.series, c.series_count));
	}
	if (!err && *cleaned)
		err = write_copy(&c, to);
	index_reader_put(index, c.reader);
	end(&c);
	return err;
}
