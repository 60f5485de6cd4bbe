// SPDX-License-Identifier: Apache-2.0
#include "symbol/debuginfod.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

#define STALL_SECONDS 10
#define FAILURES_MAX  2

/* Bytes of a build id, as the library has them; and files that one build has in the cache. */
enum {
	BUILD_ID_MAX = 64,
	FILES_MAX = 64
};

/*
 * The library is opened when it is first needed: it brings 30 others (HTTP, TLS, LDAP …) and some
 * 5 MB with it, which a recorder that asks no server should not carry.
 */
#define LIBRARY "libdebuginfod.so.1"

struct library {
	__typeof__(debuginfod_begin) *begin;
	__typeof__(debuginfod_end) *end;
	__typeof__(debuginfod_set_user_data) *set_user_data;
	__typeof__(debuginfod_set_progressfn) *set_progressfn;
	__typeof__(debuginfod_find_debuginfo) *find_debuginfo;
	__typeof__(debuginfod_find_executable) *find_executable;
};

struct debuginfod {
	struct library library;
	debuginfod_client *client; /* null: the library is not here */
	int failures;
	struct fail last_failure;
	struct debuginfod_bounds bounds;
	/* of the transfer that runs */
	long bytes;
	time_t moved;	       /* when bytes last changed, by the monotonic clock */
	char folder[PATH_MAX]; /* where it is written to; "": no bound */
	bool is_too_large;
};

int debuginfod_settings(const struct debuginfod_settings *settings)
{
	char number[32];

	snprintf(number, sizeof(number), "%" PRIu64, settings->bytes);
	if (setenv("DEBUGINFOD_URLS", settings->urls, 1) ||
	    setenv("DEBUGINFOD_CACHE_PATH", settings->cache, 1) ||
	    setenv("DEBUGINFOD_MAXSIZE", number, 0))
		return -ENOMEM;
	snprintf(number, sizeof(number), "%u", settings->seconds);
	return setenv("DEBUGINFOD_MAXTIME", number, 0) ? -ENOMEM : 0;
}

static bool open_library(struct library *l)
{
	/* it stays open: libcurl must not go while a thread of its may live */
	void *handle = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);

	if (!handle)
		return false;
	l->begin = dlsym(handle, "debuginfod_begin");
	l->end = dlsym(handle, "debuginfod_end");
	l->set_user_data = dlsym(handle, "debuginfod_set_user_data");
	l->set_progressfn = dlsym(handle, "debuginfod_set_progressfn");
	l->find_debuginfo = dlsym(handle, "debuginfod_find_debuginfo");
	l->find_executable = dlsym(handle, "debuginfod_find_executable");
	return l->begin && l->end && l->set_user_data && l->set_progressfn && l->find_debuginfo &&
	       l->find_executable;
}

