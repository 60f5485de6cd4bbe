// SPDX-License-Identifier: Apache-2.0
#include "resolve/kept_tables.h"

#include <string.h>

/* More than any machine's programs have that run for a moment; each is looked at for a new file. */
#define KEPT_MAX 512

static void forget_oldest(struct kept_tables *kept, size_t count, struct unwind_pool *pool)
{
	for (size_t i = 0; i < count; i++) {
		kept->bytes -= unwind_table_bytes(&kept->all.at[i].table.table);
		unwind_table_drop(&kept->all.at[i].table.table, pool);
	}
	kept->all.count -= count;
	memmove(kept->all.at, kept->all.at + count, kept->all.count * sizeof(*kept->all.at));
}

void kept_tables_put(struct kept_tables *kept, const struct image_identity *of,
		     const struct image_table *table, uint64_t most, struct unwind_pool *pool)
{
	struct unwind_table refused = table->table;
	size_t old = 0;
	uint64_t left;

	if (!vec_push(&kept->all, (struct kept_table){*of, *table})) {
		unwind_table_drop(&refused, pool);
		return;
	}
	kept->bytes += unwind_table_bytes(&table->table);
	for (left = kept->bytes; left > most || kept->all.count - old > KEPT_MAX; old++)
		left -= unwind_table_bytes(&kept->all.at[old].table.table);
	if (old)
		forget_oldest(kept, old, pool);
}

bool kept_tables_steal(struct kept_tables *kept, const struct image_identity *of,
		       struct image_table *table)
{
	vec_foreach (&kept->all, known) {
		if (memcmp(&known->of, of, sizeof(*of)) != 0)
			continue;
		*table = known->table;
		kept->bytes -= unwind_table_bytes(&table->table);
		kept->all.count--;
		memmove(known, known + 1,
			(size_t)(kept->all.at + kept->all.count - known) * sizeof(*known));
		return true;
	}
	return false;
}

void kept_tables_drop(struct kept_tables *kept, struct unwind_pool *pool)
{
	if (kept->all.count)
		forget_oldest(kept, kept->all.count, pool);
	vec_free(&kept->all);
}
