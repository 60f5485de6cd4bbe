// SPDX-License-Identifier: Apache-2.0
#include "store/build_names.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "film/schema.h"
#include "query/relabel.h"
#include "store/index_private.h"

#define APPLICATION_ID 0x5ca35a26

struct build_names {
	char *path;
	/* each with a lock of its own, which is held while it is used */
	struct build_names_side {
		pthread_mutex_t lock;
		sqlite3 *db;
		sqlite3_stmt *find;
	} reader, writer;
};

static const char schema[] =
	"CREATE TABLE build(id INTEGER PRIMARY KEY, build BLOB UNIQUE, file TEXT, added INTEGER,"
	" functions INTEGER, lines INTEGER);"
	"CREATE TABLE function(build INTEGER, start INTEGER, end INTEGER, name TEXT,"
	" PRIMARY KEY(build, start)) WITHOUT ROWID;";

struct build_names *build_names_new(const char *path)
{
	struct build_names *names = calloc(1, sizeof(*names));

	if (!names || !(names->path = strdup(path))) {
		free(names);
		return NULL;
	}
	pthread_mutex_init(&names->reader.lock, NULL);
	pthread_mutex_init(&names->writer.lock, NULL);
	return names;
}

static void close_side(struct build_names_side *side)
{
	sqlite3_finalize(side->find);
	sqlite3_close(side->db);
	side->find = NULL;
	side->db = NULL;
}

void build_names_close(struct build_names *names)
{
	struct build_names_side *sides[] = {&names->reader, &names->writer};

	for (size_t i = 0; i < 2; i++) {
		pthread_mutex_lock(&sides[i]->lock);
		close_side(sides[i]);
		pthread_mutex_unlock(&sides[i]->lock);
	}
}

void build_names_free(struct build_names *names)
{
	if (!names)
		return;
	build_names_close(names);
	pthread_mutex_destroy(&names->reader.lock);
	pthread_mutex_destroy(&names->writer.lock);
	free(names->path);
	free(names);
}

static int failed(const struct build_names *names, sqlite3 *db, int rc, struct fail *why)
{
	int err = film_sql_errno(db, rc);

	if ((rc & 0xff) == SQLITE_ERROR || (rc & 0xff) == SQLITE_NOTADB)
		err = -EBADMSG;
	return fail_errno(why, err ? err : -EIO, NULL, "cannot use the names %s", names->path);
}

/* 0 or a negative errno with *why filled. A new database has tables afterwards. */
static int open_side(struct build_names *names, struct build_names_side *side, bool is_reader,
		     struct fail *why)
{
	int flags = is_reader ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
	int64_t id = 0, tables = 0;
	int rc, err = 0;

	if (side->db)
		return 0;
	rc = sqlite3_open_v2(names->path, &side->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc == SQLITE_OK)
		rc = film_sql_distrust(side->db);
	if (rc == SQLITE_OK)
		rc = sqlite3_busy_timeout(side->db, FILM_PATIENCE_MS);
	if (rc == SQLITE_OK)
		rc = film_sql_number(side->db, "PRAGMA application_id", &id);
	if (rc == SQLITE_OK && !id && !is_reader)
		rc = film_sql_number(side->db, "SELECT count(*) FROM sqlite_schema", &tables);
	if (rc == SQLITE_OK && !id && !is_reader && !tables) {
		rc = sql_make_tables(side->db, APPLICATION_ID, schema);
		id = APPLICATION_ID;
	}
	if (rc == SQLITE_OK && id != APPLICATION_ID)
		err = fail(why, -EBADMSG, NULL, "%s does not hold names", names->path);
	else if (rc != SQLITE_OK)
		err = failed(names, side->db, rc, why);
	if (err)
		close_side(side);
	return err;
}

/* -- what is added ----------------------------------------------------------------------------- */

static int wrong_line(uint64_t line, struct fail *why)
{
	return fail(why, -EINVAL, "a line is 'START SIZE NAME', with hexadecimal numbers",
		    "cannot take the names: line %" PRIu64 " is wrong", line);
}

