// SPDX-License-Identifier: Apache-2.0
/*
 * Films that an ask needs and only the bucket has are read before the others are opened: while
 * films are open, no film can be merged or removed, and a bucket may take its time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/ask_private.h"
#include "store/cache.h"

/* What an ask waits for films of a bucket; one that was begun is read to its end. */
#define WAIT_NS (10 * SECOND_NS)

bool ask_is_away(const struct asked *a, const char *name)
{
	struct index_object ignored;

	return !ask_is_single(name) && !store_has_file(a->store, name) &&
	       !index_bucket_find(a->index, name, &ignored, NULL);
}

struct lister {
	const struct asked *asked;
	struct ask_away *away;
	struct fail *why;
};

static int list_away(void *context, const struct sums_film *film)
{
	struct lister *l = context;
	struct ask_away_film away = {.name = NULL};

	if (!ask_is_away(l->asked, film->name))
		return 0;
	away.name = strdup(film->name);
	if (away.name && vec_push(&l->away->films, away))
		return 0;
	free(away.name);
	return fail_errno(l->why, -ENOMEM, NULL, "cannot ask the films");
}

static int list_all(const struct asked *a, struct ask_away *away, struct fail *why)
{
	struct lister lister = {a, away, why};
	struct sums_view *view;
	int err = index_sums.open(a, &view, why);

	if (err)
		return err;
	err = index_sums.films(a, view, list_away, &lister, why);
	index_sums.close(a, view, NULL);
	return err;
}

int ask_away_begin(const struct asked *a, struct ask_away *away, struct fail *why)
{
	uint64_t deadline = clock_ns() + WAIT_NS;
	int err = list_all(a, away, why);

	for (size_t i = away->films.count; !err && i && clock_ns() < deadline; i--) {
		struct ask_away_film *film = &away->films.at[i - 1];

		err = asked_still(a, why);
		if (!err)
			film->is_here = !store_fetch(a->store, film->name, deadline, NULL);
	}
	return err;
}

void ask_away_end(const struct asked *a, struct ask_away *away)
{
	vec_foreach (&away->films, film) {
		if (film->is_here)
			store_unfetch(a->store, film->name);
		free(film->name);
	}
	vec_free(&away->films);
}

bool ask_away_path(const struct asked *a, const struct ask_away *away, const char *name,
		   char path[PATH_MAX])
{
	vec_foreach (&away->films, film)
		if (!strcmp(film->name, name))
			return film->is_here && !store_fetched_path(a->store, name, path, PATH_MAX);
	if (ask_is_single(name))
		return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX;
	return snprintf(path, PATH_MAX, "%s/%s", a->index->folder, name) < PATH_MAX;
}
