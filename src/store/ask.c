// SPDX-License-Identifier: Apache-2.0
/* What is asked: the event, the time, the series; and whether the index can answer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/globs.h"
#include "film/events.h"
#include "film/labels.h"
#include "base/saturated.h"
#include "store/ask_private.h"
#include "store/fleet/answer.h"

/* Up to this long, seconds matter. */
#define SHORT_TIME (5 * NS_MINUTE)

/*
 * The index follows what grows within seconds, but a recorder that meets many programs at once, as
 * it does when it starts, takes minutes to name them all: until then, who asks for the latest gets
 * it from the films, unnamed or not.
 */
#define LATE	  (NS_MINUTE / 2)
#define LATE_TIME (15 * NS_MINUTE)

struct store_answer_private *answer_private_new(struct fail *why)
{
	struct store_answer_private *private = calloc(1, sizeof(*private));

	if (!private)
		fail_errno(why, -ENOMEM, NULL, "cannot answer");
	return private;
}

void answer_private_free(struct store_answer_private *private)
{
	if (!private)
		return;
	name_pool_free(&private->names);
	vec_foreach (&private->images, image)
		free(*image);
	vec_free(&private->images);
	call_functions_free(&private->calls);
	index_free(private->index);
	if (private->dictionary)
		dictionary_free(private->dictionary);
	free(private->dictionary);
	free(private);
}

static int no_event(const struct asked *a, const char *name, struct fail *why)
{
	struct buf names = {0};

	for (uint32_t i = 1; i < a->index->event_count; i++)
		buf_printf(&names, "%s%s", i > 1 ? ", " : "", a->index->events[i].name);
	buf_put_u8(&names, 0);
	fail(why, -ENOENT, NULL, "the store has no event '%s', only %s", name,
	     names.failed ? "others" : (const char *)names.at);
	buf_free(&names);
	return -ENOENT;
}

static int pick_event(struct asked *a, struct fail *why)
{
	const char *name = a->ask->event ? a->ask->event : event_usual()->name;
	const struct event_type *known = event_named(name);
	uint32_t count = a->index->event_count;

	a->event_name = name;
	a->unit = event_usual()->unit;
	for (uint32_t i = 1; !a->event && i < count; i++)
		if (!strcmp(a->index->events[i].name, name))
			a->event = i;
	/* the first one is what the first film was made for */
	if (!a->event && !a->ask->event && count > 1)
		a->event = 1;
	/* other collectors may have it */
	if (!a->event && store_fleet(a->store) && known) {
		a->unit = known->unit;
		a->is_level = known->is_level;
		return 0;
	}
	if (!a->event)
		return a->ask->event && count > 1 ? no_event(a, name, why) : 0;
	a->event_name = a->index->events[a->event].name;
	a->unit = a->index->events[a->event].unit;
	a->is_level = event_find(a->event_name, a->unit)->is_level;
	return 0;
}

static int found(void *context, const struct store_growing *film)
{
	(void)context;
	(void)film;
	return 1;
}

/*
 * The end of all that is there; of what grows it is now, and what the index knows is of some time
 * ago.
 */
static uint64_t end_of_all(const struct asked *a, const struct index_status *status)
{
	uint64_t now = clock_wall();

	return status->last && now > status->last &&
			       store_each_growing(a->store, UINT64_MAX, found, NULL)
		       ? now
		       : status->last + 1;
}

static int pick_time(struct asked *a, struct fail *why)
{
	struct index_status status;

	a->from = a->ask->from;
	a->to = a->ask->to;
	if (!a->from || !a->to) {
		index_status(a->index, &status);
		a->from = a->from ? a->from : status.first;
		a->to = a->to ? a->to : end_of_all(a, &status);
	}
	if (a->to > (uint64_t)INT64_MAX)
		a->to = INT64_MAX;
	if (a->from >= a->to) {
		if (a->ask->from && a->ask->to)
			return fail(why, -EINVAL, NULL,
				    "the time that is asked for ends before it begins");
		a->from = a->to;
	}
	a->first = a->from / NS_MINUTE;
	a->end = (a->to + NS_MINUTE - 1) / NS_MINUTE;
	if (a->end > 1ull << KEY_TIME_BITS)
		a->end = 1ull << KEY_TIME_BITS;
	if (a->first > a->end)
		a->first = a->end;
	return 0;
}

bool asked_service(const struct store_ask *ask, const char *service)
{
	return !ask->services || globs_match(ask->services, service);
}

