// SPDX-License-Identifier: Apache-2.0
#include "process/procfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

#define STAT_BYTES_MAX 4096

/* Eats a number of the given base and the character behind it; behind 0: a space, or the end. */
static bool parse_number(char **at, int base, char behind, uint64_t *value)
{
	uint64_t v = 0;
	char *s = *at;

	for (; isxdigit((unsigned char)*s); s++) {
		uint64_t digit =
			(uint64_t)(isdigit((unsigned char)*s) ? *s - '0' : (*s | 32) - 'a' + 10);

		if (digit >= (uint64_t)base || v > (UINT64_MAX - digit) / (uint64_t)base)
			return false;
		v = v * (uint64_t)base + digit;
	}
	if (s == *at || (behind ? *s != behind : *s && *s != ' '))
		return false;
	*at = *s ? s + 1 : s;
	*value = v;
	return true;
}

/* The kernel writes a line's end within a path as \012, and nothing else that way. */
static void undo_escapes(char *path)
{
	char *to = path;

	for (char *from = path; *from;) {
		if (!strncmp(from, "\\012", 4)) {
			*to++ = '\n';
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = 0;
}

static void cut_deleted(char *path)
{
	static const char mark[] = " (deleted)";
	size_t length = strlen(path), cut = sizeof(mark) - 1;

	if (length > cut && !strcmp(path + length - cut, mark))
		path[length - cut] = 0;
}

bool procfs_parse_mapping(char *line, struct procfs_mapping *mapping)
{
	uint64_t major_number, minor_number, inode;
	char *at = line;

	line[strcspn(line, "\n")] = 0;
	if (!parse_number(&at, 16, '-', &mapping->start) ||
	    !parse_number(&at, 16, ' ', &mapping->end) || mapping->start >= mapping->end)
		return false;
	if (strnlen(at, 5) < 5 || at[4] != ' ')
		return false;
	mapping->readable = at[0] == 'r';
	mapping->writable = at[1] == 'w';
	mapping->executable = at[2] == 'x';
	mapping->shared = at[3] == 's';
	at += 5;
	if (!parse_number(&at, 16, ' ', &mapping->offset) ||
	    !parse_number(&at, 16, ':', &major_number) ||
	    !parse_number(&at, 16, ' ', &minor_number) || major_number > UINT32_MAX ||
	    minor_number > UINT32_MAX || !parse_number(&at, 10, 0, &inode))
		return false;
	mapping->device = makedev((unsigned int)major_number, (unsigned int)minor_number);
	mapping->inode = inode;
	while (*at == ' ')
		at++;
	mapping->path = at;
	undo_escapes(at);
	cut_deleted(at);
	return true;
}

bool procfs_parse_stat(const char *text, struct procfs_stat *stat)
{
	/* the name may hold spaces and parentheses, but nothing behind it does */
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	unsigned long long user, kernel, start;
	long pid, threads;
	size_t length;
	int parent;

	if (!open || !close || close < open || sscanf(text, "%ld", &pid) != 1)
		return false;
	if (sscanf(close + 1,
		   " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %ld %*d "
		   "%llu",
		   &stat->state, &parent, &user, &kernel, &threads, &start) != 6)
		return false;
	if (pid < 0 || pid > INT_MAX || parent < 0 || threads < 0 || threads > INT_MAX)
		return false;
	length = (size_t)(close - open - 1);
	if (length >= sizeof(stat->comm))
		length = sizeof(stat->comm) - 1;
	memset(stat->comm, 0, sizeof(stat->comm));
	memcpy(stat->comm, open + 1, length);
	stat->pid = (pid_t)pid;
	stat->parent = parent;
	stat->threads = (uint32_t)threads;
	stat->cpu_ticks = user + kernel;
	stat->start_ticks = start;
	return true;
}

pid_t procfs_parse_tgid(const char *text)
{
	/*
	 * the name of the process is escaped in the first line, so none of its lines can pose as
	 * this one
	 */
	const char *line = strstr(text, "\nTgid:");
	int tgid;

	if (!line || sscanf(line, "\nTgid: %d", &tgid) != 1 || tgid < 0)
		return 0;
	return tgid;
}

bool procfs_parse_user(const char *text, uint32_t *uid)
{
	/* as above */
	const char *line = strstr(text, "\nUid:");

	return line && sscanf(line, "\nUid: %*u %" SCNu32, uid) == 1;
}

pid_t procfs_parse_tracer(const char *text, bool *stopped)
{
	/* as above */
	const char *line = strstr(text, "\nTracerPid:"), *state = strstr(text, "\nState:");
	int tracer;
	char letter;

	*stopped = state && sscanf(state, "\nState: %c", &letter) == 1 && letter == 't';
	if (!line || sscanf(line, "\nTracerPid: %d", &tracer) != 1 || tracer < 0)
		return 0;
	return tracer;
}

bool procfs_parse_cgroup(char **text, struct procfs_cgroup *cgroup)
{
	while (**text) {
		char *line = *text, *end = strchr(line, '\n'), *controllers, *path;

		*text = end ? end + 1 : line + strlen(line);
		if (end)
			*end = 0;
		controllers = strchr(line, ':');
		path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path || path[1] != '/')
			continue;
		*controllers = *path = 0;
		cut_deleted(path + 1);
		cgroup->controllers = controllers + 1;
		cgroup->path = path + 1;
		cgroup->v2 = !strcmp(line, "0") && !controllers[1];
		return true;
	}
	return false;
}

const char *procfs_choose_cgroup(char *text)
{
	const char *longest = "", *v2 = NULL;
	struct procfs_cgroup cgroup;

	while (procfs_parse_cgroup(&text, &cgroup)) {
		if (cgroup.v2)
			v2 = cgroup.path;
		else if (strlen(cgroup.path) > strlen(longest))
			longest = cgroup.path;
	}
	return v2 && (strcmp(v2, "/") || !*longest) ? v2 : longest;
}

void procfs_join_arguments(char *text, size_t length)
{
	/* setproctitle() leaves zero bytes behind the title, often very many */
	while (length && !text[length - 1])
		length--;
	for (size_t i = 0; i < length; i++)
		if (!text[i])
			text[i] = ' ';
}

int procfs_read_file(const char *path, size_t limit, struct buf *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), err = 0;
	char piece[4096];
	ssize_t n;

	text->count = 0;
	if (fd < 0) {
		err = errno == ENOENT ? -ESRCH : -errno;
		buf_put_u8(text, 0);
		return text->failed ? -ENOMEM : err;
	}
	for (;;) {
		n = read(fd, piece, sizeof(piece));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		if ((size_t)n > limit - text->count) {
			n = (ssize_t)(limit - text->count);
			err = -EFBIG;
		}
		buf_put(text, piece, (size_t)n);
		if (err || text->failed)
			break;
	}
	if (n < 0)
		err = -errno;
	close(fd);
	buf_put_u8(text, 0);
	return text->failed ? -ENOMEM : err;
}

