// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "query/when.h"
#include "server/ask.h"

#define SECOND	    1000000000ull
#define SECONDS_MAX 9999999999ull /* the year 2286 */

/* "1732199528.5": seconds and at most nine digits of a fraction. */
static int parse_seconds(const char *text, uint64_t *time)
{
	size_t whole = strspn(text, "0123456789"), digits = 0;
	uint64_t seconds = 0, ns = 0, unit = SECOND;

	if (!whole || whole > 10)
		return -EINVAL;
	for (size_t i = 0; i < whole; i++)
		seconds = seconds * 10 + (uint64_t)(text[i] - '0');
	text += whole;
	if (*text == '.') {
		digits = strspn(++text, "0123456789");
		for (size_t i = 0; i < digits && unit > 1; i++) {
			unit /= 10;
			ns += (uint64_t)(text[i] - '0') * unit;
		}
		text += digits;
	}
	if (*text || seconds > SECONDS_MAX)
		return -EINVAL;
	*time = seconds * SECOND + ns;
	return 0;
}

/* "15m", "1.5h", "7d" */
static int parse_duration(const char *text, uint64_t *ns)
{
	size_t length = strlen(text);
	char days[16];
	uint64_t count;

	if (length < 2 || length >= sizeof(days) || text[length - 1] != 'd')
		return text_parse_time(text, SECOND, ns);
	memcpy(days, text, length - 1);
	days[length - 1] = 0;
	if (text_parse_u64(days, 0, 10000, &count))
		return -EINVAL;
	*ns = count * 86400 * SECOND;
	return 0;
}

int ask_time(const char *text, uint64_t now, uint64_t *time, struct fail *why)
{
	struct when when = {0};
	uint64_t back;

	*time = now;
	if (!strcmp(text, "now") || !parse_seconds(text, time))
		return 0;
	if (*text == '-' && !parse_duration(text + 1, &back)) {
		*time = back < now ? now - back : 0;
		return 0;
	}
	/*
	 * a date begins with its year; nothing else that a person may give to "report" is meant
	 * here
	 */
	if (strlen(text) >= 10 && text[4] == '-' && !when_parse(text, &when, NULL) &&
	    when.kind == WHEN_DATE && when.ns <= SECONDS_MAX * SECOND) {
		*time = when.ns;
		return 0;
	}
	return fail(why, -EINVAL,
		    "unix seconds, RFC 3339 (2026-11-21T14:32:08Z), now, or -15m, -6h, -7d",
		    "'%.64s' is not a time", text);
}
