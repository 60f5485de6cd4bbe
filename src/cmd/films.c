// SPDX-License-Identifier: Apache-2.0
#include "cmd/films.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/file.h"
#include "base/temporary.h"
#include "film/merge.h"

#define FILM_NAME "films.film"

/*
 * Waits for more of standard input, which may never come. -ECANCELED: one of the signals came,
 * which are blocked; it is left to be taken once they are not.
 */
static int await_stdin(int signals)
{
	struct pollfd either[] = {{STDIN_FILENO, POLLIN, 0}, {signals, POLLIN, 0}};

	while (poll(either, 2, -1) < 0)
		if (errno != EINTR)
			return -errno;
	return either[1].revents ? -ECANCELED : 0;
}

/* A film is read in any order, which a pipe does not allow. stop: signals, which are blocked. */
static int copy_stdin(const char *to, const sigset_t *stop, struct fail *why)
{
	int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), signals, err;
	char bytes[65536];
	ssize_t count;

	if (fd < 0)
		return fail_errno(why, -errno, NULL, "cannot copy the film to %s", to);
	signals = signalfd(-1, stop, SFD_CLOEXEC);
	err = signals < 0 ? -errno : await_stdin(signals);
	while (!err && (count = read(STDIN_FILENO, bytes, sizeof(bytes)))) {
		if (count > 0)
			err = file_write_all(fd, bytes, (size_t)count);
		else if (errno != EINTR)
			err = -errno;
		if (!err)
			err = await_stdin(signals);
	}
	if (signals >= 0)
		close(signals);
	close(fd);
	return err ? fail_errno(why, err, NULL, "cannot copy the film from standard input") : 0;
}

static int merge(const char *const *paths, size_t count, const char *to, struct fail *why)
{
	size_t bad;

	for (size_t i = 0; i < count; i++)
		if (!strcmp(paths[i], FILM_FROM_STDIN))
			return fail(why, -EINVAL, NULL,
				    "a film from standard input cannot be one of several");
	return film_merge_files(paths, count, to, false, &bad, why);
}

void cmd_stops_block(sigset_t *stop, sigset_t *before)
{
	static const int all[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction now;

	sigemptyset(stop);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!sigaction(all[i], NULL, &now) && now.sa_handler != SIG_IGN)
			sigaddset(stop, all[i]);
	sigprocmask(SIG_BLOCK, stop, before);
}

int cmd_films_open(const char *const *paths, size_t count, struct film **film, struct fail *why)
{
	struct temporary temporary = {0};
	sigset_t stop, before;
	int err;

	if (count == 1 && strcmp(*paths, FILM_FROM_STDIN) != 0)
		return film_open(*paths, film, why);
	cmd_stops_block(&stop, &before);
	err = temporary_make(FILM_NAME, &temporary, why);
	if (!err)
		err = count == 1 ? copy_stdin(temporary.path, &stop, why)
				 : merge(paths, count, temporary.path, why);
	if (!err)
		err = film_open(temporary.path, film, why);
	temporary_remove(&temporary);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}
