// SPDX-License-Identifier: Apache-2.0
#include "host/namer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/text.h"
#include "host/say.h"
#include "store/names.h"
#include "symbol/function_lines.h"

#define LOOK_MS	 5000
#define AGAIN_NS 600000000000ull

enum {
	AT_ONCE = 16, /* builds that are looked for in a row */
	TRIED_MAX = 65536,
};

struct namer {
	struct store *store;
	char *folder;		      /* may be null */
	struct debug_server *servers; /* may be null */
	pthread_t thread;
	int end;	  /* eventfd: it is to end */
	atomic_bool stop; /* the same, for what takes long */
	struct map tried; /* hashes of build ids */
	uint64_t forget;  /* when they are tried again */
};

/* The debug file of a build, or the file itself; negative: it is not there. */
static int open_file(const struct namer *n, const struct film_image *image, char path[PATH_MAX])
{
	static const char *const endings[] = {".debug", ""};
	char digits[2 * FILM_BUILD_ID_MAX + 1];
	int fd = -ENOENT;

	text_hex(digits, sizeof(digits), image->build_id, image->build_id_size);
	for (size_t i = 0; n->folder && fd < 0 && i < sizeof(endings) / sizeof(endings[0]); i++) {
		if (snprintf(path, PATH_MAX, "%s/.build-id/%.2s/%s%s", n->folder, digits,
			     digits + 2, endings[i]) >= PATH_MAX)
			return -ENAMETOOLONG;
		fd = symbol_image_open("", path, image->build_id, image->build_id_size);
	}
	return fd;
}

static int add(struct namer *n, const struct film_image *image, const struct buf *lines,
	       struct fail *why)
{
	struct build_names_build build = {
		.id = image->build_id,
		.id_size = image->build_id_size,
		.file = image->path,
		.lines = fmemopen(lines->at, lines->count, "r"),
	};
	struct build_names_added added;
	int err = build.lines ? store_add_names(n->store, &build, &added, why)
			      : fail_errno(why, -errno, NULL, "cannot read names");

	if (build.lines)
		fclose(build.lines);
	return err;
}

/* *has_names is set if the file has some. */
static int name_from(struct namer *n, const struct film_image *image,
		     const struct symbol_image *file, bool *has_names, struct fail *why)
{
	struct symbol_functions functions = {0};
	struct buf lines = {0};
	uint64_t count = 0;
	int err = symbol_functions_of(NULL, file, &functions, why);

	if (!err) {
		if (symbol_function_lines(&functions, &lines, &count))
			err = fail_errno(why, -ENOMEM, NULL, "cannot read names");
		symbol_functions_free(&functions);
	}
	*has_names = !err && count;
	if (*has_names)
		err = add(n, image, &lines, why);
	buf_free(&lines);
	return err;
}

/* 0 also where neither the folder nor a server has it. */
static int name_build(struct namer *n, const struct film_image *image, struct fail *why)
{
	struct symbol_image file = {.root = ""};
	struct debug_file fetched;
	char path[PATH_MAX];
	bool has_names;
	int err;

	file.path = path;
	file.fd = open_file(n, image, path);
	if (file.fd >= 0) {
		err = name_from(n, image, &file, &has_names, why);
		close(file.fd);
		return err;
	}
	if (!n->servers || debug_server_fetch(n->servers, image, &fetched))
		return 0;
	file.fd = fetched.fd;
	file.path = fetched.path;
	err = name_from(n, image, &file, &has_names, why);
	debug_server_used(n->servers, has_names);
	debug_file_close(&fetched);
	return err;
}

/* What was left out while no server was asked is looked for as soon as they are. */
static void look_again_soon(struct namer *n)
{
	uint64_t again = n->servers ? debug_server_again(n->servers) : UINT64_MAX;

	if (again < n->forget)
		n->forget = again;
}

static void look(struct namer *n)
{
	struct film_image images[AT_ONCE];
	struct fail why;
	size_t count;

	if (clock_ns() >= n->forget || n->tried.count > TRIED_MAX) {
		map_free(&n->tried);
		n->forget = clock_ns() + AGAIN_NS;
	}
	do {
		count = store_unnamed_builds(n->store, &n->tried, images, AT_ONCE);
		for (size_t i = 0; i < count && !atomic_load(&n->stop); i++)
			if (name_build(n, &images[i], &why))
				host_say_fail(&why, "");
	} while (count == AT_ONCE && !atomic_load(&n->stop));
	look_again_soon(n);
}

static void *run(void *context)
{
	struct namer *n = context;
	struct pollfd end = {.fd = n->end, .events = POLLIN};

	pthread_setname_np(pthread_self(), "namer");
	do
		look(n);
	while (poll(&end, 1, LOOK_MS) <= 0);
	return NULL;
}

static void free_parts(struct namer *n)
{
	if (n->end >= 0)
		close(n->end);
	debug_server_free(n->servers);
	map_free(&n->tried);
	free(n->folder);
	free(n);
}

int namer_start(const struct namer_options *options, struct namer **result, struct fail *why)
{
	struct namer *n = calloc(1, sizeof(*n));
	int err = 0;

	*result = NULL;
	if (!n)
		return fail_errno(why, -ENOMEM, NULL, "cannot start a thread");
	n->store = options->store;
	n->end = eventfd(0, EFD_CLOEXEC);
	if (n->end < 0)
		err = fail_errno(why, -errno, NULL, "cannot start a thread");
	if (!err && options->folder) {
		n->folder = strdup(options->folder);
		if (!n->folder)
			err = fail_errno(why, -ENOMEM, NULL, "cannot start a thread");
	}
	if (!err && options->cached_in)
		err = debug_server_new(options->cached_in, &n->stop, &n->servers, why);
	if (!err) {
		err = -pthread_create(&n->thread, NULL, run, n);
		if (err)
			fail_errno(why, err, NULL, "cannot start a thread");
	}
	if (err)
		free_parts(n);
	else
		*result = n;
	return err;
}

void namer_free(struct namer *n)
{
	if (!n)
		return;
	atomic_store(&n->stop, true);
	eventfd_write(n->end, 1);
	pthread_join(n->thread, NULL);
	free_parts(n);
}

void namer_state(struct namer *n, struct debug_server_state *state)
{
	*state = (struct debug_server_state){.works = true};
	if (n->servers)
		debug_server_state(n->servers, state);
}
