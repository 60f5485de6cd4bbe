/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_NAMES_H
#define STORE_NAMES_H

#include "base/map.h"
#include "store/build_names.h"
#include "store/store.h"

/*
 * Names of functions by build id (store/build_names.h), which answers with stacks use from then on,
 * whenever their films came. A damaged database is moved aside, and another one begins. 0, or a
 * negative errno with *why filled; -EROFS: one film is shown, and nothing is kept.
 */
int store_add_names(struct store *store, const struct build_names_build *build,
		    struct build_names_added *added, struct fail *why);

/*
 * Builds that sums have places of and that have no names, at most max, those in *tried, by hashes
 * of their ids, left out; they are put there. Their paths are "".
 */
size_t store_unnamed_builds(struct store *store, struct map *tried, struct film_image *images,
			    size_t max);

#endif
