/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNWIND_LOOKUP_H
#define UNWIND_LOOKUP_H

#include <stdint.h>

#include "bpf/unwind_abi.h"
#include "unwind/pool.h"
#include "unwind/table.h"

/*
 * The rule for an address (virtual, as in the image) as the table has it; its until means nothing
 * here. rules: the memory given to unwind_rules_new(). The kernel side has its own way to the same
 * answer.
 */
struct unwind_rule unwind_table_lookup(const struct unwind_pool *pool,
				       const struct unwind_rule *rules,
				       const struct unwind_table *table, uint64_t address);

#endif
