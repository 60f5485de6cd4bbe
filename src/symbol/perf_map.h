/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_PERF_MAP_H
#define SYMBOL_PERF_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "symbol/code_table.h"

/*
 * /tmp/perf-PID.map, in which a runtime names the code that it makes, one line for each function:
 * "START SIZE NAME", the numbers in hexadecimal; NAME may hold spaces. It is described in
 * tools/perf/Documentation/jit-interface.txt of Linux. Lines are added as code is made, without
 * times: what is known of the time is between which two readings a line appeared.
 */
struct perf_map {
	struct code_table code;
	uint64_t read_to;   /* bytes of the file that are in it */
	uint64_t read_at;   /* when; 0: never */
	uint8_t before[64]; /* what stood in front of read_to */
	/* a line was too long, or begins before what is read: its rest is passed over */
	bool dropping;
	uint64_t passed; /* bytes that are not in it, since the file had too many newer ones */
};

/*
 * Reads the lines that were added since the last call; all of them, if the file was written anew.
 * now: ns of CLOCK_MONOTONIC. last: no other reading follows, so a last line without a newline
 * counts. A call reads PERF_MAP_READ bytes at most, and the next one goes on there; the last one
 * reads all. Of a file that is further ahead than PERF_MAP_AHEAD only the newest part is read.
 * Returns 0, -ENOMEM, or -errno of read().
 */
#define PERF_MAP_READ  ((uint64_t)16 << 20)
#define PERF_MAP_AHEAD ((uint64_t)64 << 20)
int perf_map_read(struct perf_map *map, int fd, uint64_t now, bool last);

/* The name of an entry; false: it does not stand there any more. */
bool perf_map_name(int fd, const struct code_entry *entry, struct code_name *name);

void perf_map_free(struct perf_map *map);

#endif
