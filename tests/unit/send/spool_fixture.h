/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_SEND_SPOOL_FIXTURE_H
#define TESTS_UNIT_SEND_SPOOL_FIXTURE_H

#include "../prelude.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "send/spool.h"

/* A folder for a spool, and the spool once a test has opened it. */
struct fixture {
	char path[64];
	struct spool *spool;
};

static inline int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	if (!f)
		return -1;
	strcpy(f->path, "/tmp/stackcam-spool-XXXXXX");
	return mkdtemp(f->path) ? 0 : -1;
}

static inline int tear_down(void **state)
{
	struct fixture *f = *state;
	char command[128];

	spool_free(f->spool);
	snprintf(command, sizeof(command), "rm -rf %s", f->path);
	free(f);
	return system(command);
}

static inline void open_spool(struct fixture *f, uint64_t limit)
{
	struct fail why;

	spool_free(f->spool);
	f->spool = NULL;
	assert_int_equal(spool_open(f->path, limit, &f->spool, &why), 0);
}

/* A file of that many bytes takes the place of a film: what is in it is nothing to the spool. */
static inline void add_film(struct fixture *f, uint64_t wall, size_t bytes)
{
	char path[4096];
	struct fail why;
	int fd;

	assert_int_equal(spool_next(f->spool, wall, path, sizeof(path), &why), 0);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	close(fd);
	assert_int_equal(spool_done(f->spool, path, &why), 0);
}

#endif
