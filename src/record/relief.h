/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_RELIEF_H
#define RECORD_RELIEF_H

#include <stdint.h>

#include "base/fail.h"
#include "attach/rings.h"
#include "process/sideband.h"

/*
 * The thread that empties the rings into memory while the one that records is busy. To build the
 * unwind table of a browser, to read the symbols of a large program or to end a film takes seconds,
 * and the rings hold what comes in one. It decides nothing: what it moves is read later, in the
 * same order. The events of processes, which come in bursts, it moves as soon as a ring is a
 * quarter full.
 *
 * It sleeps while the recorder says in time when it will read next.
 */
struct relief;

/* Both must outlive it. */
int relief_new(struct rings *rings, struct sideband *sideband, struct relief **relief,
	       struct fail *why);
void relief_free(struct relief *relief); /* null is allowed */

/* The rings are read again within that many ns, and else to be emptied. null is allowed. */
void relief_expect(struct relief *relief, uint64_t ns);

#endif
