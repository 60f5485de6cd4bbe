/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_CALLS_COST_H
#define SOURCES_CALLS_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "sources/calls/sums.h"
#include "attach/rings.h"
#include "attach/uprobes.h"
#include "probe/functions.h"

struct probes;

/*
 * What a probed call costs on this machine: measured with the probes themselves, on functions of
 * our own that do nothing.
 */
#define CALLS_COST_KINDS 2 /* enum probe_cost */
#define CALLS_COST_EXITS 3 /* enum probe_exit */

/* The first functions are these; those of a plan are numbered behind them. */
#define CALLS_COST_FUNCTIONS (CALLS_COST_KINDS * CALLS_COST_EXITS)

struct calls_cost {
	/* ns of a call's own duration, and of that of its callers: as in struct film_probe */
	uint32_t own[CALLS_COST_KINDS][CALLS_COST_EXITS];
	uint32_t outer[CALLS_COST_KINDS][CALLS_COST_EXITS];
	/* ns: more than that own seldom is, also where caches hold nothing of the probe */
	uint32_t error[CALLS_COST_KINDS][CALLS_COST_EXITS];
};

/* Which of them occur at all. */
struct calls_cost_kinds {
	bool has[CALLS_COST_KINDS][CALLS_COST_EXITS];
};

/*
 * rings: nothing but what this measures may be in them yet; sums: where the programs sum up, with
 * room for CALLS_COST_FUNCTIONS, null: they do not. Most of the time that it takes, some 50 to 200
 * ms, the kernel waits for probes to be gone. Returns 0 or a negative errno with *why filled.
 */
int calls_cost_measure(struct probes *probes, const struct uprobe_ways *ways, struct rings *rings,
		       struct calls_sums *sums, const struct calls_cost_kinds *wanted,
		       struct calls_cost *cost, struct fail *why);

#endif
