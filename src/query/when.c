// SPDX-License-Identifier: Apache-2.0
#include "query/when.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

#define NS_PER_DAY (86400 * SECOND_NS)

/* Years whose nanoseconds since 1970 fit into 64 bits, and have four digits. */
enum {
	FIRST_YEAR = 1970,
	LAST_YEAR = 2500
};

/*
 * A decimal fraction in units of that many nanoseconds, exactly; more digits than nanoseconds are
 * dropped. Returns where it ended, or null.
 */
static const char *parse_decimal(const char *s, uint64_t unit, uint64_t max, uint64_t *ns)
{
	uint64_t whole = 0, place = unit;
	bool digits = false;

	for (; *s >= '0' && *s <= '9'; s++, digits = true) {
		whole = whole * 10 + (uint64_t)(*s - '0');
		if (whole > max)
			return NULL;
	}
	*ns = whole * unit;
	if (*s == '.')
		for (s++; *s >= '0' && *s <= '9'; s++, digits = true) {
			place /= 10;
			*ns += (uint64_t)(*s - '0') * place;
		}
	return digits ? s : NULL;
}

/*
 * A number of between min and max digits, up to a largest value. Returns where it ended, or
 * null.
 */
static const char *parse_digits(const char *s, int min, int max, int largest, int *number)
{
	int digits = 0;

	for (*number = 0; digits < max && s[digits] >= '0' && s[digits] <= '9'; digits++)
		*number = *number * 10 + (s[digits] - '0');
	return digits < min || *number > largest ? NULL : s + digits;
}

/* "14:32", "14:32:08.5": nanoseconds since midnight. Returns where it ended, or null. */
static const char *parse_clock(const char *s, uint64_t *ns)
{
	int hours, minutes;
	uint64_t seconds = 0;

	s = parse_digits(s, 1, 2, 23, &hours);
	if (!s || *s++ != ':')
		return NULL;
	s = parse_digits(s, 1, 2, 59, &minutes);
	/* there are minutes of 61 seconds */
	if (s && *s == ':')
		s = parse_decimal(s + 1, SECOND_NS, 60, &seconds);
	*ns = ((uint64_t)hours * 3600 + (uint64_t)minutes * 60) * SECOND_NS + seconds;
	return s;
}

/* "Z", "+01:00": in *east, in seconds. Returns where it ended, or null. */
static const char *parse_offset(const char *s, int64_t *east)
{
	int hours, minutes, sign = *s == '-' ? -1 : 1;

	*east = 0;
	if (*s == 'Z' || *s == 'z')
		return s + 1;
	if (*s != '+' && *s != '-')
		return NULL;
	s = parse_digits(s + 1, 2, 2, 23, &hours);
	if (!s || *s++ != ':')
		return NULL;
	s = parse_digits(s, 2, 2, 59, &minutes);
	*east = sign * (hours * 3600 + minutes * 60);
	return s;
}

/* Seconds from 1970 to a midnight of the reader's, or of UTC; -1: there is no such day. */
static int64_t midnight(int year, int month, int day, bool utc)
{
	struct tm date = {
		.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day, .tm_isdst = -1};
	time_t seconds = utc ? timegm(&date) : mktime(&date);

	return date.tm_mday == day && date.tm_mon == month - 1 ? (int64_t)seconds : -1;
}

static int parse_date(const char *s, struct when *when)
{
	int year, month, day;
	int64_t east = 0, seconds;
	uint64_t clock;
	bool local;

	s = parse_digits(s, 4, 4, LAST_YEAR, &year);
	if (!s || *s++ != '-' || year < FIRST_YEAR)
		return -EINVAL;
	s = parse_digits(s, 2, 2, 12, &month);
	if (!s || *s++ != '-')
		return -EINVAL;
	s = parse_digits(s, 2, 2, 31, &day);
	if (!s || !*s || !strchr("Tt ", *s++))
		return -EINVAL;
	s = parse_clock(s, &clock);
	local = s && !*s;
	if (s && !local)
		s = parse_offset(s, &east);
	if (!s || *s)
		return -EINVAL;
	seconds = midnight(year, month, day, !local);
	if (seconds < 0 || seconds < east)
		return -EINVAL;
	when->ns = (uint64_t)(seconds - east) * SECOND_NS + clock;
	when->kind = WHEN_DATE;
	return 0;
}

static int parse_of_day(const char *s, struct when *when)
{
	s = parse_clock(s, &when->ns);
	if (!s || *s)
		return -EINVAL;
	when->kind = WHEN_OF_DAY;
	return 0;
}

static int parse_since_start(const char *s, struct when *when)
{
	const char *suffix = s + strspn(s, "0123456789.");
	uint64_t unit;

	if (!*suffix || !strcmp(suffix, "s"))
		unit = SECOND_NS;
	else if (!strcmp(suffix, "ms"))
		unit = 1000000;
	else if (!strcmp(suffix, "us"))
		unit = 1000;
	else if (!strcmp(suffix, "ns"))
		unit = 1;
	else
		return -EINVAL;
	if (parse_decimal(s, unit, (1ull << 62) / unit, &when->ns) != suffix)
		return -EINVAL;
	when->kind = WHEN_SINCE_START;
	return 0;
}

int when_parse(const char *text, struct when *when, struct fail *why)
{
	int err;

	*when = (struct when){.text = text};
	if (strchr(text, '-'))
		err = parse_date(text, when);
	else if (strchr(text, ':'))
		err = parse_of_day(text, when);
	else
		err = parse_since_start(text, when);
	if (!err)
		return 0;
	return fail(why, err, NULL,
		    "'%s' is not a time; these are: 2.5, 1500ms (since the film's start), 14:32, "
		    "14:32:08.5 (local time of day), 2026-11-21T14:32:08Z (RFC 3339)",
		    text);
}

/*
 * A time of day is that of the first day on which it lies in the film; if it lies in none, the one
 * that is nearest to the film. A film may claim any times: __int128 holds all their sums.
 */
static __int128 nearest_day(const struct film_info *info, uint64_t since_midnight)
{
	__int128 start = (__int128)info->start + info->wall_offset;
	__int128 end = (__int128)info->end + info->wall_offset;
	time_t seconds = (time_t)(start / (int64_t)SECOND_NS);
	__int128 wanted, before;
	struct tm day;

	if (!localtime_r(&seconds, &day))
		return info->wall_offset;
	day.tm_hour = day.tm_min = day.tm_sec = 0;
	day.tm_isdst = -1;
	wanted = (__int128)mktime(&day) * (int64_t)SECOND_NS + since_midnight;
	if (wanted < start)
		wanted += (start - wanted + NS_PER_DAY - 1) / NS_PER_DAY * NS_PER_DAY;
	before = wanted - NS_PER_DAY;
	return wanted > end && start - before < wanted - end ? before : wanted;
}

static uint64_t to_monotonic(const struct film_info *info, __int128 wall)
{
	wall -= info->wall_offset;
	return wall < 0 ? 0 : wall > UINT64_MAX ? UINT64_MAX : (uint64_t)wall;
}

uint64_t when_resolve(const struct when *when, const struct film_info *info, uint64_t open)
{
	switch (when->kind) {
	case WHEN_SINCE_START:
		return info->start > UINT64_MAX - when->ns ? UINT64_MAX : info->start + when->ns;
	case WHEN_OF_DAY:
		return to_monotonic(info, nearest_day(info, when->ns));
	case WHEN_DATE:
		return to_monotonic(info, when->ns);
	default:
		return open;
	}
}
