// SPDX-License-Identifier: Apache-2.0
#include "store/fleet/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/database.h"
#include "base/file.h"
#include "base/text.h"
#include "film/schema.h"
#include "store/index_private.h"

enum {
	NAME_BYTES = 8,
};

struct ledger {
	sqlite3 *db;
	char collector[2 * NAME_BYTES + 1];
	uint64_t batch;
};

static const char schema[] = "CREATE TABLE IF NOT EXISTS sent(event, service, hour, seen, sent,"
			     " PRIMARY KEY(event, service, hour)) WITHOUT ROWID;"
			     "CREATE TABLE IF NOT EXISTS batch(number);";

static int read_name(int fd, char *name)
{
	uint8_t bytes[NAME_BYTES];

	if (!file_read_at(fd, 0, name, 2 * NAME_BYTES) ||
	    !text_parse_hex(name, 2 * NAME_BYTES, bytes))
		return -EBADMSG;
	name[2 * NAME_BYTES] = 0;
	return 0;
}

/* It is whole in its file, or not there: it is renamed when it is on the disk. */
static int make_name(const char *path, char *name)
{
	uint8_t bytes[NAME_BYTES];
	char fresh[PATH_MAX];
	int fd, err;

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	text_hex(name, 2 * NAME_BYTES + 1, bytes, sizeof(bytes));
	if ((size_t)snprintf(fresh, sizeof(fresh), "%s.new", path) >= sizeof(fresh))
		return -ENAMETOOLONG;
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	err = file_write_all(fd, name, 2 * NAME_BYTES);
	if (!err && fsync(fd))
		err = -errno;
	close(fd);
	if (!err && rename(fresh, path))
		err = -errno;
	return err;
}

static int find_name(const char *folder, char *name, struct fail *why)
{
	char path[PATH_MAX];
	int fd, err;

	if ((size_t)snprintf(path, sizeof(path), "%s/collector", folder) >= sizeof(path))
		return fail_errno(why, -ENAMETOOLONG, NULL, "cannot send sums");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0) {
		err = read_name(fd, name);
		close(fd);
	} else {
		err = errno == ENOENT ? make_name(path, name) : -errno;
	}
	if (err == -EBADMSG)
		return fail(
			why, err,
			"put back the 16 digits, which its rows in ClickHouse have as collector",
			"%s does not have the name of a collector", path);
	return err ? fail_errno(why, err, NULL, "cannot use %s", path) : 0;
}

static int failed(struct ledger *l, int rc, struct fail *why)
{
	int err = film_sql_errno(l->db, rc);

	return fail_errno(why, err ? err : -EIO, NULL,
			  "cannot use the list of sums that were sent");
}