/* Digits alone, with a blank behind them, which *text is set to. */
static bool parse_hex(char **text, uint64_t *number)
{
	char *end = *text + strspn(*text, "0123456789abcdefABCDEF");

	if (end == *text || *end != ' ')
		return false;
	errno = 0;
	*number = strtoull(*text, text, 16);
	return !errno && *text == end;
}

/* "START SIZE NAME\n"; the name stays in the line. */
static bool parse(char *line, ssize_t length, uint64_t *start, uint64_t *end, const char **name)
{
	uint64_t size;
	char *at = line;

	if (length && line[length - 1] == '\n')
		line[--length] = 0;
	if (strlen(line) != (size_t)length || !parse_hex(&at, start))
		return false;
	at++;
	if (!parse_hex(&at, &size))
		return false;
	*name = at + 1;
	return **name && strlen(*name) < BUILD_NAME_SIZE && size && *start <= INT64_MAX &&
	       !__builtin_add_overflow(*start, size, end) && *end <= INT64_MAX;
}

/* *count: how many functions were added; *number: lines, of which several may have one start. */
static int add_lines(sqlite3 *db, int64_t build, FILE *lines, uint64_t *count, uint64_t *number,
		     struct fail *why)
{
	sqlite3_stmt *insert = NULL;
	uint64_t start, end;
	const char *name;
	char *line = NULL;
	size_t room = 0;
	ssize_t length;
	int rc = sqlite3_prepare_v2(db,
				    "INSERT OR IGNORE INTO function(build, start, end, name)"
				    " VALUES(?, ?, ?, ?)",
				    -1, &insert, NULL);

	*count = *number = 0;
	while (rc == SQLITE_OK && (length = getline(&line, &room, lines)) > 0) {
		if (++*number > BUILD_NAMES_OF_ONE || !parse(line, length, &start, &end, &name)) {
			wrong_line(*number, why);
			rc = SQLITE_ABORT;
			break;
		}
		rc = sql_bind(insert, "iiit", build, (int64_t)start, (int64_t)end, name);
		if (rc == SQLITE_OK)
			rc = sql_again(insert);
		*count += rc == SQLITE_OK && sqlite3_changes(db);
	}
	if (rc == SQLITE_OK && (ferror(lines) || !*count)) {
		wrong_line(*number + 1, why);
		rc = SQLITE_ABORT;
	}
	sqlite3_finalize(insert);
	free(line);
	return rc;
}

/* Builds go in the order in which they came. */
static int make_room(sqlite3 *db, int64_t last, uint64_t *dropped)
{
	int64_t sum = 0, first = 0;
	int rc = film_sql_number(db, "SELECT coalesce(sum(functions), 0) FROM build", &sum);

	while (rc == SQLITE_OK && sum > BUILD_NAMES_MAX) {
		rc = film_sql_number(db, "SELECT min(id) FROM build", &first);
		if (rc != SQLITE_OK || first == last)
			break;
		rc = sql_run(db, "DELETE FROM function WHERE build = ?", "i", first);
		if (rc == SQLITE_OK) {
			sum -= sqlite3_changes(db);
			*dropped += (uint64_t)sqlite3_changes(db);
			rc = sql_run(db, "DELETE FROM build WHERE id = ?", "i", first);
		}
	}
	return rc;
}

/* How many functions a file has at most; it is read again from its beginning. */
static uint64_t count_lines(FILE *lines)
{
	uint64_t count = 0;
	int c;

	while ((c = getc_unlocked(lines)) != EOF)
		count += c == '\n';
	rewind(lines);
	return count;
}

/*
 * Makes a row for a build, of which the functions go if it had fewer before: a file without symbols
 * has the stubs of its imports. *id: its number; 0: what is there stays.
 */
