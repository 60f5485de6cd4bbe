/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNWIND_RULES_H
#define UNWIND_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/unwind/abi.h"

/*
 * The rules that all tables share: the same run of rules is stored once (bpf/unwind/abi.h). Rules
 * are only ever added: some hundreds cover a large program, and they repeat from one to the next.
 */
struct unwind_rules;

/* memory: UNWIND_RULES_MAX zeroed rules, owned by the caller and outliving this. */
int unwind_rules_new(struct unwind_rule *memory, struct unwind_rules **rules);
void unwind_rules_free(struct unwind_rules *rules);

/*
 * The index of a run of count rules (1 to UNWIND_RUN_MAX) whose `until` are set. A run of several
 * that is new is refused (-1) until it was asked for often enough to be worth its room: twice at
 * first, more often the fuller the table is, and never when it is half full, so that single rules
 * still find room. Try with fewer then. A single rule that finds no room gets
 * UNWIND_RULE_UNSUPPORTED, and *full is set.
 */
int unwind_rules_run(struct unwind_rules *rules, const struct unwind_rule *run, unsigned int count,
		     bool *full);

/* Rules in use. */
unsigned int unwind_rules_count(const struct unwind_rules *rules);

#endif
