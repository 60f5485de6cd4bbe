/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_RELIEF_H
#define RECORD_RELIEF_H

#include <stdint.h>

#include "base/fail.h"
#include "attach/rings.h"
#include "process/sideband.h"

/*
 * A thread that moves records from the rings into memory while the recording thread is busy.
 * Building the unwind table of a browser, reading the symbols of a large program or closing a film
 * takes seconds, but the rings have room for one second. The recording thread later reads the moved
 * records in the same order. Process events come in bursts, so they are moved as soon as a ring is
 * a quarter full.
 *
 * It sleeps as long as relief_expect() announces the next read in time.
 */
struct relief;

/* rings and sideband must outlive *relief. */
int relief_new(struct rings *rings, struct sideband *sideband, struct relief **relief,
	       struct fail *why);
void relief_free(struct relief *relief); /* null is allowed */

/*
 * Announces that the rings are read again within ns nanoseconds; otherwise the thread empties them.
 * null is allowed.
 */
void relief_expect(struct relief *relief, uint64_t ns);

#endif