static int begin_build(sqlite3 *db, const struct build_names_build *build, int64_t *id)
{
	sqlite3_stmt *row = NULL;
	int64_t known = 0, had = 0;
	int rc = sql_open(db, &row, "SELECT id, lines FROM build WHERE build = ?", "b", build->id,
			  build->id_size);

	*id = 0;
	if (rc == SQLITE_OK)
		rc = sqlite3_step(row);
	if (rc == SQLITE_ROW) {
		known = sqlite3_column_int64(row, 0);
		had = sqlite3_column_int64(row, 1);
	}
	sqlite3_finalize(row);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return rc;
	if (known && count_lines(build->lines) <= (uint64_t)had)
		return SQLITE_OK;
	rc = known ? sql_run(db, "DELETE FROM function WHERE build = ?", "i", known) : SQLITE_OK;
	if (rc == SQLITE_OK && known)
		rc = sql_run(db, "DELETE FROM build WHERE id = ?", "i", known);
	if (rc == SQLITE_OK)
		rc = sql_run(db,
			     "INSERT INTO build(build, file, added, functions, lines)"
			     " VALUES(?, ?, ?, 0, 0)",
			     "bti", build->id, build->id_size, build->file, (int64_t)clock_wall());
	*id = sqlite3_last_insert_rowid(db);
	return rc;
}

/* In a transaction. SQLITE_ABORT: *why says what is wrong. */
static int add_build(sqlite3 *db, const struct build_names_build *build,
		     struct build_names_added *added, struct fail *why)
{
	uint64_t lines;
	int64_t id;
	int rc = begin_build(db, build, &id);

	added->again = rc == SQLITE_OK && !id;
	if (rc != SQLITE_OK || added->again)
		return rc;
	rc = add_lines(db, id, build->lines, &added->functions, &lines, why);
	if (rc == SQLITE_OK)
		rc = sql_run(db, "UPDATE build SET functions = ?, lines = ? WHERE id = ?", "iii",
			     (int64_t)added->functions, (int64_t)lines, id);
	return rc == SQLITE_OK ? make_room(db, id, &added->dropped) : rc;
}

int build_names_add(struct build_names *names, const struct build_names_build *build,
		    struct build_names_added *added, struct fail *why)
{
	struct build_names_side *side = &names->writer;
	int rc, err;

	*added = (struct build_names_added){0};
	pthread_mutex_lock(&side->lock);
	err = open_side(names, side, false, why);
	if (!err) {
		rc = film_sql_run(side->db, "BEGIN IMMEDIATE");
		if (rc == SQLITE_OK)
			rc = add_build(side->db, build, added, why);
		if (rc == SQLITE_OK)
			rc = film_sql_run(side->db, "COMMIT");
		if (rc != SQLITE_OK) {
			err = rc == SQLITE_ABORT ? why->err : failed(names, side->db, rc, why);
			film_sql_run(side->db, "ROLLBACK");
		}
	}
	pthread_mutex_unlock(&side->lock);
	return err;
}

/* -- what is asked ----------------------------------------------------------------------------- */

/* With the lock held. */
static bool find(struct build_names_side *side, const struct film_image *image, uint64_t address,
		 char to[BUILD_NAME_SIZE])
{
	const char *name;
	bool is_found;

	if (!side->find &&
	    sqlite3_prepare_v2(side->db,
			       "SELECT end, name FROM function WHERE"
			       " build = (SELECT id FROM build WHERE build = ?) AND start <= ?"
			       " ORDER BY start DESC LIMIT 1",
			       -1, &side->find, NULL) != SQLITE_OK)
		return false;
	is_found = sql_bind(side->find, "bi", image->build_id, (size_t)image->build_id_size,
			    (int64_t)address) == SQLITE_OK &&
		   sqlite3_step(side->find) == SQLITE_ROW &&
		   (int64_t)address < sqlite3_column_int64(side->find, 0);
	name = is_found ? (const char *)sqlite3_column_text(side->find, 1) : NULL;
	if (name)
		snprintf(to, BUILD_NAME_SIZE, "%s", name);
	sqlite3_reset(side->find);
	return name && *to;
}