static int open_database(struct ledger *l, const char *path)
{
	int rc = sqlite3_open_v2(path, &l->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
	int64_t number = 0;

	if (rc == SQLITE_OK)
		rc = film_sql_distrust(l->db);
	if (rc == SQLITE_OK)
		rc = film_sql_run(l->db, "PRAGMA journal_mode = WAL");
	/* what is lost in a power cut is sent once more */
	if (rc == SQLITE_OK)
		rc = film_sql_run(l->db, "PRAGMA synchronous = NORMAL");
	if (rc == SQLITE_OK)
		rc = film_sql_run(l->db, schema);
	if (rc == SQLITE_OK)
		rc = film_sql_number(l->db, "SELECT coalesce(max(number), 0) FROM batch", &number);
	l->batch = (uint64_t)number;
	return rc;
}

/* A damaged one is made anew: all is sent again then. */
static int open_or_renew(struct ledger *l, const char *folder, struct fail *why)
{
	char path[PATH_MAX];
	int rc;

	if ((size_t)snprintf(path, sizeof(path), "%s/sums.db", folder) >= sizeof(path))
		return fail_errno(why, -ENAMETOOLONG, NULL, "cannot send sums");
	rc = open_database(l, path);
	if (rc != SQLITE_OK && film_sql_errno(l->db, rc) == -EBADMSG) {
		sqlite3_close(l->db);
		l->db = NULL;
		/* its log would be read into the new one */
		database_remove(path);
		rc = open_database(l, path);
	}
	return rc == SQLITE_OK ? 0 : failed(l, rc, why);
}

int ledger_open(const char *folder, struct ledger **result, struct fail *why)
{
	struct ledger *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return fail_errno(why, -ENOMEM, NULL, "cannot send sums");
	err = find_name(folder, l->collector, why);
	if (!err)
		err = open_or_renew(l, folder, why);
	if (err) {
		ledger_free(l);
		return err;
	}
	*result = l;
	return 0;
}

void ledger_free(struct ledger *l)
{
	if (!l)
		return;
	sqlite3_close(l->db);
	free(l);
}

const char *ledger_collector(const struct ledger *l)
{
	return l->collector;
}

/* By the clock, so that they also rise where the list of numbers was lost. */
uint64_t ledger_batch(struct ledger *l)
{
	uint64_t now = clock_wall();

	l->batch = now > l->batch ? now : l->batch + 1;
	return l->batch;
}

int ledger_see(struct ledger *l, const struct ledger_hour *hour, bool *is_new, struct fail *why)
{
	sqlite3_stmt *row = NULL;
	int64_t seen = -1, sent = 0;
	int rc =
		sql_open(l->db, &row,
			 "SELECT seen, sent FROM sent WHERE event = ? AND service = ? AND hour = ?",
			 "tti", hour->event, hour->service, (int64_t)hour->hour);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(row);
	if (rc == SQLITE_ROW) {
		seen = sqlite3_column_int64(row, 0);
		sent = sqlite3_column_int64(row, 1);
	}
	sqlite3_finalize(row);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return failed(l, rc, why);
	*is_new = (int64_t)hour->samples > sent;
	if ((int64_t)hour->samples <= seen)
		return 0;
	rc = sql_run(l->db, "INSERT OR REPLACE INTO sent VALUES(?, ?, ?, ?, ?)", "ttiii",
		     hour->event, hour->service, (int64_t)hour->hour, (int64_t)hour->samples, sent);
	return rc == SQLITE_OK ? 0 : failed(l, rc, why);
}

static int confirm(struct ledger *l, const struct ledger_hour *hours, size_t count)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < count; i++)
		rc = sql_run(l->db,
			     "UPDATE sent SET sent = max(sent, ?4), seen = max(seen, ?4)"
			     " WHERE event = ?1 AND service = ?2 AND hour = ?3",
			     "ttii", hours[i].event, hours[i].service, (int64_t)hours[i].hour,
			     (int64_t)hours[i].samples);
	if (rc == SQLITE_OK)
		rc = film_sql_run(l->db, "DELETE FROM batch");
	if (rc == SQLITE_OK)
		rc = sql_run(l->db, "INSERT INTO batch VALUES(?)", "i", (int64_t)l->batch);
	return rc;
}

int ledger_confirm(struct ledger *l, const struct ledger_hour *hours, size_t count,
		   struct fail *why)
{
	int rc = film_sql_run(l->db, "BEGIN");

	if (rc != SQLITE_OK)
		return failed(l, rc, why);
	rc = confirm(l, hours, count);
	if (rc == SQLITE_OK)
		rc = film_sql_run(l->db, "COMMIT");
	if (rc == SQLITE_OK)
		return 0;
	failed(l, rc, why);
	film_sql_run(l->db, "ROLLBACK");
	return -EIO;
}

int ledger_forget(struct ledger *l, uint64_t hour, uint64_t *lost, struct fail *why)
{
	sqlite3_stmt *row = NULL;
	int rc = sql_open(l->db, &row,
			  "SELECT coalesce(sum(seen - sent), 0) FROM sent WHERE hour < ?", "i",
			  (int64_t)hour);

	*lost = 0;
	if (rc == SQLITE_OK)
		rc = sqlite3_step(row);
	if (rc == SQLITE_ROW)
		*lost = (uint64_t)sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	if (rc == SQLITE_ROW)
		rc = sql_run(l->db, "DELETE FROM sent WHERE hour < ?", "i", (int64_t)hour);
	return rc == SQLITE_OK ? 0 : failed(l, rc, why);
}
