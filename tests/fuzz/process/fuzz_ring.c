// SPDX-License-Identifier: Apache-2.0
/* A ring of the kernel's records: two bytes say where the tail is, the rest is in the ring. */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "process/perf_records.h"

#define RING 8192

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf records = {0};
	bool damaged = false;
	uint64_t tail;
	uint8_t *ring;

	if (size < 2 || size - 2 > RING || !(ring = calloc(1, RING)))
		return 0;
	tail = (uint64_t)data[0] << 8 | data[1];
	for (size_t i = 2; i < size; i++)
		ring[(tail + i - 2) % RING] = data[i];
	if (perf_ring_copy(ring, RING, tail, tail + size - 2, &records, &damaged) !=
	    tail + size - 2)
		abort();
	for (size_t at = 0; at < records.count;) {
		struct perf_event_header header;
		struct target_event event;
		uint8_t *record;

		memcpy(&header, records.at + at, sizeof(header));
		if (header.size < sizeof(header) || header.size > records.count - at)
			abort();
		/* of exactly this size, so that a read behind it is seen */
		record = malloc(header.size);
		if (!record)
			break;
		memcpy(record, records.at + at, header.size);
		if (perf_record_parse(record, header.size, &event)) {
			if (event.kind == TARGET_MMAP && strlen(event.path) >= header.size)
				abort();
			if (!memchr(event.comm, 0, sizeof(event.comm)))
				abort();
		}
		free(record);
		at += header.size;
	}
	buf_free(&records);
	free(ring);
	return 0;
}
