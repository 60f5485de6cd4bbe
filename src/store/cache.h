/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_CACHE_H
#define STORE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

/*
 * Films that only the bucket has are read from it when a question needs them, and stay in DIR/cache
 * for the next one: those that were used last, as many as store_options.cache_max has room for. A
 * start begins with an empty one.
 */

/*
 * Reads a film, if it is not there, until the clock (CLOCK_MONOTONIC, ns) shows deadline, and keeps
 * it until store_unfetch(). Returns 0 or a negative errno: -ENOSPC where questions use all the
 * room, -ENXIO where there is no bucket.
 */
int store_fetch(struct store *store, const char *name, uint64_t deadline, struct fail *why);
void store_unfetch(struct store *store, const char *name);

/* Where it is then; 0 or -ENAMETOOLONG. */
int store_fetched_path(const struct store *store, const char *name, char *to, size_t size);

/* Whether a film of the store's folder is there. */
bool store_has_file(const struct store *store, const char *name);

#endif
