/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_VALUE_ROWS_H
#define RESOLVE_VALUE_ROWS_H

#include "base/shown.h"
#include "film/writer.h"

/*
 * Writes what a call was given, and what it has returned, into a film (struct film_value). call:
 * the columns that say which call it is; film_call() is given the same. results may be null.
 * Returns false: no memory, or a tree has failed.
 */
bool value_rows_put(struct film_writer *film, uint32_t event, const struct film_value *call,
		    const struct shown_tree *arguments, const struct shown_tree *results);

#endif
