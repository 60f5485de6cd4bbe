// SPDX-License-Identifier: Apache-2.0
/* The dictionary of an index, as it lies in the database: rows, and blocks of columns. */
#include <errno.h>
#include <string.h>

#include "film/schema.h"
#include "store/index_private.h"

enum {
	BLOCK = PIECE,
	FUNCTION_COLUMNS = 3,
	PATH_COLUMNS = 4,
	NAMES_MAX = 8 << 20, /* bytes of the names in one block */
	SMALL_BLOCKS = 64,
};

#define PLACE 0x100 /* beside a function's kind: it has no name */

/* The next row of a dictionary, whose id must be the next one. */
static int step(sqlite3_stmt *row, uint32_t next)
{
	int rc = sqlite3_step(row);

	if (rc == SQLITE_ROW && sqlite3_column_int64(row, 0) != next)
		return SQLITE_CORRUPT;
	return rc;
}

static int load_images(struct index *index, sqlite3_stmt *row)
{
	struct dictionary *d = &index->dictionary;
	int rc, err = 0;

	while (!err && (rc = step(row, d->images.count)) == SQLITE_ROW) {
		struct film_image image = {.kind = sqlite3_column_int(row, 1)};
		const void *build = sqlite3_column_blob(row, 3);
		int size = sqlite3_column_bytes(row, 3);

		image.path = (const char *)sqlite3_column_text(row, 2);
		if (!image.path || size > FILM_BUILD_ID_MAX)
			return -EBADMSG;
		if (size)
			memcpy(image.build_id, build, (size_t)size);
		image.build_id_size = (uint32_t)size;
		err = dictionary_load_image(d, &image);
	}
	return err ? err : rc == SQLITE_DONE ? 0 : -EBADMSG;
}

static int load_series(struct index *index, sqlite3_stmt *row)
{
	struct dictionary *d = &index->dictionary;
	int rc, err = 0;

	while (!err && (rc = step(row, d->series.count)) == SQLITE_ROW) {
		struct dictionary_series s = {
			.host = (const char *)sqlite3_column_text(row, 1),
			.service = (const char *)sqlite3_column_text(row, 2),
			.version = (const char *)sqlite3_column_text(row, 3),
			.labels = (const char *)sqlite3_column_text(row, 4),
		};

		if (!s.host || !s.service || !s.version || !s.labels)
			return -EBADMSG;
		err = dictionary_load_series(d, &s);
	}
	return err ? err : rc == SQLITE_DONE ? 0 : -EBADMSG;
}

/* The columns of a block of n entries at r; numbers has room for them. */
static int unpack(sqlite3_stmt *row, struct column_reader *r, uint64_t *numbers, size_t n,
		  unsigned int columns, size_t text)
{
	int err;

	if (!n || n > BLOCK)
		return -EBADMSG;
	err = column_reader_begin(r, sqlite3_column_blob(row, 2),
				  (size_t)sqlite3_column_bytes(row, 2), n, columns, text);
	for (unsigned int i = 0; !err && i < columns; i++)
		err = column_reader_get(r, numbers + i * n, n);
	return err;
}

static int load_functions(struct index *index, sqlite3_stmt *row)
{
	struct dictionary *d = &index->dictionary;
	struct column_reader *r = &index->cells.columns;
	uint64_t *numbers;
	int rc = SQLITE_NOMEM, err = 0;

	if (!vec_reserve(&index->numbers, (size_t)FUNCTION_COLUMNS * BLOCK))
		return -ENOMEM;
	numbers = index->numbers.at;
	while (!err && (rc = step(row, d->functions.count)) == SQLITE_ROW) {
		size_t n = (size_t)sqlite3_column_int64(row, 1);

		err = unpack(row, r, numbers, n, FUNCTION_COLUMNS, NAMES_MAX);
		for (size_t i = 0; !err && i < n; i++) {
			uint64_t image = numbers[i], kind = numbers[n + i];
			const char *name = column_reader_bytes(r, numbers[2 * n + i]);
			struct dictionary_function f = {
				.image = (uint32_t)image,
				.kind = (uint8_t)kind,
				.is_place = kind & PLACE,
			};

			err = !name || image > UINT32_MAX
				      ? -EBADMSG
				      : dictionary_load_function(d, &f, name, numbers[2 * n + i]);
		}
	}
	return err ? err : rc == SQLITE_DONE ? 0 : -EBADMSG;
}

