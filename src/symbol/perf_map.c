// SPDX-License-Identifier: Apache-2.0
#include "symbol/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/batch.h"
#include "symbol/lines.h"
#include "symbol/open_file.h"
#include "symbol/perf_map.h"

/* A JVM with 100,000 methods writes some 10 MB. */
#define MAP_LIMIT (256u << 20)

struct status {
	pid_t inner_pid; /* in the innermost namespace; 0: not known */
	uid_t users[4];	 /* real, effective, saved, file system */
	bool has_users;
};

static int take_status_line(void *context, char *line)
{
	struct status *s = context;
	unsigned int u[4];
	const char *last;

	if (sscanf(line, "Uid: %u %u %u %u", &u[0], &u[1], &u[2], &u[3]) == 4) {
		for (int i = 0; i < 4; i++)
			s->users[i] = u[i];
		s->has_users = true;
	} else if (!strncmp(line, "NSpid:", 6)) {
		last = strrchr(line, '\t');
		s->inner_pid = last ? (pid_t)strtol(last + 1, NULL, 10) : 0;
	}
	return 0;
}

static int read_status(pid_t pid, struct status *s)
{
	char path[48];
	int fd, err;

	*s = (struct status){0};
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	err = lines_of_fd(fd, 64u << 10, take_status_line, s);
	close(fd);
	if (!err && (!s->has_users || s->inner_pid <= 0))
		err = -ESRCH;
	return err;
}

/* Nobody but the process itself, or root, may put names into a film. */
static bool is_trusted_owner(const struct status *s, uid_t owner)
{
	for (size_t i = 0; i < sizeof(s->users) / sizeof(s->users[0]); i++)
		if (s->users[i] == owner)
			return true;
	return owner == 0;
}

/* "START SIZE NAME", the numbers in hexadecimal; NAME may hold spaces. */
static bool parse_line(char *line, uint64_t *start, uint64_t *size, char **name)
{
	char *end;

	errno = 0;
	*start = strtoull(line, &end, 16);
	if (end == line || *end != ' ' || errno)
		return false;
	line = end + 1;
	*size = strtoull(line, &end, 16);
	if (end == line || *end != ' ' || errno)
		return false;
	*name = end + 1;
	return **name && *size && *size <= UINT64_MAX - *start;
}

static int take_map_line(void *context, char *line)
{
	struct batch *b = context;
	uint64_t start, size;
	char *name;

	if (!parse_line(line, &start, &size, &name))
		return 0;
	for (size_t i = batch_find(b, start); i < b->count && b->at[i].address < start + size;
	     i++) {
		char *copy;

		if (!b->work)
			return -E2BIG;
		b->work--;
		copy = strdup(name);
		if (!copy)
			return -ENOMEM;
		/* code is thrown away and its place used again: the last line is the newest */
		free(b->at[i].name);
		b->at[i].name = copy;
	}
	return 0;
}

int perf_map_read(int fd, struct batch *batch)
{
	return lines_of_fd(fd, MAP_LIMIT, take_map_line, batch);
}

static int open_map(pid_t pid, char *path, size_t path_size, struct fail *why)
{
	struct status status;
	struct stat st;
	char root[32];
	int err = read_status(pid, &status), fd;

	snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	if (err == -ESRCH) {
		/* it has ended: if its root was ours, its map is still there; of its user nothing is known */
		status = (struct status){.inner_pid = pid};
		*root = 0;
	} else if (err) {
		return fail_errno(why, err, NULL, "process %d", (int)pid);
	}
	snprintf(path, path_size, "/tmp/perf-%d.map", (int)status.inner_pid);
	fd = open_regular(root, path, false, &st);
	if (fd == -ELOOP || fd == -EINVAL)
		return fail(why, -EPERM, NULL, "%s of process %d is not a regular file: not read",
			    path, (int)pid);
	if (fd < 0)
		return fail_errno(why, fd, NULL, "%s of process %d", path, (int)pid);
	if (!is_trusted_owner(&status, st.st_uid)) {
		close(fd);
		return fail(why, -EPERM, NULL,
			    "%s belongs to user %u, not to process %d or root: not read", path,
			    st.st_uid, (int)pid);
	}
	if (st.st_size > MAP_LIMIT) {
		close(fd);
		return fail(why, -EFBIG, NULL, "%s of process %d is larger than 256 MiB", path,
			    (int)pid);
	}
	return fd;
}

int symbols_of_perf_map(struct symbols *symbols, pid_t pid, const uint64_t *addresses, size_t count,
			symbol_found *found, void *context, struct fail *why)
{
	struct batch batch;
	char path[48];
	int fd = open_map(pid, path, sizeof(path), why), err;

	(void)symbols;
	if (fd < 0)
		return fd;
	err = batch_make(&batch, addresses, count);
	if (!err) {
		err = perf_map_read(fd, &batch);
		if (!err)
			err = batch_tell_symbols(&batch, found, context);
		batch_free(&batch);
	}
	close(fd);
	if (err == -E2BIG)
		return fail(why, err, NULL, "entries of %s of process %d lie over each other", path,
			    (int)pid);
	if (err)
		return fail_errno(why, err, NULL, "%s of process %d", path, (int)pid);
	return 0;
}
