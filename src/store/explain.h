/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_EXPLAIN_H
#define STORE_EXPLAIN_H

#include "query/explain/answer.h"
#include "store/ask.h"

/*
 * Explains what is wanted of the newest film of the ask's time that has it, and calls emit() while
 * that film is open; its value is returned. -ENOENT with *why filled: no film of that time has the
 * lives of threads, or what is wanted of them.
 */
int store_explain(struct store *store, const struct store_ask *ask,
		  const struct explain_wanted *wanted,
		  int (*emit)(void *context, struct explainer *e,
			      const struct explain_answer *answer),
		  void *context, struct fail *why);

#endif
