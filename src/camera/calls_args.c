// SPDX-License-Identifier: Apache-2.0
/*
 * trace --args: what calls were given. inspect takes it right behind the beginning of each call,
 * for the call that the tracer has just seen begin (find_traced() in bpf/inspect.bpf.c): its track,
 * its depth and its start say which one it is. It waits here until the call has ended.
 */
#include <stdlib.h>
#include <string.h>

#include "camera/calls_state.h"
#include "camera/inspect.h"
#include "camera/value_rows.h"

#define WAITING_MAX 65536 /* of all tracks */

uint32_t calls_first_function(void)
{
	return CALLS_COST_FUNCTIONS;
}

void calls_take_args_of(struct calls *calls, const struct inspect *inspect)
{
	calls->inspect = inspect;
}

bool calls_args_expected(const struct calls *calls, uint32_t function)
{
	return calls->inspect && inspect_has(calls->inspect, function - CALLS_COST_FUNCTIONS);
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
static bool is_over_by_end(const struct calls *calls, const struct calls_given *given,
			   const struct calls_ends *by)
{
	(void)calls;
	/* those that began later wait for records that have not come */
	return given->start <= by->end && (given->start >= by->start || given->depth >= by->depth);
}

/* Another one begins: so this one is over, and was too short to be reported. */
static bool is_over_by_begin(const struct calls *calls, const struct calls_given *given,
			     const struct calls_ends *by)
{
	return given->depth >= by->depth && by->start - given->start < calls->options.shortest;
}

/* Drops what waits of a track, and is over. */
static void drop(struct calls *calls, struct calls_track_row *track, const struct calls_ends *by,
		 bool (*is_over)(const struct calls *calls, const struct calls_given *given,
				 const struct calls_ends *by))
{
	size_t kept = 0;

	vec_foreach (&track->given, given) {
		if (is_over(calls, given, by)) {
			free(given->record);
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
		track->held.arguments = &tree;
	calls_args_release(calls, track);
	vec_free(&tree.nodes);
}

void calls_args_take(void *context, const struct inspect_record *record)
{
	struct calls *calls = context;
	struct calls_track_row *track = calls_tracks_row(&calls->tracks, record->track);
	struct calls_given given = {record->start, record->depth, NULL};
	const struct calls_ends by = {record->start, record->start, record->depth};

	if (!calls->inspect || !track || track->unwanted)
		return;
	if (calls->options.listener)
		hear(calls, track, record);
	if (!calls->options.keep)
		return;
	drop(calls, track, &by, is_over_by_begin);
	if (calls->given < WAITING_MAX)
		given.record = malloc(record->head.size);
	if (!given.record || !vec_push(&track->given, given)) {
		free(given.record);
		calls->args_lost++;
		return;
	}
	memcpy(given.record, record, record->head.size);
	calls->given++;
}

static void write_values(struct calls *calls, const struct film_call *call,
			 const struct inspect_record *record)
{
	struct shown_tree tree = {0};
	struct film_value value = {
		.end = call->end,
		.duration = call->duration,
		.goroutine = record->goroutine,
		.thread = call->thread,
		.frame = call->frame,
		.flags = (uint8_t)call->flags,
	};

	inspect_decode_record(calls->inspect, record, &tree);
	if (!value_rows_put(calls->camera.film, calls->camera.event, &value, &tree, NULL))
		calls->args_lost++;
	vec_free(&tree.nodes);
}

void calls_args_end(struct calls *calls, struct calls_track_row *track,
		    const struct calls_record *record, const struct film_call *call)
{
	const struct calls_ends by = {record->start, record->head.time, record->depth};
	bool has_come = false;

	if (!calls->inspect)
		return;
	vec_foreach (&track->given, given) {
		if (!call || has_come || given->start != record->start ||
		    given->depth != record->depth)
			continue;
		write_values(calls, call, given->record);
		has_come = true;
	}
	if (call && !has_come && calls_args_expected(calls, record->function))
		calls->args_missed++;
	drop(calls, track, &by, is_over_by_end);
}

void calls_args_losses(struct calls *calls)
{
	struct film_writer *film = calls->camera.film;
	uint32_t event = calls->camera.event;

	if (calls->args_lost)
		film_loss(film, event,
			  "arguments of a call lost: no memory, or too many calls are open",
			  calls->args_lost);
	if (calls->args_missed)
		film_loss(film, event, "arguments of a call lost: they did not come",
			  calls->args_missed);
}
