// SPDX-License-Identifier: Apache-2.0
#include "base/temporary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/database.h"

static int make_in(const char *where, const char *file, struct temporary *t)
{
	int err = -ENOMEM;

	if (asprintf(&t->folder, "%s/stackcam-XXXXXX", where) < 0) {
		t->folder = NULL;
		return err;
	}
	if (!mkdtemp(t->folder))
		err = -errno;
	else if (asprintf(&t->path, "%s/%s", t->folder, file) >= 0)
		return 0;
	else
		rmdir(t->folder);
	t->path = NULL;
	free(t->folder);
	t->folder = NULL;
	return err;
}

int temporary_make(const char *file, struct temporary *t, struct fail *why)
{
	const char *given = getenv("TMPDIR"), *where = given && *given ? given : "/dev/shm";
	int err;

	*t = (struct temporary){0};
	err = make_in(where, file, t);
	if (err && where != given)
		err = make_in(where = "/tmp", file, t);
	return err ? fail_errno(why, err, "set TMPDIR to a folder for temporary files",
				"cannot make a folder in %s", where)
		   : 0;
}

void temporary_remove(struct temporary *t)
{
	if (t->path)
		(void)!database_remove(t->path);
	if (t->folder)
		rmdir(t->folder);
	free(t->path);
	free(t->folder);
	*t = (struct temporary){0};
}
