/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_DEVICE_H
#define QUERY_EXPLAIN_DEVICE_H

#include "query/explain/explain.h"

/* That a device ran something while a thread waited for it in a part. */
struct explain_worked {
	struct device_work work; /* within the wait */
	uint32_t part;		 /* its place */
};

struct explain_workeds {
	struct explain_worked *at;
	size_t count, room;
};

/*
 * Adds what a device ran for which the thread of a slice, which is a wait, waited in [from, to). 0
 * or -ENOMEM.
 */
int explain_device_add(const struct explainer *e, const struct slice *slice, uint64_t from,
		       uint64_t to, struct explain_workeds *all, uint32_t part);

/* Keeps the longest of them in each part of an explanation. */
void explain_device_sum(struct explain_workeds *all, struct explanation *x);

#endif
