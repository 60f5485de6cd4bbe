// SPDX-License-Identifier: Apache-2.0
/* What was done for one request: most films of a time do not have it. */
#include <errno.h>

#include "query/requests.h"
#include "store/ask_private.h"

int asked_view(const struct ask_film *of, enum view_group group, struct view *view,
	       struct asked_request *request, bool *has, struct fail *why)
{
	const char *wanted = of->question->filter.request;
	int err = 0;

	*has = !wanted || requests_event(of->film);
	if (*has)
		err = view_open(of->film, of->question, group, view, why);
	if (wanted && err == -ENOENT) {
		*has = false;
		return 0;
	}
	if (!err && *has && wanted) {
		request->films++;
		request->others += view->others;
		request->unplaced += view->unplaced;
		request->unlinked |= view->unlinked;
	}
	return err;
}

int asked_request_check(const struct asked_request *request, const struct store_ask *ask,
			const struct store_sum *sum, struct fail *why)
{
	const char *wanted = ask->question ? ask->question->filter.request : NULL;

	if (!wanted || request->films)
		return 0;
	if (sum->films_unread || sum->films_damaged)
		return fail(why, -ENOENT, "ask for a shorter time",
			    "not all films of this time could be read, and those that were do not "
			    "have the request '%.64s'",
			    wanted);
	return fail(why, -ENOENT, NULL, "no film of this time has the request '%.64s'", wanted);
}
