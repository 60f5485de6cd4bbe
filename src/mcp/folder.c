// SPDX-License-Identifier: Apache-2.0
#include "mcp/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/text.h"
#include "base/vec.h"

enum {
	DEPTH_MAX = 4,	    /* of a store: HOST/DAY/HOUR.film */
	LOOKED_MAX = 20000, /* files of any kind */
	LISTED_MAX = 40,
};

struct found {
	char *name; /* relative to the folder */
	int64_t time, size;
};

struct finding {
	vec(struct found) all;
	bool is_cut;
	size_t unread; /* folders, and files that nothing is known of */
};

static void finding_free(struct finding *finding)
{
	vec_foreach (&finding->all, found)
		free(found->name);
	vec_free(&finding->all);
}

static int newest_first(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->time != y->time)
		return x->time > y->time ? -1 : 1;
	return strcmp(y->name, x->name);
}

/* Whether a list may have a name: not if it is hidden, or is not that of a film. */
static bool may_be_listed(const char *name)
{
	static const char ending[] = ".film";
	size_t length = strlen(name);

	return length >= sizeof(ending) && !strcmp(name + length - (sizeof(ending) - 1), ending) &&
	       *name != '.' && !strstr(name, "/.");
}

static int look(FTS *fts, size_t prefix, struct finding *finding)
{
	unsigned int looked = 0;
	FTSENT *entry;

	while ((entry = fts_read(fts))) {
		struct found found;

		if (++looked > LOOKED_MAX) {
			finding->is_cut = true;
			break;
		}
		/* a folder deeper down is not a store's */
		if ((entry->fts_level > 0 && entry->fts_name[0] == '.') ||
		    (entry->fts_info == FTS_D && entry->fts_level >= DEPTH_MAX))
			fts_set(fts, entry, FTS_SKIP);
		if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR ||
		    entry->fts_info == FTS_NS)
			finding->unread++;
		if (entry->fts_info != FTS_F || !may_be_listed(entry->fts_name))
			continue;
		found = (struct found){
			.name = strdup(entry->fts_path + prefix),
			.time = entry->fts_statp->st_mtime,
			.size = entry->fts_statp->st_size,
		};
		if (!found.name || !vec_push(&finding->all, found)) {
			free(found.name);
			return -ENOMEM;
		}
	}
	return 0;
}

/* All films, the newest first. 0 or a negative errno with *why filled. */
static int find(const char *folder, struct finding *finding, struct fail *why)
{
	char *paths[] = {realpath(folder, NULL), NULL};
	FTS *fts;
	int err;

	*finding = (struct finding){0};
	if (!paths[0])
		return fail_errno(why, -errno, NULL, "cannot open '%s'", folder);
	/* links are not followed */
	fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	if (!fts)
		err = -errno;
	else
		/* "/" alone ends with its own slash */
		err = look(fts, strlen(paths[0]) + (paths[0][1] != 0), finding);
	if (err)
		fail_errno(why, err, NULL, "cannot list the films of '%s'", folder);
	if (fts)
		fts_close(fts);
	free(paths[0]);
	if (finding->all.count)
		qsort(finding->all.at, finding->all.count, sizeof(*finding->all.at), newest_first);
	return err;
}

static int list_folder(const char *folder, FILE *out, struct fail *why)
{
	struct finding finding;
	int err = find(folder, &finding, why);
	size_t listed = 0;

	if (!err && !finding.all.count)
		fputs("There are no films: 'stackcam record -o NAME.film' makes one.\n", out);
	vec_foreach (&finding.all, found) {
		char size[32], time[64];
		time_t seconds = (time_t)found->time;
		struct tm utc;

		if (err || listed++ == LISTED_MAX)
			break;
		text_bytes(size, sizeof(size), (uint64_t)found->size);
		if (!gmtime_r(&seconds, &utc) ||
		    !strftime(time, sizeof(time), "%Y-%m-%dT%H:%M:%SZ", &utc))
			snprintf(time, sizeof(time), "%s", "-");
		fprintf(out, "%s %10s  ", time, size);
		text_print_safe(out, found->name);
		fputc('\n', out);
	}
	if (finding.all.count > LISTED_MAX)
		fprintf(out, "and %zu older ones\n", finding.all.count - LISTED_MAX);
	if (finding.is_cut)
		fprintf(out, "The folder has more than %d files: others may be missing.\n",
			LOOKED_MAX);
	if (finding.unread)
		fprintf(out, "%zu folders or files could not be read.\n", finding.unread);
	finding_free(&finding);
	return err;
}

/* The path of a name, to be freed; null: it leads out of the folder, or is not one of a list. */
static char *path_of(const char *folder, const char *name)
{
	char *root = realpath(folder, NULL), *joined = NULL, *path = NULL;
	size_t length = root ? strlen(root) : 0;

	if (root && *name != '/' && may_be_listed(name) &&
	    asprintf(&joined, "%s/%s", root, name) < 0)
		joined = NULL;
	if (joined)
		path = realpath(joined, NULL);
	if (path && (strncmp(path, root, length) || path[length] != '/') && strcmp(root, "/")) {
		free(path);
		path = NULL;
	}
	free(joined);
	free(root);
	return path;
}

static int open_path(char *path, const char *name, struct film **film, struct fail *why)
{
	struct stat st;
	int err;

	if (!path || stat(path, &st) || !S_ISREG(st.st_mode))
		err = fail(why, -ENOENT, "the tool films lists those that there are",
			   "there is no film '%s'", name);
	else
		err = film_open(path, film, why);
	free(path);
	return err;
}

static int open_in_folder(const char *folder, const char *name, struct film **film,
			  struct fail *why)
{
	struct finding finding;
	int err;

	if (name)
		return open_path(path_of(folder, name), name, film, why);
	err = find(folder, &finding, why);
	if (!err && finding.is_cut)
		err = fail(why, -E2BIG, "name a film: the tool films lists some",
			   "which film is the newest is not known: the folder has more than %d "
			   "files",
			   LOOKED_MAX);
	if (!err && !finding.all.count)
		err = fail(why, -ENOENT, "'stackcam record -o NAME.film' makes one",
			   "there are no films");
	if (!err)
		err = open_path(path_of(folder, finding.all.at[0].name), finding.all.at[0].name,
				film, why);
	finding_free(&finding);
	return err;
}

static const char *name_of(const struct mcp_films *films)
{
	const char *slash = strrchr(films->path, '/');

	return slash && slash[1] ? slash + 1 : films->path;
}

int mcp_films_list(void *context, FILE *out, struct fail *why)
{
	const struct mcp_films *films = context;

	if (!films->is_film)
		return list_folder(films->path, out, why);
	text_print_safe(out, name_of(films));
	fputc('\n', out);
	return 0;
}

int mcp_films_open(void *context, const char *name, struct film **film, struct fail *why)
{
	const struct mcp_films *films = context;

	if (!films->is_film)
		return open_in_folder(films->path, name, film, why);
	if (name && strcmp(name, name_of(films)))
		return fail(why, -ENOENT, NULL, "there is no film '%s', only '%s'", name,
			    name_of(films));
	return film_open(films->path, film, why);
}
