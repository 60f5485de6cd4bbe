/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MACHINE_READ_H
#define SOURCES_MACHINE_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "film/gauges.h"

/*
 * What files of /proc say of the whole machine (proc(5)), as values of gauges. What flows is the
 * sum since the machine started. Lines and words that are not understood are passed over.
 */
struct machine_value {
	enum film_gauge_kind kind;
	const char *object; /* of which device or interface; "": of all */
	uint64_t value, count, time, longest;
};

struct machine_to {
	void (*emit)(void *context, const struct machine_value *value);
	void *context;
};

/* Each changes the text. tick: ns of a tick of the kernel's accounting. */
void machine_parse_stat(char *text, uint64_t tick, const struct machine_to *to);
/* is_disk: whether a device is a whole disk, of which partitions would be counted again. */
void machine_parse_diskstats(char *text, bool (*is_disk)(void *context, const char *name),
			     const struct machine_to *to);
void machine_parse_interfaces(char *text, const struct machine_to *to);
void machine_parse_snmp(char *text, const struct machine_to *to);
void machine_parse_meminfo(char *text, const struct machine_to *to);
/* page: bytes of one */
void machine_parse_vmstat(char *text, uint64_t page, const struct machine_to *to);
/* all: the kind for the time in which all threads waited; FILM_GAUGE_NOTE: that is not wanted. */
void machine_parse_pressure(char *text, enum film_gauge_kind some, enum film_gauge_kind all,
			    const struct machine_to *to);

#endif
