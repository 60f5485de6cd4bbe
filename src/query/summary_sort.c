// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "query/summary.h"

struct sorting {
	enum summary_order order;
	bool is_reversed;
};

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_names(const struct summary_finding *a, const struct summary_finding *b)
{
	int order = strcmp(a->subject, b->subject);

	return order ? order : strcmp(a->detail, b->detail);
}

static int compare(const void *left, const void *right, void *context)
{
	const struct summary_finding *a = left, *b = right;
	const struct sorting *sorting = context;
	int order = 0;

	switch (sorting->order) {
	case SUMMARY_BY_NAME:
		order = compare_names(a, b);
		break;
	case SUMMARY_BY_COUNT:
		order = compare_u64(b->count, a->count);
		break;
	case SUMMARY_BY_LONGEST:
		order = compare_u64(b->longest, a->longest);
		break;
	default:
		break;
	}
	if (!order)
		order = compare_u64(b->value, a->value);
	if (!order)
		order = compare_names(a, b);
	return sorting->is_reversed ? -order : order;
}

static bool stand_together(const struct summary_finding *a, const struct summary_finding *b)
{
	return a->kind == b->kind && a->event == b->event;
}

void summary_sort(struct summary *summary, enum summary_order order, bool is_reversed)
{
	struct sorting sorting = {order, is_reversed};
	struct summary_finding *all = summary->findings.at;
	size_t end;

	for (size_t first = 0; first < summary->findings.count; first = end) {
		for (end = first + 1; end < summary->findings.count; end++)
			if (!stand_together(&all[first], &all[end]))
				break;
		qsort_r(&all[first], end - first, sizeof(*all), compare, &sorting);
	}
}

const char *summary_order_name(enum summary_order order)
{
	static const char *const names[SUMMARY_ORDERS] = {
		[SUMMARY_BY_VALUE] = "value",
		[SUMMARY_BY_NAME] = "name",
		[SUMMARY_BY_COUNT] = "count",
		[SUMMARY_BY_LONGEST] = "longest",
	};

	return names[order];
}
