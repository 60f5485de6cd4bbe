// SPDX-License-Identifier: Apache-2.0
#include "base/database.h"
#include "store/folder.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

/* Command lines of a whole machine can hold secrets. */
#define FOLDER_MODE 0700

#define FILM_END    ".film"

static bool is_plain(unsigned char c)
{
	return c < 0x80 && (isalnum(c) || (c && strchr("_.-", c)));
}

int folder_of_host(const char *host, char to[FOLDER_HOST_MAX + 1], struct fail *why)
{
	size_t used = 0;

	for (const char *at = host; *at; at++) {
		unsigned char c = (unsigned char)*at;
		/* "." and ".." are folders already, and what begins like them is hidden */
		bool plain = is_plain(c) && (c != '.' || at > host);

		if (used + (plain ? 1 : 3) > FOLDER_HOST_MAX)
			return fail(why, -ENAMETOOLONG, "give the host a shorter name",
				    "the name of a host is too long: '%.64s…'", host);
		used += (size_t)sprintf(to + used, plain ? "%c" : "%%%02X", c);
	}
	to[used] = 0;
	return used ? 0 : fail(why, -EINVAL, NULL, "a host has no name");
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool folder_host_of(const char *folder, char to[FOLDER_HOST_MAX + 1])
{
	char again[FOLDER_HOST_MAX + 1];
	size_t used = 0;

	if (strlen(folder) > FOLDER_HOST_MAX)
		return false;
	for (; *folder; folder++) {
		if (*folder != '%') {
			to[used++] = *folder;
			continue;
		}
		if (hex(folder[1]) < 0 || hex(folder[2]) < 0)
			return false;
		to[used++] = (char)(hex(folder[1]) << 4 | hex(folder[2]));
		folder += 2;
	}
	to[used] = 0;
	/* one host, one folder */
	return !folder_of_host(to, again, NULL) && strlen(to) == used;
}

void folder_film_name(char *to, size_t size, const char *host_folder, uint64_t time,
		      unsigned int number)
{
	time_t seconds = (time_t)(time / NS_PER_SECOND);
	struct tm utc;
	char hour[32], nth[16] = "";

	gmtime_r(&seconds, &utc);
	strftime(hour, sizeof(hour), "%Y-%m-%d/%H", &utc);
	if (number > 1)
		snprintf(nth, sizeof(nth), ".%u", number);
	snprintf(to, size, "films/%s/%s%s" FILM_END, host_folder, hour, nth);
}

void folder_part_name(char *to, size_t size, const char *host_folder, uint64_t start,
		      const char *agent, uint64_t number)
{
	snprintf(to, size, "inbox/%s/%llu_%s_%llu" FILM_END, host_folder,
		 (unsigned long long)(start / NS_PER_SECOND), agent, (unsigned long long)number);
}

static bool is_agent(const char *s)
{
	for (; *s; s++) {
		if ((unsigned char)*s >= 0x80 || (!isalnum((unsigned char)*s) && *s != '-'))
			return false;
	}
	return true;
}

static bool parse_part(char *rest, struct folder_name *parsed)
{
	char *agent = strchr(rest, '_'), *number = agent ? strchr(agent + 1, '_') : NULL;
	uint64_t seconds;

	if (!number)
		return false;
	*agent++ = *number++ = 0;
	parsed->is_part = true;
	if (strlen(agent) > FOLDER_AGENT_MAX || !is_agent(agent) ||
	    text_parse_u64(rest, 0, UINT64_MAX / NS_PER_SECOND, &seconds) ||
	    text_parse_u64(number, 0, UINT64_MAX, &parsed->number))
		return false;
	strcpy(parsed->agent, agent);
	parsed->start = seconds * NS_PER_SECOND;
	return true;
}

static bool parse_hour(const char *rest, struct folder_name *parsed)
{
	struct tm utc = {0};
	const char *end = strptime(rest, "%Y-%m-%d/%H", &utc);
	time_t seconds = end ? timegm(&utc) : -1;
	uint64_t number;

	if (seconds < 0 || (*end && *end != '.'))
		return false;
	parsed->start = (uint64_t)seconds * NS_PER_SECOND;
	return !*end || !text_parse_u64(end + 1, 1, UINT_MAX, &number);
}

bool folder_parse(const char *name, struct folder_name *parsed)
{
	size_t length = strlen(name), end = strlen(FILM_END);
	bool is_part = !strncmp(name, "inbox/", 6);
	char copy[FOLDER_NAME_MAX], *folder = copy + 6, *rest;

	*parsed = (struct folder_name){0};
	if (length >= sizeof(copy) || length < 6 + end || strcmp(name + length - end, FILM_END) ||
	    (!is_part && strncmp(name, "films/", 6) != 0))
		return false;
	memcpy(copy, name, length - end);
	copy[length - end] = 0;
	rest = strchr(folder, '/');
	if (!rest)
		return false;
	*rest++ = 0;
	if (!folder_host_of(folder, parsed->host))
		return false;
	return is_part ? parse_part(rest, parsed) : parse_hour(rest, parsed);
}

void folder_aside_name(char *to, size_t size, const char *name, uint64_t time)
{
	snprintf(to, size, "%llu.%09llu_%s", (unsigned long long)(time / NS_PER_SECOND),
		 (unsigned long long)(time % NS_PER_SECOND), name);
	for (char *at = to; (at = strchr(at, '/'));)
		*at = '_';
}

/* The last '_' before end, which becomes a '/'; null: there is none. */
static char *back_to_slash(char *name, char *end)
{
	char *at = memrchr(name, '_', (size_t)(end - name));

	if (at)
		*at = '/';
	return at;
}

bool folder_parse_aside(const char *aside, char name[FOLDER_NAME_MAX])
{
	const char *film = aside + strspn(aside, "0123456789.");
	struct folder_name parsed;
	char *end, *host;

	if (film == aside || *film != '_' || strlen(++film) >= FOLDER_NAME_MAX)
		return false;
	strcpy(name, film);
	end = name + strlen(name);
	host = strchr(name, '_');
	if (!host)
		return false;
	*host = '/';
	/* a host's name may have '_', what follows it in a name has as many as its kind has */
	if (!strncmp(name, "inbox/", 6)) {
		end = memrchr(name, '_', (size_t)(end - name));
		end = end ? memrchr(name, '_', (size_t)(end - name)) : NULL;
	} else {
		end = back_to_slash(name, end);
	}
	return end && back_to_slash(name, end) && folder_parse(name, &parsed);
}

int folder_make(const char *root, const char *name)
{
	char path[PATH_MAX];
	char *at;

	if (snprintf(path, sizeof(path), "%s/%s", root, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	for (at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = 0;
		if (mkdir(path, FOLDER_MODE) && errno != EEXIST)
			return -errno;
		*at = '/';
	}
	return 0;
}

bool folder_has_wal(const char *path)
{
	char wal[PATH_MAX];
	struct stat st;

	return snprintf(wal, sizeof(wal), "%s-wal", path) < (int)sizeof(wal) && !stat(wal, &st);
}

uint64_t folder_bytes(const char *root, const char *name, unsigned int *mode)
{
	char path[PATH_MAX];
	uint64_t bytes;
	struct stat st;

	if (snprintf(path, sizeof(path), "%s/%s", root, name) >= (int)sizeof(path) - 10 ||
	    lstat(path, &st) || !S_ISREG(st.st_mode))
		return 0;
	*mode = st.st_mode & 0777;
	/* a film that was just created may be empty */
	bytes = (uint64_t)st.st_size + 1;
	strcat(path, "-wal");
	return bytes + (stat(path, &st) ? 0 : (uint64_t)st.st_size);
}

struct scan {
	const char *root;
	int (*emit)(void *context, const char *name, uint64_t bytes, unsigned int mode);
	void *context;
};

/* Below the folder name, which films lie depth folders below of. */
static int scan_folder(const struct scan *scan, const char *name, int depth)
{
	char path[PATH_MAX], below[FOLDER_NAME_MAX];
	struct folder_name parsed;
	struct dirent *entry;
	unsigned int mode;
	uint64_t bytes;
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s", scan->root, name);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	while (!err && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || snprintf(below, sizeof(below), "%s/%s", name,
							entry->d_name) >= (int)sizeof(below))
			continue;
		if (depth) {
			err = scan_folder(scan, below, depth - 1);
			continue;
		}
		bytes = folder_parse(below, &parsed) ? folder_bytes(scan->root, below, &mode) : 0;
		if (bytes)
			err = scan->emit(scan->context, below, bytes, mode);
	}
	closedir(dir);
	return err;
}

