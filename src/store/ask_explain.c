// SPDX-License-Identifier: Apache-2.0
/* Why something took as long as it did: one film has all that it takes to say it. */
#include <errno.h>

#include "film/events.h"
#include "store/ask_private.h"
#include "store/explain.h"

struct explaining {
	const struct explain_wanted *wanted;
	int (*emit)(void *context, struct explainer *e, const struct explain_answer *answer);
	void *context;
	bool is_done;
	/* at films with the lives of threads, and at some with requests; why has what they lack */
	bool has_looked, has_requests;
	int err; /* of emit() */
	struct fail *why;
};

static int explain_film(void *context, const struct ask_film *of)
{
	struct explaining *t = context;
	const struct filter *filter = &of->question->filter;
	struct explain_answer answer = {0};
	struct explainer e;
	int err;

	if (t->is_done || !film_has_turns(of->film, of->event))
		return 0;
	err = explainer_init(&e, of->film, filter,
			     explain_wants_requests(t->wanted) ? t->wanted : NULL, t->why);
	if (!err)
		err = explain_answer_make(&answer, &e, filter, t->wanted, t->why);
	if (!err) {
		t->is_done = true;
		t->err = t->emit(t->context, &e, &answer);
	}
	explain_answer_free(&answer);
	explainer_free(&e);
	t->has_looked = true;
	t->has_requests |= requests_event(of->film) != 0;
	/* another film may have it */
	return err == -ENOENT ? 0 : err;
}

int store_explain(struct store *store, const struct store_ask *ask,
		  const struct explain_wanted *wanted,
		  int (*emit)(void *context, struct explainer *e,
			      const struct explain_answer *answer),
		  void *context, struct fail *why)
{
	struct explaining t = {.wanted = wanted, .emit = emit, .context = context, .why = why};
	struct store_ask own = *ask;
	struct asked asked = {0};
	struct store_sum sum = {0};
	int err;

	own.event = event_type(EVENT_THREADS)->name;
	err = asked_begin(&asked, store, &own, why);
	if (!err)
		err = ask_films(&asked, film_open, &sum, explain_film, &t, why);
	asked_free(&asked);
	if (err || t.is_done)
		return err ? err : t.err;
	if (sum.films_unread || sum.films_damaged)
		return fail(why, -ENOENT, "ask for a shorter time",
			    "not all films of this time could be read, and those that were do not "
			    "have it");
	if (t.has_requests && explain_wants_requests(wanted))
		return fail(why, -ENOENT, "'stackcam report --format requests' lists them",
			    "no film of this time has such a request");
	if (t.has_looked)
		return -ENOENT;
	return fail(why, -ENOENT, "'stackcam record -e requests,threads,on-cpu' records them",
		    "no film of this time has the lives of the threads that are asked for");
}
