/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_ANSWER_H
#define QUERY_EXPLAIN_ANSWER_H

#include "query/explain/explain.h"
#include "query/explain/lanes.h"
#include "query/explain/groups.h"
#include "query/last_scene.h"

/* What a reader asks a film to explain, and the whole answer. */
struct explain_answer {
	struct explain_choice
		*choices; /* the threads, of which the first are explained; null: requests are */
	struct last_scenes scenes;    /* of processes that died of a signal */
	struct explain_lanes lanes;   /* for every question */
	struct explain_groups groups; /* of threads; none where requests are explained */
	struct explanation *all;
	size_t count;
};

/*
 * Explains the requests that the explainer was made for. Where it was made for none, or the film
 * has none and no certain one is wanted: the threads that ran or waited most, at most
 * wanted->slowest of them. 0, or a negative errno with *why filled: -ENOENT if nothing matches. To
 * be freed in either case.
 */
int explain_answer_make(struct explain_answer *answer, struct explainer *e,
			const struct filter *filter, const struct explain_wanted *wanted,
			struct fail *why);
void explain_answer_free(struct explain_answer *answer);

/* Whether certain requests are wanted, not just any. */
static inline bool explain_wants_requests(const struct explain_wanted *wanted)
{
	return wanted->id || wanted->endpoint;
}

#endif
