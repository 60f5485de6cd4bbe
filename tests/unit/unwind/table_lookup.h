/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNWIND_TABLE_LOOKUP_H
#define TESTS_UNWIND_TABLE_LOOKUP_H

#include <stdint.h>

#include "bpf/unwind/abi.h"
#include "unwind/pool.h"
#include "unwind/table.h"

/*
 * The rule for an address (virtual, as in the image) as the table has it; its until means nothing
 * here. rules: the memory given to unwind_rules_new(). The walk (bpf/unwind/find.h) has its own way
 * to the same answer.
 */
static inline struct unwind_rule table_lookup(const struct unwind_pool *pool,
					      const struct unwind_rule *rules,
					      const struct unwind_table *table, uint64_t address)
{
	const struct unwind_page *pages = unwind_pool_at(pool, table->directory);
	uint64_t number = (address >> UNWIND_PAGE_SHIFT) - table->first_page;
	uint32_t pc = address & ((1u << UNWIND_PAGE_SHIFT) - 1);
	const struct unwind_rule *rule;
	const struct unwind_row *rows;
	uint32_t low = 0, high;

	if (!pages || number >= table->pages || !pages[number].rows)
		return rules[UNWIND_RULE_NONE];
	rows = unwind_pool_at(pool, pages[number].rows);
	/* the last row that does not begin behind pc; the first one begins at 0 */
	high = pages[number].count;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (rows[middle].pc <= pc)
			low = middle;
		else
			high = middle;
	}
	rule = &rules[rows[low].rule];
	while (rule->until && pc - rows[low].pc >= rule->until)
		rule++;
	return *rule;
}

#endif
