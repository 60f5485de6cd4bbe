/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_TABLE_NAMES_H
#define SHOW_TABLE_NAMES_H

#include "show/show.h"

/* The end of a table's rows: a function's name, and its image. */

#define TABLE_BOLD  "\033[1m"
#define TABLE_FAINT "\033[2m"
#define TABLE_PLAIN "\033[0m"

/* The columns that names can have besides the numbers and the images of the first rows; 0: any. */
size_t table_room_for_names(const struct function *const *rows, size_t count,
			    const struct show_options *options, size_t numbers);

/* How wide the names of the first rows are, as far as that matters. Returns 0 or -ENOMEM. */
int table_measure_names(const struct function *const *rows, size_t count,
			const struct show_options *options, size_t room, size_t *width);

/* Name and image, with the end of the line. Returns 0 or -ENOMEM. */
int table_print_names(const struct function *f, const struct show_options *options, size_t room,
		      size_t width, FILE *out);

/* What the rows that are not shown have, in a line. */
void table_print_rest(const struct function *const *rows, size_t count, size_t shown,
		      uint64_t total, FILE *out);

/* What "?" says, if one of the rows has it. */
void table_print_legend(const struct function *const *rows, size_t shown, bool of_calls, FILE *out);

#endif
