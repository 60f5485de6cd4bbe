// SPDX-License-Identifier: Apache-2.0
#include "film/loss_table.h"

#include <string.h>

#include "base/saturated.h"

static struct loss_table_row *find(struct loss_table *table, const char *source, const char *reason)
{
	for (size_t i = 0; i < table->count; i++) {
		struct loss_table_row *row = &table->rows[i];

		if (!strcmp(row->source, source) && !strcmp(row->reason, reason))
			return row;
	}
	return NULL;
}

void loss_table_begin(struct loss_table *table)
{
	table->others = 0;
}

void loss_table_set(struct loss_table *table, const char *source, const char *reason,
		    uint64_t count)
{
	struct loss_table_row *row = count ? find(table, source, reason) : NULL;

	if (row)
		row->count = count;
	else if (count && table->count < LOSS_TABLE_MAX)
		table->rows[table->count++] = (struct loss_table_row){source, reason, count};
	else
		table->others = add_saturated(table->others, count);
}
