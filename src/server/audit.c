// SPDX-License-Identifier: Apache-2.0
#include "server/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "server/workers.h"

enum {
	WAITING_MAX = 4096, /* lines that wait for the disk */
};

struct audit {
	char *path;
	pthread_mutex_t lock; /* of fd and is_torn */
	int fd;
	bool is_torn; /* its last line has no end: the disk was full, or the machine went down */
	struct workers *writer;
	atomic_uint_fast64_t lost;
};

void audit_note(struct audit_asked *asked, uint64_t from, uint64_t to, const char *service,
		const char *host)
{
	asked->from = from;
	asked->to = to;
	snprintf(asked->service, sizeof(asked->service), "%s", service ? service : "");
	snprintf(asked->host, sizeof(asked->host), "%s", host ? host : "");
}

/*
 * One write for a line, so that it is whole or not there but for its begin. What follows such a one
 * is a line of its own.
 */
static void write_line(void *context, void *item)
{
	struct audit *a = context;
	char *line = item;
	size_t size = strlen(line);
	ssize_t written = 0;

	pthread_mutex_lock(&a->lock);
	if (a->is_torn && write(a->fd, "\n", 1) == 1)
		a->is_torn = false;
	if (!a->is_torn)
		written = write(a->fd, line, size);
	if (written != (ssize_t)size)
		atomic_fetch_add(&a->lost, 1);
	if (written > 0 && written != (ssize_t)size)
		a->is_torn = true;
	pthread_mutex_unlock(&a->lock);
	free(line);
}

static int open_file(const char *path, bool *is_torn, struct fail *why)
{
	int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
	struct stat st;
	char last;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode)) {
		*is_torn = st.st_size && pread(fd, &last, 1, st.st_size - 1) == 1 && last != '\n';
		return fd;
	}
	if (fd >= 0) {
		close(fd);
		return fail(why, -EINVAL, "name a file with --audit", "%s is not a file", path);
	}
	return fail_errno(why, -errno, "name another file with --audit", "cannot open %s", path);
}

int audit_open(const char *path, struct audit **to, struct fail *why)
{
	struct workers_options options = {
		.count = 1, .queue = WAITING_MAX, .work = write_line, .name = "audit"};
	struct audit *a = calloc(1, sizeof(*a));
	int err;

	if (!a)
		return fail_errno(why, -ENOMEM, NULL, "cannot write an audit");
	pthread_mutex_init(&a->lock, NULL);
	options.context = a;
	a->path = strdup(path);
	a->fd = a->path ? open_file(path, &a->is_torn, why)
			: fail_errno(why, -ENOMEM, NULL, "cannot audit");
	err = a->fd < 0 ? a->fd : workers_start(&options, &a->writer, why);
	if (err) {
		audit_close(a);
		return err;
	}
	*to = a;
	return 0;
}

int audit_reopen(struct audit *a, struct fail *why)
{
	bool is_torn = false;
	int fd = open_file(a->path, &is_torn, why), before;

	if (fd < 0)
		return fd;
	pthread_mutex_lock(&a->lock);
	before = a->fd;
	a->fd = fd;
	a->is_torn = is_torn;
	pthread_mutex_unlock(&a->lock);
	close(before);
	return 0;
}

static void put_time(struct json *j, const char *key, uint64_t ns)
{
	time_t seconds = (time_t)(ns / SECOND_NS);
	char words[64] = "", second[32];
	struct tm utc;

	if (gmtime_r(&seconds, &utc) && strftime(second, sizeof(second), "%Y-%m-%dT%H:%M:%S", &utc))
		snprintf(words, sizeof(words), "%s.%03uZ", second,
			 (unsigned int)(ns / MS_NS % 1000));
	json_text(j, key, words);
}

/* To be freed; null: no memory. */
static char *make_line(const struct audit_line *line)
{
	char *text = NULL;
	size_t size;
	struct json j = {.out = open_memstream(&text, &size)};

	if (!j.out)
		return NULL;
	json_open(&j, NULL, '{');
	put_time(&j, "time", line->time);
	json_text(&j, "user", line->user);
	json_text(&j, "token", line->token);
	json_text(&j, "address", line->address);
	json_text(&j, "method", line->method);
	json_text(&j, "route", line->route);
	json_u64(&j, "status", line->status);
	if (line->asked->from || line->asked->to) {
		put_time(&j, "from", line->asked->from);
		put_time(&j, "to", line->asked->to);
	}
	json_text(&j, "service", line->asked->service);
	json_text(&j, "host", line->asked->host);
	json_u64(&j, "bytes", line->bytes);
	json_double(&j, "ms", (double)line->ns / 1e6);
	json_close(&j, '}');
	json_flush(&j);
	fputc('\n', j.out);
	if (!fclose(j.out))
		return text;
	free(text);
	return NULL;
}

void audit_put(struct audit *a, const struct audit_line *line)
{
	char *text = make_line(line);

	if (text && workers_reserve(a->writer)) {
		workers_put(a->writer, text);
		return;
	}
	atomic_fetch_add(&a->lost, 1);
	free(text);
}

uint64_t audit_lost(struct audit *a)
{
	return atomic_load(&a->lost);
}

void audit_close(struct audit *a)
{
	if (!a)
		return;
	workers_end(a->writer);
	workers_free(a->writer);
	if (a->fd >= 0)
		close(a->fd);
	pthread_mutex_destroy(&a->lock);
	free(a->path);
	free(a);
}
