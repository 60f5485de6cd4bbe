// SPDX-License-Identifier: Apache-2.0
#include "query/heat.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "film/events.h"
#include "query/filter.h"
#include "query/view.h"

struct adding {
	struct heat *heat;
	const struct film *film;
	struct filter_kept kept;
	bool lasts; /* a value is how long it lasted, until the time of the sample */
};

int heat_begin(struct heat *heat, uint64_t from, uint64_t to, struct fail *why)
{
	uint64_t seconds;

	*heat = (struct heat){.first = from / SECOND_NS};
	seconds = to > from ? (to + SECOND_NS - 1) / SECOND_NS - heat->first : 0;
	if (seconds > HEAT_SECONDS_MAX)
		return fail(why, -EINVAL, "--from and --to choose a shorter time",
			    "a heat map has a column for each second, at most %d, not %llu",
			    HEAT_SECONDS_MAX, (unsigned long long)seconds);
	heat->seconds = (uint32_t)seconds;
	heat->cells = calloc(seconds * HEAT_ROWS + 1, sizeof(*heat->cells));
	return heat->cells ? 0 : fail_errno(why, -ENOMEM, NULL, "cannot make the heat map");
}

void heat_free(struct heat *heat)
{
	free(heat->cells);
	*heat = (struct heat){0};
}

static void add(struct heat *heat, uint64_t cell, uint64_t value)
{
	uint64_t *at = &heat->cells[cell];

	if (cell >= (uint64_t)heat->seconds * HEAT_ROWS)
		return;
	if (__builtin_add_overflow(*at, value, at))
		*at = UINT64_MAX;
	if (*at > heat->most)
		heat->most = *at;
}

/* time: ns since the first column began; what lies outside of the map is left out. */
static void add_sample(struct heat *heat, bool lasts, uint64_t time, uint64_t value)
{
	uint64_t begin = lasts ? (value < time ? time - value : 0) : time;
	uint64_t end = (uint64_t)heat->seconds * SECOND_NS;

	if (!lasts || begin / HEAT_STEP == time / HEAT_STEP) {
		add(heat, time / HEAT_STEP, value);
		return;
	}
	end = time < end ? time : end;
	for (uint64_t next; begin < end; begin = next) {
		next = (begin / HEAT_STEP + 1) * HEAT_STEP;
		add(heat, begin / HEAT_STEP, (next < end ? next : end) - begin);
	}
}

static int add_samples(void *context, const struct film_samples *samples)
{
	struct adding *a = context;
	const struct film *film = a->film;
	uint64_t start = a->heat->first * SECOND_NS - (uint64_t)film->info.wall_offset;

	for (size_t i = 0; i < samples->count; i++) {
		if (!a->kept.threads[samples->thread[i]] || !a->kept.stacks[samples->stack[i]])
			continue;
		if (samples->time[i] < start)
			continue;
		add_sample(a->heat, a->lasts, samples->time[i] - start, samples->value[i]);
		a->heat->samples++;
		if (__builtin_add_overflow(a->heat->total, samples->value[i], &a->heat->total))
			a->heat->total = UINT64_MAX;
	}
	return 0;
}

int heat_add(struct heat *heat, struct film *film, uint32_t event, const struct filter *filter,
	     uint64_t from, uint64_t to, struct fail *why)
{
	struct adding a = {
		.heat = heat,
		.film = film,
		.lasts = event_of(&film->events[event])->is_interval,
	};
	int err;

	err = filter_apply(filter, film, &a.kept, why);
	if (!err)
		err = film_each_samples(film, event, from, to, add_samples, &a, why);
	filter_kept_free(&a.kept);
	return err;
}

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high)
{
	return value < low ? low : value > high ? high : value;
}

int heat_of_film(struct film *film, const struct question *q, struct heat *heat, struct fail *why)
{
	const struct film_info *info = &film->info;
	uint64_t from, to, offset = (uint64_t)info->wall_offset, first, end, total, more;
	uint32_t event, also;
	int err = view_event(film, q->event, &event, why);

	*heat = (struct heat){0};
	if (!err && view_is_calls(&film->events[event]))
		return fail(why, -EINVAL, "-e names another event, if the film has one",
			    "a heat map shows samples; %s has none", film->events[event].name);
	if (!err)
		err = view_event_also(film, q, event, &also, why);
	if (!err)
		err = filter_span(&q->filter, info, &from, &to, why);
	if (err)
		return err;
	/* the film's last sample may be of its very end */
	first = clamp(from, info->start, info->end);
	end = clamp(to, first, info->end + 1);
	err = heat_begin(heat, first + offset, end + offset, why);
	if (err)
		return err;
	heat->event = &film->events[event];
	film_event_total(film, event, &heat->film_samples, &total);
	err = heat_add(heat, film, event, &q->filter, from, to, why);
	if (err || !also)
		return err;
	film_event_total(film, also, &more, &total);
	heat->film_samples += more;
	return heat_add(heat, film, also, &q->filter, from, to, why);
}
