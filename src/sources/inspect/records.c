// SPDX-License-Identifier: Apache-2.0
/*
 * Beginnings and ends of calls to calls. A call whose beginning has come waits for its end; one
 * that begins in the same place of the same stack shows that it has ended unseen: by a panic, an
 * exception, or a jump out.
 */
#include <stdlib.h>
#include <string.h>

#include "sources/inspect/decode.h"
#include "sources/inspect/film.h"
#include "sources/inspect/state.h"

/* Whether a record is as long as it must be, and of a plan that there is. */
static bool is_whole(const struct inspect *inspect, const struct inspect_record *record)
{
	return record->head.size >= sizeof(*record) + INSPECT_REGISTER_BYTES &&
	       record->plan < inspect->plans.count;
}

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
	struct inspect_names names = inspect_names_of(
		inspect, function->image, record->ip - inspect->address_of_plan.at[record->plan]);
	struct inspect_contents taken = {
		.values = &inspect->images.at[function->image].values,
		.plan = &inspect->plans.at[record->plan],
		.limits = &inspect->options.limits,
		.redaction = &inspect->options.redaction,
		.bytes = (const uint8_t *)(record + 1),
		.size = record->head.size - (uint32_t)sizeof(*record),
		.bias = names.bias,
		.called = names.called ? inspect_called_name : NULL,
		.names = &names,
		.is_left = inspect->plans.at[record->plan].site == INSPECT_SITE_JUMP,
	};

	if (function->parts && !results)
		inspect_decode_parts(&taken, function->parts, inspect->options.part_count, tree);
	else
		inspect_decode(&taken, function->params, function->value.params, results, tree);
}

/* How a call came to be shown. */
struct ending {
	const struct inspect_record *record; /* null: its end was not seen, */
	struct inspect_film_end film;	     /* and this is what the film says */
};

void inspect_decode_record(const struct inspect *inspect, const struct inspect_record *record,
			   struct shown_tree *tree)
{
	uint32_t number = inspect->function_of_plan.at[record->plan];

	decode(inspect, record, &inspect->functions.at[number], false, tree);
}

static void show(struct inspect *inspect, const struct inspect_record *begin, uint64_t key,
		 const struct inspect_stack *stack, const struct ending *ending)
{
	uint32_t number = inspect->function_of_plan.at[begin->plan];
	const struct inspect_function *function = &inspect->functions.at[number];
	const struct inspect_record *end = ending->record;
	struct shown_tree *arguments = &inspect->arguments, *results = &inspect->results;
	char comm[sizeof(begin->identity.comm) + 1] = {0};
	struct inspected call = {
		.time = begin->head.time,
		.pid = begin->identity.pid,
		.tid = begin->identity.tid,
		.goroutine = begin->goroutine,
		.comm = comm,
		.function = function->name,
		.place = function->place ? function->place->text : NULL,
		.file = function->site ? function->site->file : NULL,
		.is_optimised = function->site && function->site->is_optimised,
		.line = function->place ? function->place->line.number : 0,
		.arguments = arguments,
		.results = results,
		.stack = stack ? stack->names : NULL,
		.stack_count = stack ? stack->count : 0,
		.has_end = end != NULL,
		.latency = end ? end->head.time - begin->head.time : 0,
	};

	if (inspect_is_done(inspect))
		return;
	memcpy(comm, begin->identity.comm, sizeof(begin->identity.comm));
	arguments->nodes.count = results->nodes.count = 0;
	arguments->failed = results->failed = false;
	decode(inspect, begin, function, false, arguments);
	if (end)
		decode(inspect, end, function, true, results);
	inspect->statistics.calls++;
	inspect->statistics.passes += function->site != NULL;
	inspect->statistics.unfinished += !end && !inspect->options.no_end && !function->site;
	if (inspect->film)
		inspect_film_end(inspect->film, begin, key, number, &ending->film, arguments,
				 end ? results : NULL);
	if (inspect->options.listener)
		inspect->options.listener(inspect->options.context, &call);
}

/* A call, or a pass of a line, of which only the beginning is looked at. */
static void show_beginning(struct inspect *inspect, const struct inspect_record *begin,
			   uint64_t key, const struct inspect_stack *stack)
{
	uint32_t number = inspect->function_of_plan.at[begin->plan];
	bool is_empty = inspect->functions.at[number].is_empty;
	struct ending ending = {
		.record = is_empty ? begin : NULL,
		.film = {begin->head.time, is_empty ? 0 : FILM_CALL_OPEN | FILM_CALL_BEGAN},
	};

	show(inspect, begin, key, stack, &ending);
}

/* One whose end was not seen, and that is known to be over, or not waited for any longer. */
static void show_unseen(struct inspect *inspect, const struct inspect_begun *begun, uint64_t key,
			uint64_t now, uint32_t flags)
{
	uint64_t start = begun->record->head.time;
	struct ending ending = {.film = {now > start ? now : start, flags}};

	show(inspect, begun->record, key, begun->stack, &ending);
}

static void show_ended(struct inspect *inspect, const struct inspect_begun *begun, uint64_t key,
		       const struct inspect_record *end)
{
	struct ending ending = {.record = end, .film = {end->head.time, 0}};

	show(inspect, begun->record, key, begun->stack, &ending);
}

static void free_begun(struct inspect_begun *begun)
{
	free(begun->record);
	free(begun->stack);
	*begun = (struct inspect_begun){0};
}

