// SPDX-License-Identifier: Apache-2.0
/*
 * Beginnings and ends of calls to calls. A call whose beginning has come waits for its end; one
 * that begins in the same place of the same stack shows that it has ended unseen: by a panic, an
 * exception, or a jump out of it.
 */
#include <stdlib.h>
#include <string.h>

#include "camera/inspect_decode.h"
#include "camera/inspect_state.h"

static uint64_t key_of(const struct inspect_record *record, uint32_t function)
{
	struct {
		uint64_t thread, frame;
		uint32_t pid, function;
	} key = {record->goroutine ? record->goroutine : record->identity.tid, record->frame,
		 record->identity.pid, function};

	return hash_bytes(&key, sizeof(key));
}

static void decode(const struct inspect *inspect, const struct inspect_record *record,
		   const struct inspect_function *function, bool results, struct shown_tree *tree)
{
	struct inspect_taken taken = {
		.values = &inspect->images.at[function->image].values,
		.plan = &inspect->plans.at[record->plan],
		.limits = &inspect->options.limits,
		.redaction = &inspect->options.redaction,
		.bytes = (const uint8_t *)(record + 1),
		.size = record->head.size - (uint32_t)sizeof(*record),
		.bias = record->ip - inspect->address_of_plan.at[record->plan],
		.is_left = inspect->plans.at[record->plan].site == INSPECT_SITE_JUMP,
	};

	inspect_decode(&taken, function->params, function->value.params, results, tree);
}

static void show(struct inspect *inspect, const struct inspect_record *begin,
		 const struct inspect_record *end)
{
	const struct inspect_function *function =
		&inspect->functions.at[inspect->function_of_plan.at[begin->plan]];
	struct shown_tree arguments = {0}, results = {0};
	char comm[sizeof(begin->identity.comm) + 1] = {0};
	struct inspected call = {
		.time = begin->head.time,
		.pid = begin->identity.pid,
		.tid = begin->identity.tid,
		.goroutine = begin->goroutine,
		.comm = comm,
		.function = function->name,
		.arguments = &arguments,
		.results = &results,
		.has_end = end != NULL,
		.latency = end ? end->head.time - begin->head.time : 0,
	};

	if (inspect_is_done(inspect))
		return;
	memcpy(comm, begin->identity.comm, sizeof(begin->identity.comm));
	decode(inspect, begin, function, false, &arguments);
	if (end)
		decode(inspect, end, function, true, &results);
	inspect->statistics.calls++;
	inspect->statistics.unfinished += !end && !inspect->options.no_end;
	inspect->options.listener(inspect->options.context, &call);
	vec_free(&arguments.nodes);
	vec_free(&results.nodes);
}

/* Takes a waiting call out; the caller frees it. Null: there is none. */
static struct inspect_record *take_pending(struct inspect *inspect, uint64_t key)
{
	const uint64_t *place = map_get(&inspect->pending_of, key);
	struct inspect_pending *pending;
	struct inspect_record *record;

	if (!place)
		return NULL;
	pending = &inspect->pending.at[*place - 1];
	record = pending->record;
	pending->record = NULL;
	pending->next_free = inspect->free_pending;
	inspect->free_pending = (uint32_t)*place;
	map_remove(&inspect->pending_of, key);
	return record;
}

static void put_pending(struct inspect *inspect, uint64_t key, const struct inspect_record *record)
{
	struct inspect_record *copy = malloc(record->head.size);
	uint32_t place = inspect->free_pending;

	if (copy && !place && inspect->pending.count < INSPECT_OPEN_MAX &&
	    vec_push(&inspect->pending, (struct inspect_pending){0}))
		place = (uint32_t)inspect->pending.count;
	if (!copy || !place || !map_put(&inspect->pending_of, key, place)) {
		free(copy);
		inspect->statistics.lost_open++;
		show(inspect, record, NULL);
		return;
	}
	if (place == inspect->free_pending)
		inspect->free_pending = inspect->pending.at[place - 1].next_free;
	memcpy(copy, record, record->head.size);
	inspect->pending.at[place - 1] = (struct inspect_pending){.key = key, .record = copy};
}

static void begin(struct inspect *inspect, const struct inspect_record *record, uint64_t key)
{
	struct inspect_record *before = take_pending(inspect, key);

	if (before)
		show(inspect, before, NULL);
	free(before);
	put_pending(inspect, key, record);
}

void inspect_take(struct inspect *inspect, const struct inspect_record *record)
{
	struct inspect_record *before;
	uint64_t key;

	if (record->head.size < sizeof(*record) + INSPECT_REGISTER_BYTES ||
	    record->plan >= inspect->plans.count) {
		inspect->statistics.lost_other++;
		return;
	}
	key = key_of(record, inspect->function_of_plan.at[record->plan]);
	switch (inspect->plans.at[record->plan].site) {
	case INSPECT_SITE_ENTRY:
		begin(inspect, record, key);
		break;
	case INSPECT_SITE_ALONE:
		show(inspect, record, NULL);
		break;
	default:
		before = take_pending(inspect, key);
		if (before)
			show(inspect, before, record);
		else
			inspect->statistics.ends_alone++;
		free(before);
	}
}

static int compare_times(const void *a, const void *b)
{
	const struct inspect_pending *x = a, *y = b;
	uint64_t p = x->record ? x->record->head.time : UINT64_MAX;
	uint64_t q = y->record ? y->record->head.time : UINT64_MAX;

	return p < q ? -1 : p > q;
}

void inspect_finish(struct inspect *inspect)
{
	if (inspect->pending.count)
		qsort(inspect->pending.at, inspect->pending.count, sizeof(*inspect->pending.at),
		      compare_times);
	vec_foreach (&inspect->pending, pending) {
		if (pending->record)
			show(inspect, pending->record, NULL);
		free(pending->record);
		pending->record = NULL;
	}
	inspect->pending.count = 0;
	map_free(&inspect->pending_of);
	inspect->free_pending = 0;
}
