/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_BUILD_NAMES_H
#define STORE_BUILD_NAMES_H

#include <stdint.h>
#include <stdio.h>

#include "base/fail.h"
#include "film/reader.h"
#include "query/functions.h"
#include "query/tree.h"

/*
 * Functions of programs and libraries by their build id, in DIR/names.db of a store: films that
 * were recorded without symbol tables have addresses alone, and get names from here when they are
 * shown, also those that came before the names. A build's names are taken once: what is there
 * stays, unless more of them come. When there are more than BUILD_NAMES_MAX functions, those of the
 * builds that came first are dropped. May be used from any thread; questions do not wait for
 * a build that is added.
 */
struct build_names;

enum {
	BUILD_NAMES_MAX = 10000000, /* functions of all builds: some 0.7 GB */
	BUILD_NAMES_OF_ONE = 2000000,
	BUILD_NAME_SIZE = 4097, /* bytes of a name with its zero */
};

/* Opens nothing yet. Null: no memory. */
struct build_names *build_names_new(const char *path);
void build_names_free(struct build_names *names); /* null is allowed */

struct build_names_build {
	const uint8_t *id;
	size_t id_size;	  /* 1 to FILM_BUILD_ID_MAX */
	const char *file; /* what it is called; hostile, for those who look into the database */
	FILE *lines;
};
struct build_names_added {
	bool again; /* the build is known, with as many functions: nothing was read */
	uint64_t functions;
	uint64_t dropped; /* functions of other builds, for want of room */
};

/*
 * Adds a build. lines: as in a map of perf (tools/perf/Documentation/jit-interface.txt), "START
 * SIZE NAME" in hexadecimal digits, with virtual addresses of the file; of several with the same
 * start the first counts. 0, or a negative errno with *why filled: -EINVAL for a line that is
 * wrong; nothing was added then. -EBADMSG: the database is damaged.
 */
int build_names_add(struct build_names *names, const struct build_names_build *build,
		    struct build_names_added *added, struct fail *why);

/*
 * The name of the function at an address of a build: true, and to has it. Not if the build is not
 * known, has no function there, or the database cannot be read.
 */
bool build_names_find(struct build_names *names, const struct film_image *image, uint64_t address,
		      char to[BUILD_NAME_SIZE]);

/* Whether the build is known. */
bool build_names_has(struct build_names *names, const struct film_image *image);

/*
 * As build_names_find(), of a place, "libc.so.6+0x1230" (film/names.h), which is what it is without
 * a name.
 */
const char *build_names_shown(struct build_names *names, const struct film_image *image,
			      const char *place, char to[BUILD_NAME_SIZE]);

/* Names the frames of a film in memory (film/reader.h). names may be null. 0 or -ENOMEM. */
int build_names_film(struct build_names *names, struct film *film);

/*
 * Gives labels of a tree the names that are known of their places, and merges what is equal then
 * (query/relabel.h, as for functions). names may be null. Returns 0 or -ENOMEM.
 */
int build_names_apply(struct build_names *names, struct tree *tree, struct functions *functions);

/* Closes the files, which are opened again when they are needed: they are moved. */
void build_names_close(struct build_names *names);

#endif