/* The library's own function is the only way from its client to ours. */
static struct debuginfod *owner_of(debuginfod_client *client)
{
	void *handle = dlopen(LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
	__typeof__(debuginfod_get_user_data) *get = NULL;

	if (handle) {
		get = dlsym(handle, "debuginfod_get_user_data");
		dlclose(handle);
	}
	return get ? get(client) : NULL;
}

static time_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/*
 * Bytes of the files of the build that is being fetched: a file that was compressed on its way
 * becomes larger than what its server announced.
 */
static uint64_t written(const struct debuginfod *d)
{
	DIR *dir = *d->folder ? opendir(d->folder) : NULL;
	uint64_t bytes = 0;
	struct stat st;

	if (!dir)
		return 0;
	for (int i = 0; i < FILES_MAX; i++) {
		struct dirent *entry = readdir(dir);

		if (!entry)
			break;
		if (!fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_size;
	}
	closedir(dir);
	return bytes;
}

/* Called by libdebuginfod every now and then; other than 0 ends the transfer. */
static int watch(debuginfod_client *client, long bytes, long total)
{
	struct debuginfod *d = owner_of(client);

	(void)total;
	if (!d || (d->bounds.stop && atomic_load(d->bounds.stop)))
		return 1;
	if (d->bounds.bytes && written(d) > d->bounds.bytes) {
		d->is_too_large = true;
		return 1;
	}
	if (bytes != d->bytes) {
		d->bytes = bytes;
		d->moved = now();
	}
	return now() - d->moved > STALL_SECONDS;
}

struct debuginfod *debuginfod_new(void)
{
	struct debuginfod *d = calloc(1, sizeof(*d));

	if (!d || !open_library(&d->library))
		return d;
	d->client = d->library.begin();
	if (d->client) {
		d->library.set_user_data(d->client, d);
		d->library.set_progressfn(d->client, watch);
	}
	return d;
}

void debuginfod_bound(struct debuginfod *d, const struct debuginfod_bounds *bounds)
{
	d->bounds = *bounds;
}

void debuginfod_free(struct debuginfod *d)
{
	if (d && d->client)
		d->library.end(d->client);
	free(d);
}

static void begin_transfer(struct debuginfod *d, const uint8_t *build_id, size_t build_id_size)
{
	char digits[2 * BUILD_ID_MAX + 1];

	d->bytes = 0;
	d->moved = now();
	d->is_too_large = false;
	*d->folder = 0;
	if (!d->bounds.bytes || build_id_size > BUILD_ID_MAX)
		return;
	text_hex(digits, sizeof(digits), build_id, build_id_size);
	if (snprintf(d->folder, sizeof(d->folder), "%s/%s", d->bounds.cache, digits) >=
	    (int)sizeof(d->folder))
		*d->folder = 0;
}

static int failed(struct debuginfod *d, int err, struct fail *why)
{
	if (err == -ENOENT)
		return fail(why, err, NULL, "no server of DEBUGINFOD_URLS has it");
	if (d->bounds.stop && atomic_load(d->bounds.stop))
		return fail(why, -ECANCELED, NULL, "asking debuginfod was stopped");
	if (d->is_too_large || err == -EFBIG)
		return fail(why, -EFBIG, NULL, "what a server of DEBUGINFOD_URLS has is too large");
	d->failures++;
	fail_errno(&d->last_failure, err, "see DEBUGINFOD_URLS", "asking debuginfod");
	if (why)
		*why = d->last_failure;
	return err;
}

int debuginfod_fetch(struct debuginfod *d, const uint8_t *build_id, size_t build_id_size,
		     bool program, struct debug_file *found, struct fail *why)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	char *path = NULL;
	struct stat st;
	int fd;

	*found = (struct debug_file){.fd = -1};
	if (!urls || !urls[strspn(urls, " ")])
		return fail(why, -ENOSYS, NULL, "DEBUGINFOD_URLS is not set");
	if (!d->client)
		return fail(why, -ENOSYS, "install it", "libdebuginfod is not here");
	if (d->failures >= FAILURES_MAX) {
		if (why)
			*why = d->last_failure;
		return d->last_failure.err;
	}
	begin_transfer(d, build_id, build_id_size);
	fd = (program ? d->library.find_executable
		      : d->library.find_debuginfo)(d->client, build_id, (int)build_id_size, &path);
	if (fd >= 0 && d->bounds.bytes &&
	    (fstat(fd, &st) || (uint64_t)st.st_size > d->bounds.bytes)) {
		close(fd);
		free(path);
		fd = -EFBIG;
	}
	if (fd < 0)
		return failed(d, fd, why);
	fd = debug_file_open_fd(fd, path, build_id, build_id_size, found);
	free(path);
	/* a page that a proxy answers with is another file, too */
	if (fd && fd != -ENOMEM)
		fd = -ESTALE;
	if (fd)
		fail(why, fd, NULL, "what a server of DEBUGINFOD_URLS sent is another file");
	return fd;
}