/* Whether there are names; then the reader is open, and its lock held. */
static bool begin(struct build_names *names)
{
	struct fail ignored;

	if (access(names->path, R_OK))
		return false;
	pthread_mutex_lock(&names->reader.lock);
	/* one that is damaged is found by those who add */
	if (!open_side(names, &names->reader, true, &ignored))
		return true;
	pthread_mutex_unlock(&names->reader.lock);
	return false;
}

bool build_names_find(struct build_names *names, const struct film_image *image, uint64_t address,
		      char to[BUILD_NAME_SIZE])
{
	bool is_found;

	if (!image->build_id_size || address > INT64_MAX || !begin(names))
		return false;
	is_found = find(&names->reader, image, address, to);
	pthread_mutex_unlock(&names->reader.lock);
	return is_found;
}

bool build_names_has(struct build_names *names, const struct film_image *image)
{
	sqlite3_stmt *row = NULL;
	bool is_known;

	if (!begin(names))
		return false;
	is_known = sql_open(names->reader.db, &row, "SELECT 1 FROM build WHERE build = ?", "b",
			    image->build_id, (size_t)image->build_id_size) == SQLITE_OK &&
		   sqlite3_step(row) == SQLITE_ROW;
	sqlite3_finalize(row);
	pthread_mutex_unlock(&names->reader.lock);
	return is_known;
}

/* The address in "libc.so.6+0x1230" and "libx264.so.164+0x1340c0~" (film/names.h). */
static bool address_of(const char *name, uint64_t *address)
{
	const char *plus = strrchr(name, '+');
	char *end;

	if (!plus || strncmp(plus, "+0x", 3) != 0 || strspn(plus + 3, "0123456789abcdef") == 0)
		return false;
	*address = strtoull(plus + 3, &end, 16);
	return (!*end || !strcmp(end, NAME_GUESSED)) && *address <= INT64_MAX;
}

const char *build_names_shown(struct build_names *names, const struct film_image *image,
			      const char *place, char to[BUILD_NAME_SIZE])
{
	uint64_t address;

	return names && address_of(place, &address) && build_names_find(names, image, address, to)
		       ? to
		       : place;
}

struct finder {
	struct build_names_side *side;
	char name[BUILD_NAME_SIZE];
};

static const char *find_for(void *context, const struct film_image *image, uint64_t address)
{
	struct finder *f = context;

	return address <= INT64_MAX && find(f->side, image, address, f->name) ? f->name : NULL;
}

int build_names_film(struct build_names *names, struct film *film)
{
	struct finder finder;
	int err;

	if (!names || !begin(names))
		return 0;
	finder.side = &names->reader;
	/* that the database does not change meanwhile spares it a look for each place */
	film_sql_run(names->reader.db, "BEGIN");
	err = film_name_frames(film, find_for, &finder);
	film_sql_run(names->reader.db, "COMMIT");
	pthread_mutex_unlock(&names->reader.lock);
	return err;
}

int build_names_apply(struct build_names *names, struct tree *tree, struct functions *functions)
{
	char name[BUILD_NAME_SIZE];
	uint64_t address;
	size_t named = 0;
	int err = 0;

	if (!names || !begin(names))
		return 0;
	vec_foreach (&tree->labels.all, label) {
		if (err || !label->of_image || label->kind != FILM_FRAME_NATIVE ||
		    !label->of_image->build_id_size || !address_of(label->name, &address) ||
		    !find(&names->reader, label->of_image, address, name))
			continue;
		label->name = name_pool_add(&tree->labels.names, name);
		label->of_image = NULL;
		err = label->name ? 0 : -ENOMEM;
		label->name = label->name ? label->name : "";
		named++;
	}
	pthread_mutex_unlock(&names->reader.lock);
	return !err && named ? tree_relabel(tree, functions) : err;
}
