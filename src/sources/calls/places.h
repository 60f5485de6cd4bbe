/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_CALLS_PLACES_H
#define SOURCES_CALLS_PLACES_H

#include "bpf/calls/abi.h"
#include "attach/uprobes.h"
#include "bpf/probes.skel.h"

/*
 * The probes of the function tracer, as attach/uprobes.h wants them: its programs, and what each
 * place tells them.
 */

static inline struct uprobe_programs calls_programs(const struct probes *probes)
{
	return (struct uprobe_programs){probes->progs.calls_session, probes->progs.calls_site};
}

/* Where a function begins. words: as in CALLS_COOKIE(); returns: the kernel is to tell its end. */
static inline struct uprobe_place calls_entry(uint64_t offset, uint32_t function, uint32_t flags,
					      uint64_t words, bool returns)
{
	return (struct uprobe_place){
		.offset = offset,
		.group = function,
		.kind = returns ? UPROBE_ENTRY_AND_RETURN : UPROBE_ENTRY,
		.cookie = CALLS_COOKIE(function, CALLS_SITE_ENTRY, flags, words),
		.entry_cookie = CALLS_COOKIE(function, CALLS_SITE_ENTRY,
					     flags | CALLS_FUNCTION_RETURN, words),
		/* it has returned: there are no words */
		.return_cookie = CALLS_COOKIE(function, CALLS_SITE_RETURN, 0, 0),
	};
}

/*
 * Is whether it is asked for its return decided call by call? What decides runs for the process
 * that the probe is bound to; where others hit it, the kernel asks them all.
 */
static inline bool calls_is_guarded(const struct uprobe_place *place)
{
	return place->kind == UPROBE_ENTRY_AND_RETURN &&
	       place->cookie >> 32 & CALLS_FUNCTION_GUARDED;
}

/* The same place of a function that is never asked: its end is inferred. */
static inline void calls_unguard(struct uprobe_place *place)
{
	place->kind = UPROBE_ENTRY;
	place->cookie &= ~((uint64_t)CALLS_FUNCTION_GUARDED << 32);
	place->cookie |= (uint64_t)CALLS_FUNCTION_INFERRED << 32;
}

/* Where it ends. */
static inline struct uprobe_place calls_exit(uint64_t offset, uint32_t function, uint32_t flags,
					     uint64_t words)
{
	return (struct uprobe_place){
		.offset = offset,
		.group = function,
		.kind = UPROBE_EXIT_SITE,
		.cookie = CALLS_COOKIE(function, CALLS_SITE_RET, flags, words),
	};
}

#endif
