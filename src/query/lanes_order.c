// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "base/saturated.h"
#include "query/lanes.h"

/* A lane, and what all lanes of its process ran. */
struct ranked {
	const struct lane *lane;
	uint64_t process;
};

static int by_number(const void *a, const void *b)
{
	const struct lane *x = ((const struct ranked *)a)->lane;
	const struct lane *y = ((const struct ranked *)b)->lane;
	int order = x->pid != y->pid ? (x->pid < y->pid ? -1 : 1) : strcmp(x->host, y->host);

	return order || x->tid == y->tid ? order : (x->tid < y->tid ? -1 : 1);
}

static uint64_t ran_of(const struct lane *lane)
{
	return lane->ns[lane->is_goroutine ? SLICE_RUNNING : SLICE_ON_CPU];
}

static int by_time_on_cpu(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	uint64_t ran = ran_of(x->lane), other = ran_of(y->lane);

	if (x->process != y->process)
		return x->process > y->process ? -1 : 1;
	/* of several processes that ran as long, each stays together */
	if (x->lane->pid != y->lane->pid || strcmp(x->lane->host, y->lane->host) != 0)
		return by_number(a, b);
	/* goroutines come behind all threads */
	if (x->lane->is_goroutine != y->lane->is_goroutine)
		return x->lane->is_goroutine ? 1 : -1;
	return ran != other ? (ran > other ? -1 : 1) : by_number(a, b);
}

static bool is_same_process(const struct lane *a, const struct lane *b)
{
	return a->pid == b->pid && !strcmp(a->host, b->host);
}

static void add_up_processes(struct ranked *all, size_t count)
{
	for (size_t i = 0, end; i < count; i = end) {
		uint64_t sum = 0;

		for (end = i; end < count && is_same_process(all[i].lane, all[end].lane); end++)
			sum = add_saturated(sum, all[end].lane->ns[SLICE_ON_CPU]);
		while (i < end)
			all[i++].process = sum;
	}
}

const struct lane **lanes_in_order(const struct lanes *lanes)
{
	size_t count = lanes->all.count;
	struct ranked *all = calloc(count + 1, sizeof(*all));
	const struct lane **order = calloc(count + 1, sizeof(const struct lane *));

	if (!all || !order) {
		free(all);
		free(order);
		return NULL;
	}
	for (size_t i = 0; i < count; i++)
		all[i].lane = &lanes->all.at[i];
	qsort(all, count, sizeof(*all), by_number);
	add_up_processes(all, count);
	qsort(all, count, sizeof(*all), by_time_on_cpu);
	for (size_t i = 0; i < count; i++)
		order[i] = all[i].lane;
	free(all);
	return order;
}
