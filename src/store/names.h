/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_NAMES_H
#define STORE_NAMES_H

#include "store/build_names.h"
#include "store/store.h"

/*
 * Names of functions by build id (store/build_names.h), which answers with stacks use from then on,
 * whenever their films came. A damaged database is moved aside, and another one begins. 0, or a
 * negative errno with *why filled; -EROFS: one film is shown, and nothing is kept.
 */
int store_add_names(struct store *store, const struct build_names_build *build,
		    struct build_names_added *added, struct fail *why);

#endif