int procfs_read(pid_t pid, const char *name, size_t limit, struct buf *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return procfs_read_file(path, limit, text);
}

bool procfs_read_stat(pid_t pid, const char *name, struct procfs_stat *stat)
{
	struct buf text = {0};
	bool read = !procfs_read(pid, name, STAT_BYTES_MAX, &text) &&
		    procfs_parse_stat((char *)text.at, stat);

	buf_free(&text);
	return read;
}

bool procfs_link(pid_t pid, const char *name, char *to, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	n = readlink(path, to, size - 1);
	to[n > 0 ? n : 0] = 0;
	cut_deleted(to);
	return n > 0;
}

int procfs_each_number(const char *path, void (*emit)(void *context, pid_t number), void *context)
{
	DIR *directory = opendir(path);
	struct dirent *entry;

	if (!directory)
		return -errno;
	while ((entry = readdir(directory))) {
		uint64_t number;

		if (!text_parse_u64(entry->d_name, 1, INT_MAX, &number))
			emit(context, (pid_t)number);
	}
	closedir(directory);
	return 0;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t))
		return 0;
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t procfs_now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/*
 * By how much the two clocks are apart, to a millisecond: no reading of both is exact, and what is
 * of one start has to be one number each time. Where the thread was stopped between the two
 * readings, it takes others.
 */
static uint64_t slept_ns(void)
{
	const uint64_t exact = 100000, unit = 1000000;
	uint64_t before, boot, after, least = UINT64_MAX, slept = 0;

	for (int i = 0; i < 10 && least > exact; i++) {
		before = clock_ns(CLOCK_MONOTONIC);
		boot = clock_ns(CLOCK_BOOTTIME);
		after = clock_ns(CLOCK_MONOTONIC);
		if (after - before >= least)
			continue;
		least = after - before;
		slept = boot > before ? boot - before : 0;
	}
	return (slept + unit / 2) / unit * unit;
}

uint64_t procfs_ticks_to_ns(uint64_t ticks)
{
	uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK), slept = slept_ns();
	uint64_t ns =
		ticks / per_second * 1000000000 + ticks % per_second * (1000000000 / per_second);

	return ns > slept ? ns - slept : 1;
}