/* Pops a waiting call, for the caller to free. It has no record: there is none. */
static struct inspect_begun pop_pending(struct inspect *inspect, uint64_t key)
{
	const uint64_t *place = map_get(&inspect->pending_of, key);
	struct inspect_pending *pending;
	struct inspect_begun begun;

	if (!place)
		return (struct inspect_begun){0};
	pending = &inspect->pending.at[*place - 1];
	begun = pending->begun;
	pending->begun = (struct inspect_begun){0};
	pending->next_free = inspect->free_pending;
	inspect->free_pending = (uint32_t)*place;
	map_remove(&inspect->pending_of, key);
	return begun;
}

/* The stack belongs to it from then on. */
static void put_pending(struct inspect *inspect, uint64_t key, const struct inspect_record *record,
			struct inspect_stack *stack)
{
	struct inspect_record *copy = malloc(record->head.size);
	uint32_t place = inspect->free_pending;

	if (copy && !place && inspect->pending.count < INSPECT_OPEN_MAX &&
	    vec_push(&inspect->pending, (struct inspect_pending){0}))
		place = (uint32_t)inspect->pending.count;
	if (!copy || !place || !map_put(&inspect->pending_of, key, place)) {
		free(copy);
		inspect->statistics.lost_open++;
		show_beginning(inspect, record, key, stack);
		free(stack);
		return;
	}
	if (place == inspect->free_pending)
		inspect->free_pending = inspect->pending.at[place - 1].next_free;
	memcpy(copy, record, record->head.size);
	inspect->pending.at[place - 1] =
		(struct inspect_pending){.key = key, .begun = {copy, stack}};
	if (inspect->film)
		inspect_film_begin(inspect->film, record, key);
}

/* The stack that came for this record, for the caller to free. */
static struct inspect_stack *steal_stack(struct inspect *inspect,
					 const struct inspect_record *record)
{
	struct inspect_stack *stack = inspect->last;

	if (!stack || stack->time != record->head.time || stack->tid != record->identity.tid)
		return NULL;
	inspect->last = NULL;
	return stack;
}

void inspect_keep_stack(struct inspect *inspect, struct inspect_stack *stack)
{
	free(inspect->last);
	inspect->last = stack;
}

static void begin(struct inspect *inspect, const struct inspect_record *record, uint64_t key)
{
	struct inspect_begun before = pop_pending(inspect, key);

	if (before.record)
		show_unseen(inspect, &before, key, record->head.time, FILM_CALL_INFERRED);
	free_begun(&before);
	put_pending(inspect, key, record, steal_stack(inspect, record));
}

/* The call that waits there; null: none. */
static const struct inspect_record *look_pending(const struct inspect *inspect, uint64_t key)
{
	const uint64_t *place = map_get(&inspect->pending_of, key);

	return place ? inspect->pending.at[*place - 1].begun.record : NULL;
}

/*
 * An end says when its call began. Of calls in one place, the end of one and the beginning of the
 * next can be lost: what began earlier has ended unseen, what began later waits on.
 */
static void end(struct inspect *inspect, const struct inspect_record *record, uint64_t key)
{
	const struct inspect_record *waits = look_pending(inspect, key);
	uint64_t began = waits ? waits->head.time : UINT64_MAX;
	struct inspect_begun before;

	if (began != record->start)
		inspect->statistics.ends_alone++;
	if (began > record->start)
		return;
	before = pop_pending(inspect, key);
	if (began == record->start)
		show_ended(inspect, &before, key, record);
	else
		show_unseen(inspect, &before, key, record->start, FILM_CALL_INFERRED);
	free_begun(&before);
}

void inspect_handle(struct inspect *inspect, const struct inspect_record *record)
{
	struct inspect_stack *stack;
	uint64_t key;

	if (!is_whole(inspect, record)) {
		inspect->statistics.lost_other++;
		return;
	}
	if (inspect->options.traced) {
		inspect->statistics.calls++;
		inspect->options.traced->emit(inspect->options.traced->context, record);
		return;
	}
	key = key_of(record, inspect->function_of_plan.at[record->plan]);
	switch (inspect->plans.at[record->plan].site) {
	case INSPECT_SITE_ENTRY:
		begin(inspect, record, key);
		break;
	case INSPECT_SITE_ALONE:
		stack = steal_stack(inspect, record);
		show_beginning(inspect, record, key, stack);
		free(stack);
		break;
	default:
		end(inspect, record, key);
	}
}

static int compare_times(const void *a, const void *b)
{
	const struct inspect_pending *x = a, *y = b;
	uint64_t p = x->begun.record ? x->begun.record->head.time : UINT64_MAX;
	uint64_t q = y->begun.record ? y->begun.record->head.time : UINT64_MAX;

	return p < q ? -1 : p > q;
}

void inspect_finish(struct inspect *inspect, uint64_t now)
{
	if (inspect->pending.count)
		qsort(inspect->pending.at, inspect->pending.count, sizeof(*inspect->pending.at),
		      compare_times);
	vec_foreach (&inspect->pending, pending) {
		if (pending->begun.record)
			show_unseen(inspect, &pending->begun, pending->key, now, FILM_CALL_OPEN);
		free_begun(&pending->begun);
	}
	inspect->pending.count = 0;
	map_free(&inspect->pending_of);
	inspect->free_pending = 0;
}