static int load_paths(struct index *index, sqlite3_stmt *row)
{
	struct dictionary *d = &index->dictionary;
	struct column_reader *r = &index->cells.columns;
	uint64_t *numbers;
	int rc = SQLITE_NOMEM, err = 0;

	if (!vec_reserve(&index->numbers, (size_t)PATH_COLUMNS * BLOCK))
		return -ENOMEM;
	numbers = index->numbers.at;
	while (!err && (rc = step(row, d->paths.count)) == SQLITE_ROW) {
		size_t n = (size_t)sqlite3_column_int64(row, 1);

		err = unpack(row, r, numbers, n, PATH_COLUMNS, 0);
		for (size_t i = 0; !err && i < n; i++) {
			uint32_t id = d->paths.count;
			struct dictionary_path path = {
				.parent = id - (uint32_t)numbers[i],
				.function = (uint32_t)numbers[n + i],
				.plain = id - (uint32_t)numbers[2 * n + i],
				.flags = (uint8_t)numbers[3 * n + i],
			};

			err = dictionary_load_path(d, &path);
		}
	}
	return err ? err : rc == SQLITE_DONE ? 0 : -EBADMSG;
}

int index_load_dictionary(struct index *index, struct fail *why)
{
	static const struct {
		const char *sql;
		int (*load)(struct index *index, sqlite3_stmt *row);
	} tables[] = {
		{"SELECT id, kind, path, build_id FROM image ORDER BY id", load_images},
		{"SELECT id, n, data FROM function ORDER BY id", load_functions},
		{"SELECT id, n, data FROM path ORDER BY id", load_paths},
		{"SELECT id, host, service, version, labels FROM series ORDER BY id", load_series},
	};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(tables) / sizeof(tables[0]); i++) {
		sqlite3_stmt *row = NULL;
		int rc = sql_open(index->db, &row, tables[i].sql, "");

		if (rc == SQLITE_OK)
			err = tables[i].load(index, row);
		else
			err = index_failed(index, index->db, rc, why);
		sqlite3_finalize(row);
	}
	if (err == -EBADMSG)
		return index_damaged(index, why);
	if (err)
		return fail_errno(why, err, NULL, "cannot load the index of the store");
	dictionary_publish(&index->dictionary);
	index->stored = dictionary_counts(&index->dictionary);
	return 0;
}

static int store_images(struct index *index, uint32_t from)
{
	const struct dictionary *d = &index->dictionary;
	int rc = SQLITE_OK;

	for (uint32_t i = from; rc == SQLITE_OK && i < d->images.count; i++) {
		const struct film_image *image = dictionary_image_at(d, i);

		rc = sql_run(index->db, "INSERT INTO image VALUES(?, ?, ?, ?)", "iitb", (int64_t)i,
			     (int64_t)image->kind, image->path, image->build_id,
			     (size_t)image->build_id_size);
	}
	return rc;
}

static int store_series(struct index *index, uint32_t from)
{
	const struct dictionary *d = &index->dictionary;
	int rc = SQLITE_OK;

	for (uint32_t i = from; rc == SQLITE_OK && i < d->series.count; i++) {
		const struct dictionary_series *s = dictionary_series_at(d, i);

		rc = sql_run(index->db, "INSERT INTO series VALUES(?, ?, ?, ?, ?)", "itttt",
			     (int64_t)i, s->host, s->service, s->version, s->labels);
	}
	return rc;
}

static int store_block(struct index *index, const char *sql, uint32_t from, uint32_t count)
{
	struct columns *c = &index->columns;

	if (columns_end(c))
		return SQLITE_NOMEM;
	return sql_run(index->db, sql, "iib", (int64_t)from, (int64_t)count, c->packed.at,
		       c->packed.count);
}

