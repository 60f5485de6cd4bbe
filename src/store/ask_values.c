// SPDX-License-Identifier: Apache-2.0
/* Calls with their arguments and results, one by one: the films alone have them. */
#include "film/events.h"
#include "store/ask_private.h"
#include "store/values.h"

struct emitter {
	const struct ask_film *of;
	struct store_sum *sum;
	int (*emit)(void *context, const struct store_valued *one);
	void *context;
	uint64_t count;
	struct fail *why;
};

static int emit_call(void *context, const struct valued_call *call)
{
	struct emitter *t = context;
	const struct store_valued one = {t->of->film, t->of->host, call};

	t->count++;
	return t->emit(t->context, &one);
}

static int emit_film(void *context, const struct ask_film *of)
{
	struct emitter *t = context;
	/* borrowed, not to be freed */
	const struct question question = {.filter = of->question->filter};
	uint64_t before = t->count, broken;
	int err;

	t->of = of;
	err = values_each(of->film, &question, emit_call, t, &broken, t->why);
	return err ? err : sum_add(t->sum, t->count - before, 0, t->why);
}

int store_values(struct store *store, const struct store_ask *ask, struct store_sum *sum,
		 int (*emit_one)(void *context, const struct store_valued *one), void *context,
		 struct fail *why)
{
	struct emitter t = {.sum = sum, .emit = emit_one, .context = context, .why = why};
	struct store_ask own = *ask;
	struct asked asked = {0};
	int err;

	own.event = event_type(EVENT_CALLS)->name;
	err = asked_begin(&asked, store, &own, why);
	if (!err)
		err = ask_films(&asked, film_open, sum, emit_film, &t, why);
	asked_free(&asked);
	return err;
}
