// SPDX-License-Identifier: Apache-2.0
/*
 * trace --args: what calls were given, and what they have returned. inspect takes the former right
 * behind the beginning of each call, for the call that the tracer has just seen begin
 * (find_traced() in bpf/inspect/calls.h), the tracer the latter when it sees the return
 * (bpf/calls/results.h): its track, its depth and its start say which call it is. Both wait here
 * until the record of the call's end has come.
 */
#include <stdlib.h>
#include <string.h>

#include "sources/calls/state.h"
#include "sources/inspect/inspect.h"
#include "resolve/value_rows.h"

#define WAITING_MAX 65536 /* of all tracks */

uint32_t calls_first_function(void)
{
	return CALLS_COST_FUNCTIONS;
}

void calls_set_inspect(struct calls *calls, const struct inspect *inspect)
{
	calls->inspect = inspect;
}

/* The tracer's number of a function as its plan's. */
static uint32_t in_plan(uint32_t function)
{
	return function - CALLS_COST_FUNCTIONS;
}

static bool has_returned(const struct calls_record *record)
{
	return !(record->flags & (CALLS_INFERRED | CALLS_OPEN));
}

bool calls_args_expected(const struct calls *calls, uint32_t function)
{
	return calls->inspect && inspect_has(calls->inspect, in_plan(function));
}

void calls_args_release(struct calls *calls, struct calls_track_row *track)
{
	if (!track->has_held)
		return;
	track->has_held = false;
	track->held.comm = track->comm;
	calls->options.listener(calls->options.context, &track->held);
}

/* A call that has begun, or ended, and so shows what became of others of its track. */
struct calls_ends {
	uint64_t start, end;
	uint32_t depth;
};

/*
 * Of calls of a track, the kernel side reports what has ended in the order of the ends. So when one
 * has, those that it has made, and those that were over when it began, have either been reported,
 * or are not kept (--min-time).
 */
static bool is_over_by_end(const struct calls *calls, const struct calls_values *given,
			   const struct calls_ends *by)
{
	(void)calls;
	/* those that began later wait for records that have not come */
	return given->start <= by->end && (given->start >= by->start || given->depth >= by->depth);
}

/* Another one begins: so this one is over, and was too short to be reported. */
static bool is_over_by_begin(const struct calls *calls, const struct calls_values *given,
			     const struct calls_ends *by)
{
	return given->depth >= by->depth && by->start - given->start < calls->options.shortest;
}

/* Drops what waits of a track, and is over. */
static void drop(struct calls *calls, struct calls_track_row *track, const struct calls_ends *by,
		 bool (*is_over)(const struct calls *calls, const struct calls_values *given,
				 const struct calls_ends *by))
{
	size_t kept = 0;

	vec_foreach (&track->given, given) {
		if (is_over(calls, given, by)) {
			free(given->record);
			free(given->result);
			calls->given--;
			continue;
		}
		track->given.at[kept++] = *given;
	}
	track->given.count = kept;
}

static void hear(struct calls *calls, struct calls_track_row *track,
		 const struct inspect_record *record)
{
	struct shown_tree tree = {0};

	if (!track->has_held || track->held.time != record->start)
		return;
	inspect_decode_record(calls->inspect, record, &tree);
	if (!tree.failed)
		track->held.values = &tree;
	calls_args_release(calls, track);
	vec_free(&tree.nodes);
}

static struct calls_values *given_of(struct calls_track_row *track, uint64_t start, uint32_t depth)
{
	for (size_t i = track->given.count; i; i--) {
		struct calls_values *given = &track->given.at[i - 1];

		if (given->start == start && given->depth == depth)
			return given;
	}
	return NULL;
}

/* Of the call that a record is of; null: there is no room. */
static struct calls_values *need_given(struct calls *calls, struct calls_track_row *track,
				       const struct inspect_record *record)
{
	struct calls_values *given = given_of(track, record->start, record->depth);

	if (given)
		return given;
	if (calls->given >= WAITING_MAX ||
	    !vec_push(&track->given,
		      (struct calls_values){record->start, record->depth, NULL, NULL}))
		return NULL;
	calls->given++;
	return vec_last(&track->given);
}

