// SPDX-License-Identifier: Apache-2.0
/* What follows from an explanation, as far as its evidence answers that. */
#include <stdio.h>

#include "query/explain/peers.h"
#include "query/explain/pool.h"
#include "query/objects.h"
#include "query/requests.h"
#include "show/explain.h"

bool explain_is_unexplained(const struct explain_part *part)
{
	if (part->is_queue)
		return false;
	switch ((enum critical_end)part->ended) {
	case CRITICAL_HOLE:
	case CRITICAL_ABSENT:
	case CRITICAL_EARLIER:
	case CRITICAL_UNKNOWN:
	case CRITICAL_UNLINKED:
	case CRITICAL_SHARED:
		return !part->is_followed;
	default:
		return false;
	}
}

uint64_t explain_unexplained(const struct explanation *x)
{
	uint64_t sum = 0;

	vec_foreach (&x->parts, part)
		if (explain_is_unexplained(part))
			sum += part->duration;
	return sum;
}

/* A condition is what those wait for whose work others do. */
static struct explain_advice advise_of_condition(const struct explainer *e,
						 const struct explain_part *part)
{
	struct explain_advice advice = {"yes", ""};
	struct explain_pool pool;

	/* without memory it is not known */
	if (explain_pool_of(e, part, &pool) || !pool.threads)
		return (struct explain_advice){"unknown",
					       "the film does not say what else could run"};
	snprintf(advice.why, sizeof(advice.why),
		 "the pool of %u thread%s that ends such waits was full, and worked for %llu "
		 "other%s first",
		 pool.threads, pool.threads == 1 ? "" : "s", (unsigned long long)pool.before,
		 pool.before == 1 ? "" : "s");
	return advice;
}

static struct explain_advice advise_of_wait(const struct explainer *e, const struct explanation *x,
					    const struct explain_part *part)
{
	const struct slice *slice = &e->histories.slices[part->slice];

	if (part->ended == CRITICAL_CYCLE || part->ended == CRITICAL_OPEN)
		return (struct explain_advice){"no", "they would wait, too"};
	switch (slice_wait_class(part->kind)) {
	case WAIT_LOCK:
		if (part->lock || !slice_is_for_condition(slice))
			return (struct explain_advice){"no", "they would wait for the same lock"};
		return advise_of_condition(e, part);
	case WAIT_DISK:
	case WAIT_FAULT:
		return (struct explain_advice){"no", "they would wait for the same disk"};
	case WAIT_SLEEP:
		/* an event loop may have slept for another request */
		if (part->thread == x->thread && explain_others(e, x).count)
			return (struct explain_advice){
				"unknown",
				"its thread served others, too, and may have slept for one "
				"of them"};
		return (struct explain_advice){"no", "the program waits as long as it wants to"};
	default:
		break;
	}
	return (struct explain_advice){"unknown", "the film does not say what else could run"};
}

/* Whether it is a wait for the answer of a service of which the film has what that one spent. */
static bool leads_on(const struct explain_part *part)
{
	return part->is_call && part->first;
}

/* Whether it is of the explained one itself, or what a service spent that was asked for it. */
static bool is_spent(const struct explanation *x, const struct explain_part *part)
{
	while (part->parent) {
		part = &x->parts.at[part->parent - 1];
		if (!leads_on(part))
			return false;
	}
	return true;
}

/* A thread that is not explained for a request, and has no work, delays nothing. */
static bool is_for_work(const struct explanation *x, const struct explain_part *part)
{
	return !x->request && part->ended == CRITICAL_IDLE &&
	       slice_wait_class(part->kind) != WAIT_STOPPED;
}

uint64_t explain_without_work(const struct explanation *x)
{
	uint64_t sum = 0;

	vec_foreach (&x->parts, part)
		if (!part->parent && is_for_work(x, part))
			sum += part->duration;
	return sum;
}

uint64_t explain_perhaps_answers(const struct explainer *e, const struct explanation *x)
{
	uint64_t sum = 0;

	if (requests_event(e->film))
		return 0;
	vec_foreach (&x->parts, part) {
		uint32_t object =
			part->slice == HISTORY_NONE ? 0 : e->histories.slices[part->slice].object;

		if (!part->parent && is_for_work(x, part) &&
		    explain_seems_opened(object_name(e->film, object)))
			sum += part->duration;
	}
	return sum;
}

const struct explain_part *explain_cause(const struct explanation *x)
{
	const struct explain_part *cause = NULL;

	vec_foreach (&x->parts, part)
		if (!leads_on(part) && (!cause || part->duration > cause->duration) &&
		    is_spent(x, part) && !is_for_work(x, part))
			cause = part;
	return cause;
}

struct explain_advice explain_advise(const struct explainer *e, const struct explanation *x)
{
	const struct explain_part *part = explain_cause(x);

	if (!part && explain_without_work(x))
		return (struct explain_advice){"no", "there was no work"};
	if (part && part->is_queue)
		return (struct explain_advice){"yes", "it waited for one that served others"};
	if (part && (part->ended == CRITICAL_SENT || part->ended == CRITICAL_ANSWERED))
		return (struct explain_advice){"unknown",
					       "the film does not say why it was not received"};
	if (!part || part->slice == HISTORY_NONE || explain_is_unexplained(part))
		return (struct explain_advice){"unknown", "most of the time is not explained"};
	if (part->ended == CRITICAL_READY &&
	    histories_is_lane(&e->histories, e->histories.slices[part->slice].thread))
		return (struct explain_advice){"unknown",
					       "the film does not say what its threads lacked"};
	if (part->ended == CRITICAL_READY && explain_is_throttled(part))
		return (struct explain_advice){"no", "the limit is one of all threads"};
	if (part->ended == CRITICAL_READY)
		return (struct explain_advice){"no", "they would wait for the same CPUs"};
	if (slice_is_wait(part->kind))
		return advise_of_wait(e, x, part);
	return (struct explain_advice){"unknown",
				       "the film does not say whether the work can be shared"};
}
