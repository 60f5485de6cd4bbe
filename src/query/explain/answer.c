// SPDX-License-Identifier: Apache-2.0
#include "query/explain/answer.h"

#include <errno.h>
#include <stdlib.h>

/* With the groups of threads. 0 or a negative errno with *why filled. */
static int choose_threads(struct explain_answer *answer, struct explainer *e,
			  const struct filter *filter, const struct explain_wanted *wanted,
			  struct fail *why)
{
	size_t count;
	int err = explain_choose(e, filter, &answer->choices, &count, why);

	if (err)
		return err;
	if (!count)
		return fail(why, -ENOENT, NULL,
			    "nothing of the film matches: no thread is explained");
	answer->count = count < wanted->slowest ? count : wanted->slowest;
	err = explain_group(&answer->groups, e, answer->choices, count);
	return err ? fail_errno(why, err, NULL, "cannot explain the film") : 0;
}

/* The requests that are wanted, or else threads. 0 or a negative errno with *why filled. */
static int choose(struct explain_answer *answer, struct explainer *e, const struct filter *filter,
		  const struct explain_wanted *wanted, struct fail *why)
{
	answer->count = e->requests.wanted.count;
	if (answer->count)
		return 0;
	if (!explain_wants_requests(wanted))
		return choose_threads(answer, e, filter, wanted, why);
	if (requests_event(e->film))
		return fail(why, -ENOENT, "'stackcam report --format requests' lists them",
			    "the film has no such request");
	return fail(why, -ENOENT, "record with 'stackcam record -e requests,threads,on-cpu'",
		    "the film has no requests");
}

int explain_answer_make(struct explain_answer *answer, struct explainer *e,
			const struct filter *filter, const struct explain_wanted *wanted,
			struct fail *why)
{
	int err;

	*answer = (struct explain_answer){0};
	err = last_scenes_load(&answer->scenes, e, filter, why);
	if (!err)
		err = explain_lanes_load(&answer->lanes, e, filter, why);
	if (!err)
		err = choose(answer, e, filter, wanted, why);
	if (err) {
		answer->count = 0;
		return err;
	}
	answer->all = calloc(answer->count, sizeof(*answer->all));
	err = answer->all ? 0 : -ENOMEM;
	for (size_t i = 0; !err && i < answer->count; i++)
		err = answer->choices
			      ? explain_thread(e, answer->choices[i].thread, e->from, e->to, false,
					       &answer->all[i])
			      : explain_request(e, &e->requests.wanted.at[i], &answer->all[i]);
	if (!err)
		explain_mark_compared(answer->all, answer->count);
	return err ? fail_errno(why, err, NULL, "cannot explain the film") : 0;
}

void explain_answer_free(struct explain_answer *answer)
{
	for (size_t i = 0; answer->all && i < answer->count; i++)
		explanation_free(&answer->all[i]);
	free(answer->all);
	explain_groups_free(&answer->groups);
	explain_lanes_free(&answer->lanes);
	last_scenes_free(&answer->scenes);
	free(answer->choices);
}
