// SPDX-License-Identifier: Apache-2.0
#include "store/names.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "base/database.h"
#include "store/room.h"

#define NAME "names.db"

int store_find_names(struct store *store, struct fail *why)
{
	char path[PATH_MAX];
	int err = store_path_of(store, NAME, path, sizeof(path));

	if (!err && !(store->names = build_names_new(path)))
		err = -ENOMEM;
	return err ? fail_errno(why, err, NULL, "cannot open the store") : 0;
}

struct build_names *store_build_names(struct store *store)
{
	return store->names;
}

/* Clients send them again: the films do not need them. */
static int begin_anew(struct store *store, struct fail *why)
{
	char path[PATH_MAX], to[PATH_MAX];
	int err = store_path_of(store, NAME, path, sizeof(path));

	store_say(store, "%s: it was moved to aside/" NAME ", and another one begins", why->what);
	snprintf(to, sizeof(to), "%.4000s/aside/" NAME, store->path);
	build_names_close(store->names);
	if (!err)
		err = database_move(path, to);
	return err ? fail_errno(why, err, NULL, "cannot move %s aside", path) : 0;
}

int store_add_names(struct store *store, const struct build_names_build *build,
		    struct build_names_added *added, struct fail *why)
{
	int err;

	if (!store->names)
		return fail(why, -EROFS, NULL, "one film is shown, nothing is kept");
	err = build_names_add(store->names, build, added, why);
	if (err == -EBADMSG && !fseek(build->lines, 0, SEEK_SET) && !begin_anew(store, why))
		err = build_names_add(store->names, build, added, why);
	if (!err && added->dropped)
		store_say(store,
			  "the names of the builds that came first are dropped, for want of room");
	return err;
}
