/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_LOSS_TABLE_H
#define FILM_LOSS_TABLE_H

#include <stddef.h>
#include <stdint.h>

/*
 * What a recorder has lost since its start, by source and reason, for those who watch it; films
 * have their own. All zero is empty. A row stays once it is there, so its count never falls.
 * Reasons for which the table has no row left are counted together.
 */
enum {
	LOSS_TABLE_MAX = 64
};

struct loss_table_row {
	const char
		*source; /* a source of events: "on_cpu"; "all": what all sources share; static */
	const char *reason; /* as in films; static */
	uint64_t count;
};

struct loss_table {
	struct loss_table_row rows[LOSS_TABLE_MAX];
	size_t count;
	uint64_t others; /* of reasons without a row */
};

/* Before all counts are set anew. */
void loss_table_begin(struct loss_table *table);
/* Sets the count of a reason, once between two begins. A count of 0 makes no row. */
void loss_table_set(struct loss_table *table, const char *source, const char *reason,
		    uint64_t count);

#endif
