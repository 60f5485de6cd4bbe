/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_VALUES_H
#define STORE_VALUES_H

#include "query/values.h"
#include "store/ask.h"

/* A call with its values, of one of a store's films. */
struct store_valued {
	const struct film *film;
	const char *host;
	const struct valued_call *call;
};

/*
 * Calls emit() with the calls with values of an ask, film by film, in order of their end; a value
 * of emit() other than 0 ends it and is returned. *sum: of the answer. Returns 0 or a negative
 * errno with *why filled.
 */
int store_values(struct store *store, const struct store_ask *ask, struct store_sum *sum,
		 int (*emit)(void *context, const struct store_valued *one), void *context,
		 struct fail *why);

#endif
