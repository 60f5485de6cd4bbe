/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_VALUE_ROWS_H
#define RESOLVE_VALUE_ROWS_H

#include "base/shown.h"
#include "film/writer.h"

/*
 * Writes the arguments and results of a call to a film (struct film_value). call: the columns that
 * identify the call, the same as passed to film_call(). results may be null. False: no memory, or a
 * tree has failed.
 */
bool value_rows_put(struct film_writer *film, uint32_t event, const struct film_value *call,
		    const struct shown_tree *arguments, const struct shown_tree *results);

#endif