int folder_each_film(const char *root,
		     int (*emit)(void *context, const char *name, uint64_t bytes,
				 unsigned int mode),
		     void *context)
{
	struct scan scan = {root, emit, context};
	int err = scan_folder(&scan, "films", 2);

	return err ? err : scan_folder(&scan, "inbox", 1);
}

int folder_remove(const char *root, const char *name)
{
	char path[PATH_MAX], *at;
	int err;

	if (snprintf(path, sizeof(path), "%s/%s", root, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	/*
	 * first: a film without its side files is one of an earlier moment, they without it are
	 * nothing
	 */
	if (unlink(path) && errno != ENOENT)
		return -errno;
	err = database_remove_side_files(path);
	/* the folders of the day and of the host, if that was their last film */
	for (int i = 0; i < 2 && (at = strrchr(path, '/')) > path + strlen(root) + 6; i++) {
		*at = 0;
		if (rmdir(path))
			break;
	}
	return err;
}

static int sync_fd(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (fsync(fd))
		err = -errno;
	close(fd);
	return err;
}

int folder_sync(const char *path)
{
	return sync_fd(path, O_RDONLY);
}

int folder_sync_names(const char *path)
{
	char folder[PATH_MAX];
	char *at;

	snprintf(folder, sizeof(folder), "%s", path);
	at = strrchr(folder, '/');
	if (!at)
		return sync_fd(".", O_RDONLY | O_DIRECTORY);
	*at = 0;
	return sync_fd(*folder ? folder : "/", O_RDONLY | O_DIRECTORY);
}
