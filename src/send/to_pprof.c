// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/map.h"
#include "exchange/pprof/writer.h"
#include "send/to_others.h"

#define ENDING ".pb.gz"

/*
 * Where profiles lie that have no samples, but tell what was lost. A service of that name may lie
 * there, too: of one film and event there is either the one or the other.
 */
#define LOST "lost"

/* "20261121T143000.000Z" */
enum {
	TIME_LENGTH = 20,
	FILES_MAX = 1000000,
	SERVICE_SIZE = 128,
	FOLDER_SIZE = SERVICE_SIZE + 9,
};

/* A file of the folder: "SERVICE/TIME.EVENT.pb.gz". */
struct file {
	char *name;
	uint64_t bytes;
};

struct folder {
	struct to_others_options options;
	int fd;
	vec(struct file) files; /* oldest first */
	size_t first;		/* of files: those before are gone */
	uint64_t bytes;
};

static const char *time_of(const struct file *file)
{
	return strrchr(file->name, '/') + 1;
}

static int by_time(const void *a, const void *b)
{
	return strcmp(time_of(a), time_of(b));
}

/* Whether the name is one that is given here: nothing else is counted, and nothing else removed. */
static bool is_ours(const char *name)
{
	static const char form[] = "########T######.###Z.";
	size_t length = strlen(name);

	if (length <= sizeof(form) + strlen(ENDING) ||
	    strcmp(name + length - strlen(ENDING), ENDING))
		return false;
	for (size_t i = 0; form[i]; i++)
		if (form[i] == '#' ? !isdigit((unsigned char)name[i]) : name[i] != form[i])
			return false;
	return true;
}

static bool add_file(struct folder *f, const char *name, uint64_t bytes)
{
	char *copy = strdup(name);

	if (!copy || f->files.count - f->first >= FILES_MAX ||
	    !vec_push(&f->files, (struct file){copy, bytes})) {
		free(copy);
		return false;
	}
	f->bytes += bytes;
	return true;
}

static void find_files(struct folder *f, const char *service)
{
	int fd = openat(f->fd, service, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	char name[2 * NAME_MAX + 2];
	struct dirent *entry;
	struct stat st;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(dir))) {
		if (!is_ours(entry->d_name) ||
		    fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		snprintf(name, sizeof(name), "%s/%s", service, entry->d_name);
		add_file(f, name, (uint64_t)st.st_size);
	}
	closedir(dir);
}

static int read_folder(struct folder *f)
{
	int fd = openat(f->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return -errno;
	}
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			find_files(f, entry->d_name);
	closedir(dir);
	if (f->files.count)
		qsort(f->files.at, f->files.count, sizeof(*f->files.at), by_time);
	return 0;
}

static void keep_limit(struct folder *f)
{
	while (f->bytes > f->options.limit && f->first < f->files.count) {
		struct file *file = &f->files.at[f->first++];
		char *slash = strrchr(file->name, '/');

		unlinkat(f->fd, file->name, 0);
		/* the service's folder goes with its last file */
		*slash = 0;
		unlinkat(f->fd, file->name, AT_REMOVEDIR);
		f->bytes -= file->bytes;
		free(file->name);
	}
	if (f->first > f->files.count / 2) {
		f->files.count -= f->first;
		memmove(f->files.at, f->files.at + f->first, f->files.count * sizeof(*f->files.at));
		f->first = 0;
	}
}

/*
 * A name as one of a file: what stands for folders, is hidden, or would be awkward to type does not
 * come out.
 */
static void safe_name(const char *name, char *to, size_t size)
{
	size_t length = 0;

	for (; *name && length < size - 1; name++) {
		bool is_safe = isalnum((unsigned char)*name) || strchr("-_@+:", *name) ||
			       (*name == '.' && length);

		if (is_safe)
			to[length++] = *name;
		else if (length && to[length - 1] != '_')
			to[length++] = '_';
	}
	while (length && to[length - 1] == '_')
		length--;
	snprintf(to + length, size - length, "%s", length ? "" : "unknown");
}

/* The folder of a service. Two of a film whose names become the same have one each. */
static void folder_of(const struct gathered *gathered, uint32_t group, char to[FOLDER_SIZE])
{
	const char *service =
		group == GATHERED_NO_GROUP ? LOST : gathered->groups.at[group].service;
	char other[SERVICE_SIZE];

	safe_name(service, to, SERVICE_SIZE);
	for (uint32_t i = 0; group != GATHERED_NO_GROUP && i < group; i++) {
		size_t length = strlen(to);

		safe_name(gathered->groups.at[i].service, other, sizeof(other));
		if (strcmp(to, other))
			continue;
		snprintf(to + length, FOLDER_SIZE - length, "-%08x",
			 (uint32_t)hash_bytes(service, strlen(service)));
		return;
	}
}

