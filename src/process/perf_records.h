/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_PERF_RECORDS_H
#define PROCESS_PERF_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "process/targets.h"

/*
 * The records of a perf event that announces processes (perf_event_open(2)), opened with
 * sample_id_all and sample_type PERF_SAMPLE_TID | TIME | CPU: each ends with those fields.
 */

/*
 * What a record of size bytes says. Returns false for records of other kinds and for damaged ones.
 * event->path lies in the record.
 */
bool perf_record_parse(const void *record, size_t size, struct target_event *event);

/*
 * Copies the whole records between tail and head out of a ring of size bytes (a power of two) and
 * appends them to records, since they may wrap around its end. Returns the new tail: head, unless
 * there was no memory. What follows a record of impossible size is skipped, and *damaged set.
 */
uint64_t perf_ring_copy(const uint8_t *ring, size_t size, uint64_t tail, uint64_t head,
			struct buf *records, bool *damaged);

#endif