bool asked_series(const struct store_ask *ask, const struct dictionary_series *series)
{
	if ((ask->host && strcmp(ask->host, series->host) != 0) ||
	    (ask->service && strcmp(ask->service, series->service) != 0) ||
	    (ask->version && strcmp(ask->version, series->version) != 0) ||
	    !asked_service(ask, series->service))
		return false;
	for (size_t i = 0; i < ask->label_count; i++)
		if (!film_labels_have(series->labels, ask->labels[i]))
			return false;
	return true;
}

int asked_begin(struct asked *asked, struct store *store, const struct store_ask *ask,
		struct fail *why)
{
	int err;

	*asked = (struct asked){.store = store, .index = store_index(store), .ask = ask};
	err = pick_event(asked, why);
	if (!err)
		err = pick_time(asked, why);
	if (err)
		return err;
	/* of what the index answers: whole minutes */
	asked->complete_until = store_complete_until(
		store, &(struct store_span){ask->host, asked->event_name, asked->first * NS_MINUTE,
					    asked->end * NS_MINUTE, false});
	asked->read_until =
		store_complete_until(store, &(struct store_span){ask->host, asked->event_name,
								 asked->from, asked->to, true});
	asked->one_service = !ask->host && !ask->version && !ask->label_count;
	return 0;
}

void asked_free(struct asked *asked)
{
	free(asked->kept);
	index_free(asked->index);
}

int asked_still(const struct asked *a, struct fail *why)
{
	return store_ask_is_gone(a->ask)
		       ? fail(why, -ECANCELED, NULL, "no client waits for the answer")
		       : 0;
}

/* names: those of functions, which the index knows but for the inlined ones. */
static bool is_beyond_index(const struct asked *a, bool names)
{
	const struct question *q = a->ask->question;
	struct filter filter;

	if (a->is_level || (a->event && a->index->events[a->event].is_calls))
		return true;
	if (!q)
		return false;
	filter = q->filter;
	if (!names)
		filter.focus = filter.ignore = NULL;
	return filter_is_set(&filter) || q->shape.by_process || q->shape.by_thread ||
	       q->shape.lines || q->shape.inlines || q->shape.native || q->shape.by_label ||
	       q->shape.by_endpoint || q->shape.by_wait || q->shape.by_waker || q->shape.by_lock ||
	       q->shape.by_holder || q->shape.by_cpu;
}

const struct sums_verbs *asked_sums(const struct asked *a, enum sums_what what, bool exact)
{
	return fleet_answers(a, what, exact) ? &fleet_sums : &index_sums;
}

bool asked_needs_films(const struct asked *a)
{
	return is_beyond_index(a, true);
}

bool asked_by_names(const struct asked *a)
{
	return is_beyond_index(a, true) && !is_beyond_index(a, false);
}

bool asked_is_late(const struct asked *a)
{
	return a->to - a->from <= LATE_TIME && a->complete_until + LATE < a->read_until;
}

bool asked_prefers_films(const struct asked *a)
{
	if (asked_is_late(a))
		return true;
	/* beyond an end that was not named is nothing that whole minutes would add */
	return a->to - a->from < SHORT_TIME &&
	       ((a->ask->from && a->from % NS_MINUTE) || (a->ask->to && a->to % NS_MINUTE));
}

int sum_add(struct store_sum *sum, uint64_t samples, uint64_t total, struct fail *why)
{
	sum->samples = add_saturated(sum->samples, samples);
	/* no part can overflow where the whole does not */
	if (__builtin_add_overflow(sum->total, total, &sum->total))
		return fail(why, -EOVERFLOW, "narrow the time",
			    "the samples add up to more than 64 bits");
	return 0;
}

static void add_to_steps(struct filmed_steps *steps, uint64_t first, uint64_t last)
{
	first = first > steps->from ? first - steps->from : 0;
	last = last > steps->from ? last - steps->from : 0;
	while (first < last) {
		size_t i = first / steps->step < steps->count ? (size_t)(first / steps->step)
							      : steps->count - 1;
		uint64_t end = i + 1 < steps->count ? (i + 1) * steps->step : last;

		end = end < last ? end : last;
		steps->at[i] += end - first;
		first = end;
	}
}

void filmed_add(struct filmed *filmed, uint64_t first, uint64_t last)
{
	first = first > filmed->until ? first : filmed->until;
	last = last < filmed->end ? last : filmed->end;
	if (first >= last)
		return;
	filmed->sum += last - first;
	if (filmed->steps)
		add_to_steps(filmed->steps, first, last);
	filmed->until = last;
}
