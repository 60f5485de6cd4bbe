// SPDX-License-Identifier: Apache-2.0
#include "query/question.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/text.h"

#define NS_PER_SECOND 1000000000ull
#define NS_PER_DAY    (86400 * NS_PER_SECOND)

const char question_help[] =
	"  -e, --event EVENT     which event of the film (default: its first)\n"
	"      --pid PID[,PID…]  only these processes\n"
	"      --tid TID[,TID…]  only these threads\n"
	"      --comm GLOB       only threads whose name, or whose process's name, matches;\n"
	"                        may be given several times\n"
	"      --focus REGEX     only stacks with a function that matches\n"
	"      --ignore REGEX    without the stacks with a function that matches\n"
	"      --from T, --to T  only this span: 2.5 or 2.5s, 1500ms since the film's start,\n"
	"                        or a local time of day such as 14:32:08\n"
	"      --by WHAT[,WHAT…] group by process, thread; image: one frame per library\n"
	"      --lines           split functions by source line\n"
	"      --inlines         show inlined functions as frames of their own\n";

static int take_numbers(struct question *q, int option, const char *value, struct fail *why)
{
	const char *at = value;

	for (;;) {
		size_t length = strcspn(at, ",");
		char digits[16] = "";
		uint64_t n;

		if (length < sizeof(digits))
			memcpy(digits, at, length);
		if (text_parse_u64(digits, 0, UINT32_MAX, &n))
			return fail(why, -EINVAL, NULL, "'%s' is not a list of numbers", value);
		if (option == QUESTION_PID ? !vec_push(&q->filter.pids, (uint32_t)n)
					   : !vec_push(&q->filter.tids, (uint32_t)n))
			return -ENOMEM;
		if (!at[length])
			return 0;
		at += length + 1;
	}
}

static int take_regex(regex_t *regex, bool *has, const char *value, struct fail *why)
{
	char words[128];
	int err;

	if (*has)
		regfree(regex);
	err = regcomp(regex, value, REG_EXTENDED | REG_NOSUB);
	*has = !err;
	if (!err)
		return 0;
	regerror(err, regex, words, sizeof(words));
	return fail(why, -EINVAL, NULL, "'%s' is not a regular expression: %s", value, words);
}

static int take_groups(struct shape *shape, const char *value, struct fail *why)
{
	const struct {
		const char *name;
		bool *flag;
	} groups[] = {
		{"process", &shape->by_process},
		{"thread", &shape->by_thread},
		{"image", &shape->by_image},
	};
	const char *at = value;

	for (;;) {
		size_t length = strcspn(at, ","), i;

		for (i = 0; i < 3; i++)
			if (strlen(groups[i].name) == length && !memcmp(groups[i].name, at, length))
				break;
		if (i == 3)
			return fail(why, -EINVAL, NULL,
				    "'%s' is not a list of process, thread, image", value);
		*groups[i].flag = true;
		if (!at[length])
			return 0;
		at += length + 1;
	}
}

/*
 * A decimal fraction in units of so many nanoseconds, exactly; more digits than nanoseconds are
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

static int parse_wall(const char *s, struct when *when)
{
	unsigned int hours, minutes;
	const char *rest;
	int eaten = 0;

	/* a sign or a blank would pass sscanf */
	if (strspn(s, "0123456789:.") != strlen(s))
		return -EINVAL;
	if (sscanf(s, "%2u:%2u:%n", &hours, &minutes, &eaten) != 2 || !eaten || hours > 23 ||
	    minutes > 59)
		return -EINVAL;
	rest = parse_decimal(s + eaten, NS_PER_SECOND, 60, &when->ns);
	if (!rest || *rest || when->ns >= 61 * NS_PER_SECOND)
		return -EINVAL;
	when->ns += (hours * 3600ull + minutes * 60ull) * NS_PER_SECOND;
	when->kind = WHEN_WALL;
	return 0;
}

