/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MACHINE_SERIES_H
#define SOURCES_MACHINE_SERIES_H

#include "sources/machine/read.h"

/*
 * What is read again and again, made rows of the film (film/gauges.h): of sums the growth between
 * two readings. As long as a level stays, or nothing happens, one row stands for several readings.
 */
struct machine_series;

struct machine_series_to {
	/* The film's row for a device or interface; 0: it has no room. */
	uint32_t (*row)(void *context, const char *words);
	void (*write)(void *context, const struct film_gauge *gauge);
	void *context;
};

/* Null: no memory. */
struct machine_series *machine_series_new(const struct machine_series_to *to);
void machine_series_free(struct machine_series *series); /* null is allowed */

/* A reading: its values are given between these two. now: ns, later than that of the one before. */
void machine_series_begin(struct machine_series *series, uint64_t now);
void machine_series_add(void *series, const struct machine_value *value);
void machine_series_end(struct machine_series *series);

/* Writes what was not written yet, up to the last reading. */
void machine_series_flush(struct machine_series *series);

/* Another film, in which no device has a row: flush the one before first. */
void machine_series_turn(struct machine_series *series);

/* Values of devices that there was no room for. */
uint64_t machine_series_refused(const struct machine_series *series);

#endif
