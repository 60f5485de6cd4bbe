// SPDX-License-Identifier: Apache-2.0
/* Units of events, here and in other tools. */
#include "film/events.h"

#include <string.h>

#include "base/clock.h"

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

/* A unit of ours, and what others call it. */
static const struct {
	const char *name, *abroad, *speedscope;
	enum event_quantity quantity;
} units[] = {
	{"ns", "nanoseconds", "nanoseconds", EVENT_TIME},
	{"bytes", "bytes", "bytes", EVENT_BYTES},
	{"count", "count", "none", EVENT_COUNT},
};

enum event_quantity event_quantity(const char *unit)
{
	for (size_t i = 0; i < COUNT_OF(units); i++)
		if (!strcmp(units[i].name, unit))
			return units[i].quantity;
	return EVENT_COUNT;
}

const char *event_unit_abroad(const char *unit)
{
	for (size_t i = 0; i < COUNT_OF(units); i++)
		if (!strcmp(units[i].name, unit))
			return units[i].abroad;
	return unit;
}

const char *event_unit_speedscope(const char *unit)
{
	for (size_t i = 0; i < COUNT_OF(units); i++)
		if (!strcmp(units[i].name, unit))
			return units[i].speedscope;
	return "none";
}

const struct event_unit *event_unit_from(const char *name)
{
	static const struct event_unit known[] = {
		{"nanoseconds", "ns", 1},
		{"ns", "ns", 1},
		{"microseconds", "ns", 1000},
		{"us", "ns", 1000},
		{"milliseconds", "ns", 1000000},
		{"ms", "ns", 1000000},
		{"seconds", "ns", SECOND_NS},
		{"s", "ns", SECOND_NS},
		{"bytes", "bytes", 1},
		{"kilobytes", "bytes", 1024},
		{"megabytes", "bytes", 1024 * 1024},
		{"By", "bytes", 1},
	};
	static const struct event_unit others = {"", "count", 1};

	for (size_t i = 0; i < COUNT_OF(known); i++)
		if (!strcmp(known[i].name, name))
			return &known[i];
	return &others;
}

bool event_is_time_abroad(const char *unit)
{
	return event_quantity(event_unit_from(unit)->unit) == EVENT_TIME;
}

bool event_counts_samples(const char *type, const char *unit)
{
	return !event_is_time_abroad(unit) && (!strcmp(type, "samples") || !strcmp(type, "sample"));
}