/* False: no memory. One that has come before is replaced. */
static bool copy_record(struct inspect_record **to, const struct inspect_record *record)
{
	free(*to);
	*to = malloc(record->head.size);
	if (*to)
		memcpy(*to, record, record->head.size);
	return *to != NULL;
}

static void add_results(struct calls *calls, struct calls_track_row *track,
			const struct inspect_record *record)
{
	struct calls_values *given = need_given(calls, track, record);

	if (!given || !copy_record(&given->result, record))
		calls->args_lost++;
}

void calls_args_add(void *context, const struct inspect_record *record)
{
	struct calls *calls = context;
	struct calls_track_row *track = calls_tracks_row(&calls->tracks, record->track);
	const struct calls_ends by = {record->start, record->start, record->depth};
	struct calls_values *given;

	if (!calls->inspect || !track || track->unwanted)
		return;
	if (record->end != INSPECT_BEGINS) {
		add_results(calls, track, record);
		return;
	}
	if (calls->options.listener)
		hear(calls, track, record);
	if (!calls->options.keep)
		return;
	drop(calls, track, &by, is_over_by_begin);
	given = need_given(calls, track, record);
	if (!given || !copy_record(&given->record, record))
		calls->args_lost++;
}

void calls_args_results(const struct calls *calls, struct calls_track_row *track,
			const struct calls_record *record, struct shown_tree *tree)
{
	const struct calls_values *given = given_of(track, record->start, record->depth);
	/* why it has no results is known, although its end may not be */
	bool has_left = given && given->result && given->result->end == INSPECT_LEAVES;

	if (!calls->inspect || (!has_left && !has_returned(record)))
		return;
	inspect_decode_results(calls->inspect, in_plan(record->function),
			       given ? given->result : NULL, tree);
}

static void write_values(struct calls *calls, const struct film_call *call, uint64_t goroutine,
			 const struct shown_tree *arguments, const struct shown_tree *results)
{
	struct film_value value = {
		.end = call->end,
		.duration = call->duration,
		.goroutine = goroutine,
		.thread = call->thread,
		.frame = call->frame,
		.flags = (uint8_t)call->flags,
	};

	if (!value_rows_put(calls->camera.film, calls->camera.event, &value, arguments, results))
		calls->args_lost++;
}

void calls_args_write(struct calls *calls, struct calls_track_row *track,
		      const struct calls_record *record, const struct film_call *call)
{
	const struct calls_values *given;
	const struct inspect_record *begin, *end;
	struct shown_tree arguments = {0}, results = {0};

	if (!calls->inspect)
		return;
	given = given_of(track, record->start, record->depth);
	begin = given ? given->record : NULL;
	end = given ? given->result : NULL;
	if (begin)
		inspect_decode_record(calls->inspect, begin, &arguments);
	calls_args_results(calls, track, record, &results);
	if (begin || results.nodes.count || results.failed)
		write_values(calls, call,
			     (begin ? begin : end) ? (begin ? begin : end)->goroutine : 0,
			     &arguments, &results);
	if (!begin && calls_args_expected(calls, record->function))
		calls->args_missed++;
	if (!end && has_returned(record) &&
	    inspect_wants_results(calls->inspect, in_plan(record->function)))
		calls->results_missed++;
	vec_free(&arguments.nodes);
	vec_free(&results.nodes);
}

void calls_args_end(struct calls *calls, struct calls_track_row *track,
		    const struct calls_record *record)
{
	const struct calls_ends by = {record->start, record->head.time, record->depth};

	if (calls->inspect)
		drop(calls, track, &by, is_over_by_end);
}

void calls_args_losses(struct calls *calls)
{
	struct film_writer *film = calls->camera.film;
	uint32_t event = calls->camera.event;

	if (calls->args_lost)
		film_loss(film, event,
			  "arguments or results of a call lost: no memory, or too many calls are "
			  "open",
			  calls->args_lost);
	if (calls->args_missed)
		film_loss(film, event, "arguments of a call lost: they did not come",
			  calls->args_missed);
	if (calls->results_missed)
		film_loss(film, event, "results of a call lost: they did not come",
			  calls->results_missed);
}
