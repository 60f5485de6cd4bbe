/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRIGGERS_H
#define HOST_TRIGGERS_H

#include <stdbool.h>
#include <stddef.h>

#include "sources/happening.h"

/*
 * What makes the flight recorder keep what it has by itself. To add one: a kind of happening that a
 * source or host/lookout.c reports (sources/happening.h), and a row in triggers.c.
 */
struct trigger {
	enum happening_kind kind;
	uint64_t cool_ns; /* after one of the kind, others are marks and keep nothing, so long */
	/* False: it is none. Else why it is one: "nginx (12) died of SIGSEGV". */
	bool (*words)(const struct happening *happening, char *to, size_t size);
};

/* The row of what happened; null: it is not a reason to keep anything. */
const struct trigger *trigger_of(const struct happening *happening, char *words, size_t size);

#endif
