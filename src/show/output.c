// SPDX-License-Identifier: Apache-2.0
#include "show/output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static const char full_disk[] = "free some space, or write elsewhere with -o";

/* The stream's own errors say only that something failed: this one keeps what it was. */
static ssize_t write_all(void *cookie, const char *bytes, size_t count)
{
	struct output *o = cookie;

	if (!o->err)
		o->err = file_write_all(o->fd, bytes, count);
	return o->err ? 0 : (ssize_t)count;
}

static int close_fd(void *cookie)
{
	struct output *o = cookie;

	if (o->fd != STDOUT_FILENO && close(o->fd) && !o->err)
		o->err = -errno;
	return 0;
}

static int open_stream(struct output *o)
{
	struct winsize size;

	o->file =
		fopencookie(o, "w", (cookie_io_functions_t){.write = write_all, .close = close_fd});
	if (!o->file) {
		close_fd(o);
		return -ENOMEM;
	}
	o->is_terminal = isatty(o->fd);
	if (o->is_terminal && !ioctl(o->fd, TIOCGWINSZ, &size))
		o->width = size.ws_col;
	return 0;
}

static int directory_of(const char *path, char **directory)
{
	char *copy = strdup(path);

	*directory = copy ? strdup(dirname(copy)) : NULL;
	free(copy);
	return *directory ? 0 : -ENOMEM;
}

static int open_named_temporary(struct output *o, mode_t mode)
{
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	if (asprintf(&o->temporary, "%s.XXXXXX", o->path) < 0) {
		o->temporary = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(o->temporary, O_CLOEXEC);
	if (fd < 0) {
		fd = -errno;
		free(o->temporary);
		o->temporary = NULL;
		return fd;
	}
	fchmod(fd, mode ? mode : 0666 & ~mask);
	return fd;
}

/* A file without a name, which the kernel drops with the process; else one with a passing name. */
static int open_temporary(struct output *o, mode_t mode)
{
	char *directory;
	int fd = directory_of(o->path, &directory);

	if (fd)
		return fd;
	fd = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
	free(directory);
	if (fd < 0)
		return open_named_temporary(o, mode);
	if (mode)
		fchmod(fd, mode);
	return fd;
}

/* A film is one: "-o x.film" was meant for record, and would replace a recording by a report. */
static bool is_database(const char *path)
{
	static const char magic[] = "SQLite format 3";
	char start[sizeof(magic)] = "";
	FILE *file = fopen(path, "re");
	bool found;

	if (!file)
		return false;
	found = fread(start, 1, sizeof(start), file) == sizeof(start) &&
		!memcmp(start, magic, sizeof(magic));
	fclose(file);
	return found;
}

static int open_file(struct output *o, const char *path)
{
	struct stat st = {0};
	char *real = realpath(path, NULL);
	int fd;

	/* a link stays a link: what it points to is replaced */
	o->path = real ? real : strdup(path);
	if (!o->path)
		return -ENOMEM;
	if (!stat(o->path, &st) && !S_ISREG(st.st_mode)) {
		fd = open(o->path, O_WRONLY | O_CLOEXEC);
		fd = fd < 0 ? -errno : fd;
		free(o->path);
		o->path = NULL;
		return fd;
	}
	/* a file that must not be written is not replaced either */
	if (st.st_mode && access(o->path, W_OK))
		return -errno;
	if (st.st_mode && is_database(o->path))
		return -EEXIST;
	return open_temporary(o, st.st_mode & 0777);
}

int output_open(struct output *o, const char *path, struct fail *why)
{
	int err = 0;

	*o = (struct output){0};
	o->name = path && strcmp(path, "-") ? path : "standard output";
	o->fd = path && strcmp(path, "-") ? open_file(o, path) : STDOUT_FILENO;
	err = o->fd < 0 ? o->fd : open_stream(o);
	if (!err)
		return 0;
	if (o->temporary)
		unlink(o->temporary);
	free(o->path);
	free(o->temporary);
	if (err == -EEXIST)
		return fail(why, err, "give -o another name", "%s is a film: it is not replaced",
			    o->name);
	return fail_errno(why, err, NULL, "cannot write %s", o->name);
}

void output_like(struct output *o, const char *path)
{
	struct stat like, st;

	/* what stands where it is has its own */
	if (!o->path || stat(path, &like) || fstat(o->fd, &st))
		return;
	/* an owner that cannot write what it owns is of no use, and of no harm */
	fchmod(o->fd, st.st_mode & (like.st_mode | S_IRUSR | S_IWUSR) & 0777);
}

/* Gives an unnamed file a passing name, from which it can replace the one that is there. */
static int name_temporary(struct output *o)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", o->fd);
	for (int attempt = 0; attempt < 100; attempt++) {
		int err;

		if (asprintf(&o->temporary, "%s.%d.%d", o->path, (int)getpid(), attempt) < 0) {
			o->temporary = NULL;
			return -ENOMEM;
		}
		if (!linkat(AT_FDCWD, self, AT_FDCWD, o->temporary, AT_SYMLINK_FOLLOW))
			return 0;
		err = -errno;
		free(o->temporary);
		o->temporary = NULL;
		if (err != -EEXIST)
			return err;
	}
	return -EEXIST;
}

static void appear(struct output *o)
{
	if (!o->err && !o->temporary)
		o->err = name_temporary(o);
	if (!o->err && rename(o->temporary, o->path))
		o->err = -errno;
	if (o->err && o->temporary)
		unlink(o->temporary);
}

int output_close(struct output *o, bool wanted, struct fail *why)
{
	int err;

	fflush(o->file);
	if (wanted && o->path)
		appear(o);
	else if (o->temporary)
		unlink(o->temporary);
	fclose(o->file);
	err = wanted ? o->err : 0;
	if (err)
		fail_errno(why, err, err == -ENOSPC || err == -EDQUOT ? full_disk : NULL,
			   "cannot write %s", o->name);
	free(o->path);
	free(o->temporary);
	*o = (struct output){0};
	return err;
}

void output_broken_pipe(void)
{
	signal(SIGPIPE, SIG_DFL);
	raise(SIGPIPE);
	/* blocked: as the shell would report it */
	_exit(128 + SIGPIPE);
}