static int parse_since_start(const char *s, struct when *when)
{
	const char *suffix = s + strspn(s, "0123456789.");
	uint64_t unit;

	if (!*suffix || !strcmp(suffix, "s"))
		unit = NS_PER_SECOND;
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

static int take_when(struct when *when, const char *value, struct fail *why)
{
	if (strchr(value, ':') ? !parse_wall(value, when) : !parse_since_start(value, when))
		return 0;
	return fail(why, -EINVAL, NULL,
		    "'%s' is neither a time since the film's start (2.5, 1500ms) nor a time of day "
		    "(14:32:08)",
		    value);
}

static int take_span(struct filter *f, int option, const char *value, struct fail *why)
{
	int err = take_when(option == QUESTION_FROM ? &f->from : &f->to, value, why);

	if (!err && f->from.kind == WHEN_SINCE_START && f->to.kind == WHEN_SINCE_START &&
	    f->from.ns >= f->to.ns)
		return fail(why, -EINVAL, NULL, "the span of time ends before it starts");
	return err;
}

int question_take(struct question *q, int option, const char *value, struct fail *why)
{
	struct filter *f = &q->filter;

	switch (option) {
	case QUESTION_EVENT:
		q->event = value;
		return 0;
	case QUESTION_PID:
	case QUESTION_TID:
		return take_numbers(q, option, value, why);
	case QUESTION_COMM:
		return vec_push(&f->comms, value) ? 0 : -ENOMEM;
	case QUESTION_FOCUS:
		return take_regex(&f->focus, &f->has_focus, value, why);
	case QUESTION_IGNORE:
		return take_regex(&f->ignore, &f->has_ignore, value, why);
	case QUESTION_FROM:
	case QUESTION_TO:
		return take_span(f, option, value, why);
	case QUESTION_BY:
		return take_groups(&q->shape, value, why);
	case QUESTION_LINES:
		q->shape.lines = true;
		return 0;
	case QUESTION_INLINES:
		q->shape.inlines = true;
		return 0;
	default:
		return -ENOENT;
	}
}

void question_free(struct question *q)
{
	struct filter *f = &q->filter;

	vec_free(&f->pids);
	vec_free(&f->tids);
	vec_free(&f->comms);
	if (f->has_focus)
		regfree(&f->focus);
	if (f->has_ignore)
		regfree(&f->ignore);
	*q = (struct question){0};
}

/*
 * Monotonic time of a time of day: on the day the film began, or, where a film runs over midnight, on
 * the day on which it lies in the film. A film may claim any times: __int128 holds all their sums.
 */
static uint64_t wall_to_monotonic(const struct film_info *info, uint64_t since_midnight)
{
	__int128 start = (__int128)info->start + info->wall_offset;
	__int128 end = (__int128)info->end + info->wall_offset;
	time_t seconds = (time_t)(start / (int64_t)NS_PER_SECOND);
	__int128 wanted;
	struct tm day;

	if (!localtime_r(&seconds, &day))
		return 0;
	day.tm_hour = day.tm_min = day.tm_sec = 0;
	day.tm_isdst = -1;
	wanted = (__int128)mktime(&day) * (int64_t)NS_PER_SECOND + since_midnight;
	if (wanted < start && wanted + NS_PER_DAY <= end)
		wanted += (start - wanted + NS_PER_DAY - 1) / NS_PER_DAY * NS_PER_DAY;
	wanted -= info->wall_offset;
	return wanted < 0 ? 0 : wanted > UINT64_MAX ? UINT64_MAX : (uint64_t)wanted;
}

static uint64_t resolve(const struct when *when, const struct film_info *info, uint64_t open)
{
	switch (when->kind) {
	case WHEN_SINCE_START:
		return info->start > UINT64_MAX - when->ns ? UINT64_MAX : info->start + when->ns;
	case WHEN_WALL:
		return wall_to_monotonic(info, when->ns);
	default:
		return open;
	}
}

int filter_span(const struct filter *f, const struct film_info *info, uint64_t *from, uint64_t *to,
		struct fail *why)
{
	*from = resolve(&f->from, info, 0);
	*to = resolve(&f->to, info, UINT64_MAX);
	if (*from >= *to)
		return fail(why, -EINVAL, NULL, "the span of time ends before it starts");
	return 0;
}
