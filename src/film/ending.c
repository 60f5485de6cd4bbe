// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "film/load.h"

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
	film->is_cut_off = film->is_open && !is_locked(film->private->path);
}