static void time_text(uint64_t ns, char to[TIME_LENGTH + 1])
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;
	size_t length = 0;

	if (gmtime_r(&seconds, &tm))
		length = strftime(to, TIME_LENGTH + 1, "%Y%m%dT%H%M%S", &tm);
	snprintf(to + length, TIME_LENGTH + 1 - length, ".%03uZ",
		 (unsigned int)(ns / 1000000 % 1000));
}

static int write_profile(struct folder *f, const char *name, const struct gathered *gathered,
			 const struct gathered_part *part, uint64_t *bytes)
{
	int fd = openat(f->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "we");
	int err = -errno;
	long end;

	if (!out) {
		if (fd >= 0)
			close(fd);
		return err;
	}
	err = pprof_write_gathered(gathered, part, out);
	end = ftell(out);
	*bytes = end > 0 ? (uint64_t)end : 0;
	if (ferror(out) && !err)
		err = -ENOSPC;
	if (fclose(out) && !err)
		err = -errno;
	return err;
}

/* A profile appears under its name when it is complete. */
static int put_file(struct folder *f, const struct gathered *gathered,
		    const struct gathered_part *part)
{
	const char *event_name = gathered->film->events[part->event].name;
	char service[FOLDER_SIZE], event[64], time[TIME_LENGTH + 1], name[256], made[264];
	uint64_t bytes = 0;
	struct stat before;
	bool is_new;
	int err;

	folder_of(gathered, part->group, service);
	safe_name(event_name, event, sizeof(event));
	time_text(gathered->from, time);
	snprintf(name, sizeof(name), "%s/%s.%s" ENDING, service, time, event);
	snprintf(made, sizeof(made), "%s.made", name);
	if (mkdirat(f->fd, service, 0755) && errno != EEXIST)
		return -errno;
	is_new = fstatat(f->fd, name, &before, AT_SYMLINK_NOFOLLOW);
	err = write_profile(f, made, gathered, part, &bytes);
	if (!err && renameat(f->fd, made, f->fd, name))
		err = -errno;
	if (err)
		unlinkat(f->fd, made, 0);
	else if (is_new && !add_file(f, name, bytes))
		err = -ENOMEM;
	return err;
}

static int put_part(struct folder *f, const struct gathered *gathered,
		    const struct gathered_part *part, struct fail *why)
{
	int err = put_file(f, gathered, part);

	return err ? fail_errno(why, err, "is there room, and may it be written to?",
				"cannot write profiles to %s", f->options.where)
		   : 0;
}

/* Events of which nothing but losses is left have a profile, too. */
static int put_parts(struct folder *f, const struct gathered *gathered, struct fail *why)
{
	struct gathered_part silent = {.group = GATHERED_NO_GROUP};
	int err = 0;

	for (size_t i = 0; !err && i < gathered->parts.count; i++)
		err = put_part(f, gathered, &gathered->parts.at[i], why);
	for (uint32_t event = 1; !err && event < gathered->film->event_count; event++) {
		silent.event = event;
		if (gathered_is_silent(gathered, event))
			err = put_part(f, gathered, &silent, why);
	}
	return err;
}

static enum sent send_film(void *self, const struct spool_film *film, uint64_t *retry_after,
			   struct fail *why)
{
	struct folder *f = self;
	struct gathered gathered;
	int err = gather(film->path, false, f->options.service_of, f->options.context, &gathered,
			 why);

	(void)retry_after;
	if (err) {
		gathered_free(&gathered);
		return sent_by_error(err);
	}
	err = put_parts(f, &gathered, why);
	if (!err)
		keep_limit(f);
	gathered_free(&gathered);
	return err ? SENT_LATER : SENT;
}

static void free_folder(void *self)
{
	struct folder *f = self;

	for (size_t i = f->first; i < f->files.count; i++)
		free(f->files.at[i].name);
	vec_free(&f->files);
	if (f->fd >= 0)
		close(f->fd);
	free(f);
}

int to_pprof_folder(const struct to_others_options *options, struct destination *destination,
		    struct fail *why)
{
	struct folder *f = calloc(1, sizeof(*f));
	int err = f ? 0 : -ENOMEM;

	if (f) {
		f->options = *options;
		if (mkdir(options->where, 0755) && errno != EEXIST)
			err = -errno;
		f->fd = open(options->where, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (!err && f->fd < 0)
			err = -errno;
		if (!err)
			err = read_folder(f);
	}
	if (err) {
		if (f)
			free_folder(f);
		return fail_errno(why, err, "name a folder that may be written to",
				  "cannot write profiles to %s", options->where);
	}
	keep_limit(f);
	*destination = (struct destination){send_film, free_folder, f};
	return 0;
}
