// SPDX-License-Identifier: Apache-2.0
#include "query/explain/wanted.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>

#include "base/map.h"
#include "query/roles.h"

static bool matches(const struct explain_wanted *wanted, const uint8_t *threads, bool includes_made,
		    const struct request *request)
{
	if (request->row.role != FILM_REQUEST_SERVED && !wanted->id && !includes_made)
		return false;
	if (!threads[request->row.thread] && !threads[request->row.answerer])
		return false;
	if (wanted->id && !request_has_id(request, wanted->id))
		return false;
	return !wanted->endpoint || !fnmatch(wanted->endpoint, request->endpoint, 0);
}

int explain_candidates_init(struct explain_candidates *candidates, const struct film *film)
{
	return roles_of_frames(film, roles_bit(FILM_ROLE_FOR_WORK), &candidates->roles);
}

bool explain_candidates_add(struct explain_candidates *candidates,
			    const struct explain_wanted *wanted, const uint8_t *threads,
			    bool includes_made, const struct request *request)
{
	const struct explain_candidate candidate = {
		.number = request->row.number,
		.end = request->row.end,
		.duration = request->row.duration,
		.is_for_work = candidates->roles[request->row.endpoint] >> FILM_ROLE_FOR_WORK & 1,
		.is_made = request->row.role != FILM_REQUEST_SERVED && !wanted->id,
	};

	/* nothing passes in no time */
	return !candidate.duration || !matches(wanted, threads, includes_made, request) ||
	       vec_push(&candidates->all, candidate);
}

/* Those that were served for another one of them, by number. */
static bool find_inner(const struct explain_candidates *candidates,
		       const struct explain_requests *requests, struct map *inner)
{
	struct map known = {0};
	bool done = true;

	vec_foreach (&candidates->all, candidate)
		done = done && map_put(&known, candidate->number, 0);
	vec_foreach (&requests->made, made) {
		const struct explain_served *served =
			done && made->parent && map_get(&known, made->parent)
				? explain_served_of(requests, made)
				: NULL;

		if (served)
			done = done && map_put(inner, served->number, 0);
	}
	map_free(&known);
	return done;
}

struct choosing {
	vec(struct explain_candidate) slowest; /* in order: there are few */
	size_t most;
	struct explain_requests *requests;
	uint64_t number;
};

static bool comes_before(const struct explain_candidate *a, const struct explain_candidate *b)
{
	return a->is_for_work != b->is_for_work ? b->is_for_work : a->duration > b->duration;
}

static bool keep(struct choosing *c, const struct explain_candidate *candidate)
{
	size_t at;

	if (c->slowest.count == c->most &&
	    (!c->most || !comes_before(candidate, vec_last(&c->slowest))))
		return true;
	if (c->slowest.count == c->most)
		c->slowest.count--;
	if (!vec_push(&c->slowest, *candidate))
		return false;
	for (at = c->slowest.count - 1; at && comes_before(candidate, &c->slowest.at[at - 1]); at--)
		c->slowest.at[at] = c->slowest.at[at - 1];
	c->slowest.at[at] = *candidate;
	return true;
}

/* The film is read once more for a request that was chosen, at the one ns at which it ended. */
static int fetch(void *context, const struct request *request)
{
	struct choosing *c = context;

	if (request->row.number != c->number)
		return 0;
	return vec_push(&c->requests->wanted, *request) ? 1 : -ENOMEM;
}

int explain_candidates_choose(const struct explain_candidates *candidates,
			      const struct explain_wanted *wanted, struct film *film,
			      struct explain_requests *requests, struct fail *why)
{
	struct choosing c = {.most = wanted->slowest, .requests = requests};
	struct map inner = {0};
	bool any_served = false;
	int err = wanted->id || find_inner(candidates, requests, &inner) ? 0 : -ENOMEM;

	vec_foreach (&candidates->all, candidate)
		any_served |= !candidate->is_made;
	vec_foreach (&candidates->all, candidate)
		if (!err && !(any_served && candidate->is_made) &&
		    !map_get(&inner, candidate->number) && !keep(&c, candidate))
			err = -ENOMEM;
	if (err)
		fail_errno(why, err, NULL, "cannot read the requests");
	vec_foreach (&c.slowest, candidate) {
		if (err)
			break;
		c.number = candidate->number;
		err = requests_each(film, candidate->end, candidate->end + 1, fetch, &c, why);
		err = err == 1 ? 0 : err;
	}
	vec_free(&c.slowest);
	map_free(&inner);
	return err;
}

void explain_candidates_free(struct explain_candidates *candidates)
{
	vec_free(&candidates->all);
	free(candidates->roles);
}
