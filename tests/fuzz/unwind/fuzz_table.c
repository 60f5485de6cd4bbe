// SPDX-License-Identifier: Apache-2.0
/* Any bytes as an ELF image: its table is built, asked at some addresses, and dropped. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plain_memory.h"
#include "table_lookup.h"
#include "unwind/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct plain_memory *m, const struct unwind_table *table, uint64_t address)
{
	struct unwind_rule rule = table_lookup(m->pool, m->rules_memory, table, address);

	if (rule.cfa > UNWIND_CFA_UNSUPPORTED || rule.fp > UNWIND_FP_LOST ||
	    (rule.cfa_register >= 16 && rule.cfa != UNWIND_CFA_INDEXED))
		abort();
}

/* Some hundred addresses of the table, and some around it. */
static void ask_all(const struct plain_memory *m, const struct unwind_table *table)
{
	uint64_t start = (uint64_t)table->first_page << UNWIND_PAGE_SHIFT;
	uint64_t size = (uint64_t)table->pages << UNWIND_PAGE_SHIFT;
	uint64_t step = size / 256 + 1, inside;

	for (inside = 0; inside < size; inside += step)
		ask(m, table, start + inside);
	ask(m, table, start - 1);
	ask(m, table, start + size - 1);
	ask(m, table, start + size);
	ask(m, table, 0);
	ask(m, table, UINT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct plain_memory m;
	struct unwind_table table;
	struct fail why = {0};
	uint64_t chunks, used;

	/* a table of rules that is full would hide what is built of them */
	if (m.rules && unwind_rules_count(m.rules) > UNWIND_RULES_MAX / 2) {
		plain_memory_free(&m);
		memset(&m, 0, sizeof(m));
	}
	if (!m.rules && plain_memory_new(&m, 8 << 20))
		return 0;
	if (!unwind_table_of_memory(data, size, m.pool, m.rules, &table, &why))
		ask_all(&m, &table);
	else if (!why.err || table.directory)
		abort();
	unwind_table_drop(&table, m.pool);
	unwind_pool_settle(m.pool);
	unwind_pool_usage(m.pool, &chunks, &used);
	if (used || chunks)
		abort();
	return 0;
}
