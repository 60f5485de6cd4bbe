// SPDX-License-Identifier: Apache-2.0
#include "query/device_losses.h"

#include <stdlib.h>

static int by_process_and_start(const void *left, const void *right)
{
	const struct device_loss *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

void device_losses_join(struct device_losses *losses)
{
	size_t count = 0;

	if (losses->all.count)
		qsort(losses->all.at, losses->all.count, sizeof(*losses->all.at),
		      by_process_and_start);
	vec_foreach (&losses->all, loss) {
		struct device_loss *before = count ? &losses->all.at[count - 1] : NULL;

		if (!before || before->process != loss->process || before->end < loss->start)
			losses->all.at[count++] = *loss;
		else if (before->end < loss->end)
			before->end = loss->end;
	}
	losses->all.count = count;
}

const struct device_loss *device_losses_of(const struct device_losses *losses, uint32_t process,
					   size_t *count)
{
	size_t first = 0, end;

	while (first < losses->all.count && losses->all.at[first].process < process)
		first++;
	for (end = first; end < losses->all.count && losses->all.at[end].process == process;)
		end++;
	*count = end - first;
	return *count ? &losses->all.at[first] : NULL;
}

void device_losses_free(struct device_losses *losses)
{
	vec_free(&losses->all);
}
