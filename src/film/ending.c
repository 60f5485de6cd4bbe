// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "film/load.h"
#include "film/schema.h"

/*
 * Whether another process has the lock of a film's recorder (film/create.h). A child asks: to close
 * a descriptor of the file would end the locks that SQLite has on it for this process.
 */
static bool is_locked(const char *path)
{
	pid_t child = fork();
	int status = 0;

	if (!child) {
		int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

		_exit(fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK);
	}
	/* what is not known counts as a recording that goes on, of which nothing is said */
	while (child > 0 && waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return true;
	return child < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

void film_look_at_end(struct film *film)
{
	struct film *now;

	film->is_cut_off = film->is_open && !is_locked(film->private->path);
	/* or it was closed since it was read: the next reading has its end */
	if (film->is_cut_off && !film_open_info(film->private->path, &now, NULL)) {
		film->is_cut_off = now->is_open;
		film_free(now);
	}
}

int film_make_single(const char *path)
{
	sqlite3 *db = NULL;
	int err,
		rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, NULL);

	if (rc == SQLITE_OK)
		rc = film_sql_distrust(db);
	if (rc == SQLITE_OK)
		rc = film_sql_run(db, "PRAGMA journal_mode = DELETE");
	err = film_sql_errno(db, rc);
	sqlite3_close(db);
	return err;
}