static int store_functions(struct index *index, uint32_t from)
{
	const struct dictionary *d = &index->dictionary;
	struct columns *c = &index->columns;
	uint64_t *numbers;
	int rc = SQLITE_OK;

	if (!vec_reserve(&index->numbers, BLOCK))
		return SQLITE_NOMEM;
	numbers = index->numbers.at;
	while (rc == SQLITE_OK && from < d->functions.count) {
		uint32_t n = d->functions.count - from < BLOCK ? d->functions.count - from : BLOCK;
		size_t bytes = 0;
		uint32_t i;

		columns_begin(c);
		for (i = 0; i < n && bytes < NAMES_MAX / 2; i++)
			bytes += strlen(dictionary_function_at(d, from + i)->name);
		n = i;
		for (i = 0; i < n; i++)
			numbers[i] = dictionary_function_at(d, from + i)->image;
		columns_put(c, numbers, n);
		for (i = 0; i < n; i++) {
			const struct dictionary_function *f = dictionary_function_at(d, from + i);

			numbers[i] = f->kind | (f->is_place ? PLACE : 0);
		}
		columns_put(c, numbers, n);
		for (i = 0; i < n; i++)
			numbers[i] = strlen(dictionary_function_at(d, from + i)->name);
		columns_put(c, numbers, n);
		for (i = 0; i < n; i++)
			columns_put_bytes(c, dictionary_function_at(d, from + i)->name, numbers[i]);
		rc = store_block(index, "INSERT INTO function VALUES(?, ?, ?)", from, n);
		from += n;
	}
	return rc;
}

static int store_paths(struct index *index, uint32_t from)
{
	const struct dictionary *d = &index->dictionary;
	struct columns *c = &index->columns;
	uint64_t *numbers;
	int rc = SQLITE_OK;

	if (!vec_reserve(&index->numbers, (size_t)PATH_COLUMNS * BLOCK))
		return SQLITE_NOMEM;
	numbers = index->numbers.at;
	while (rc == SQLITE_OK && from < d->paths.count) {
		uint32_t n = d->paths.count - from < BLOCK ? d->paths.count - from : BLOCK;

		for (uint32_t i = 0; i < n; i++) {
			const struct dictionary_path *path = dictionary_path_at(d, from + i);

			numbers[i] = from + i - path->parent;
			numbers[n + i] = path->function;
			numbers[2 * n + i] = from + i - path->plain;
			numbers[3 * n + i] = path->flags;
		}
		columns_begin(c);
		for (int i = 0; i < PATH_COLUMNS; i++)
			columns_put(c, numbers + (size_t)i * n, n);
		rc = store_block(index, "INSERT INTO path VALUES(?, ?, ?)", from, n);
		from += n;
	}
	return rc;
}

int index_store_dictionary(struct index *index, struct fail *why)
{
	int rc = store_images(index, index->store_from.images);

	if (rc == SQLITE_OK)
		rc = store_functions(index, index->store_from.functions);
	if (rc == SQLITE_OK)
		rc = store_paths(index, index->store_from.paths);
	if (rc == SQLITE_OK)
		rc = store_series(index, index->store_from.series);
	return rc == SQLITE_OK ? 0 : index_failed(index, index->db, rc, why);
}

int index_tidy_dictionary(struct index *index, struct fail *why)
{
	int64_t functions = 0, paths = 0;
	int rc = film_sql_number(index->db, "SELECT count(*) FROM function", &functions);

	if (rc == SQLITE_OK)
		rc = film_sql_number(index->db, "SELECT count(*) FROM path", &paths);
	if (rc == SQLITE_OK && functions > SMALL_BLOCKS + index->stored.functions / BLOCK) {
		rc = film_sql_run(index->db, "DELETE FROM function");
		if (rc == SQLITE_OK)
			index->store_from.functions = 1;
	}
	if (rc == SQLITE_OK && paths > SMALL_BLOCKS + index->stored.paths / BLOCK) {
		rc = film_sql_run(index->db, "DELETE FROM path");
		if (rc == SQLITE_OK)
			index->store_from.paths = 1;
	}
	return rc == SQLITE_OK ? 0 : index_failed(index, index->db, rc, why);
}
