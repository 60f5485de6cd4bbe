// SPDX-License-Identifier: Apache-2.0
#include "symbol/debuginfod.h"

#include <elfutils/debuginfod.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STALL_SECONDS 15
#define FAILURES_MAX  3

struct debuginfod {
	debuginfod_client *client;
	int failures;
	struct fail last_failure;
	/* of the transfer that runs */
	long bytes;
	time_t moved; /* when bytes last changed, by the monotonic clock */
};

static time_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/* Called by libdebuginfod every now and then; other than 0 ends the transfer. */
static int watch(debuginfod_client *client, long bytes, long total)
{
	struct debuginfod *d = debuginfod_get_user_data(client);

	(void)total;
	if (bytes != d->bytes) {
		d->bytes = bytes;
		d->moved = now();
	}
	return now() - d->moved > STALL_SECONDS;
}

struct debuginfod *debuginfod_new(void)
{
	struct debuginfod *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->client = debuginfod_begin();
	if (!d->client) {
		free(d);
		return NULL;
	}
	debuginfod_set_user_data(d->client, d);
	debuginfod_set_progressfn(d->client, watch);
	return d;
}

void debuginfod_free(struct debuginfod *d)
{
	if (d)
		debuginfod_end(d->client);
	free(d);
}

int debuginfod_fetch(struct debuginfod *d, const uint8_t *build_id, size_t build_id_size,
		     bool program, struct debug_file *found, struct fail *why)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	char *path = NULL;
	int fd;

	*found = (struct debug_file){.fd = -1};
	if (!urls || !urls[strspn(urls, " ")])
		return fail(why, -ENOSYS, NULL, "DEBUGINFOD_URLS is not set");
	if (d->failures >= FAILURES_MAX) {
		if (why)
			*why = d->last_failure;
		return d->last_failure.err;
	}
	d->bytes = 0;
	d->moved = now();
	fd = program ? debuginfod_find_executable(d->client, build_id, (int)build_id_size, &path)
		     : debuginfod_find_debuginfo(d->client, build_id, (int)build_id_size, &path);
	if (fd == -ENOENT)
		return fail(why, fd, NULL, "no server of DEBUGINFOD_URLS has it");
	if (fd < 0) {
		d->failures++;
		fail_errno(&d->last_failure, fd, "see DEBUGINFOD_URLS", "asking debuginfod");
		if (why)
			*why = d->last_failure;
		return fd;
	}
	fd = debug_file_take(fd, path, build_id, build_id_size, found);
	free(path);
	if (fd)
		fail(why, fd, NULL, "what a server of DEBUGINFOD_URLS sent is another file");
	return fd;
}
