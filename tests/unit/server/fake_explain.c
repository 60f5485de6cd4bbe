// SPDX-License-Identifier: Apache-2.0
/* The part of the store without films that explains: nothing, as there are none. */
#include <errno.h>

#include "fake_store.h"
#include "store/explain.h"

int store_explain(struct store *store, const struct store_ask *ask,
		  const struct explain_wanted *wanted,
		  int (*emit)(void *context, struct explainer *e,
			      const struct explain_answer *answer),
		  void *context, struct fail *why)
{
	(void)store;
	(void)ask;
	(void)wanted;
	(void)emit;
	(void)context;
	return fail(why, -ENOENT, NULL, "no film has the lives of threads");
}
