// SPDX-License-Identifier: Apache-2.0
/* What the kernel side tells of calls: into the film, and to who listens. */
#include "sources/calls/state.h"
#include "attach/filter.h"

static void handle_track(struct calls *calls, const struct calls_track *record)
{
	struct calls_track_row *track = calls_tracks_put(&calls->tracks, record);
	const struct capture_identity *identity = &record->identity;
	bool gone;

	if (!track)
		return;
	if (identity->undecided)
		track->unwanted =
			!filter_decide(calls->camera.probes, calls->options.plan.selection,
				       (pid_t)identity->pid, identity->comm, &gone);
	if (!track->unwanted)
		track->thread = samples_thread(calls->camera.samples, identity);
}

static void notify_listener(struct calls *calls, struct calls_track_row *track,
			    const struct calls_record *record, const struct traced *traced)
{
	struct call_heard heard = {
		.begins = record->head.kind == CAPTURE_CALL_ENTRY,
		.inferred = record->flags & CALLS_INFERRED,
		.open = record->flags & CALLS_OPEN,
		.gap = record->flags & CALLS_GAP,
		.unknown = record->flags & CALLS_UNKNOWN,
		.time = record->head.time,
		.pid = track->pid,
		.tid = track->tid,
		.lane = track->lane,
		.depth = record->depth,
		.cpu = record->cpu,
		.comm = track->comm,
		.function = traced->name,
	};
	struct film_probe probe = {0};
	struct shown_tree results = {0};

	if (!heard.begins) {
		calls_args_results(calls, track, record, &results);
		if (!results.failed)
			heard.values = &results;
		if (!calls->options.raw)
			probe = (struct film_probe){0, traced->own, traced->outer, traced->error};
		heard.waited = record->waited;
		heard.duration =
			calls_tracks_end(track, record->depth, record->head.time - record->start,
					 &probe, &heard.error);
		if (heard.waited > heard.duration)
			heard.waited = heard.duration;
	}
	calls_args_release(calls, track);
	/* its arguments come right behind it */
	if (heard.begins && calls_args_expected(calls, record->function)) {
		track->held = heard;
		track->has_held = true;
		return;
	}
	calls->options.listener(calls->options.context, &heard);
	vec_free(&results.nodes);
}

static void keep(struct calls *calls, struct calls_track_row *track,
		 const struct calls_record *record, const struct traced *traced)
{
	struct film_call call = {
		.end = record->head.time,
		.duration = record->head.time - record->start,
		.waited = record->waited,
		.thread = track->thread,
		.frame = traced->frame,
		.lane = track->lane,
		.depth = record->depth,
		.cpu = record->cpu,
		.flags = record->flags,
	};

	calls_args_write(calls, track, record, &call);
	if (calls->slow)
		calls_slow_add(calls->slow, record->track, &call);
	else
		film_call(calls->camera.film, calls->camera.event, &call);
}

static void handle_call(struct calls *calls, const struct calls_record *record)
{
	uint32_t number = record->function - CALLS_COST_FUNCTIONS;
	struct traced *traced;
	struct calls_track_row *track = calls_tracks_get(&calls->tracks, record->track);

	/* a late record of what measured the cost */
	if (record->function < CALLS_COST_FUNCTIONS || (track && track->unwanted))
		return;
	if (number >= calls->functions.count || !track) {
		calls->strangers += record->head.kind == CAPTURE_CALL;
		return;
	}
	traced = &calls->functions.at[number];
	/* the listener has asked for all of them (calls_entries), the film has not */
	if (record->head.kind == CAPTURE_CALL &&
	    record->head.time - record->start >= calls->options.shortest) {
		calls->calls++;
		traced->calls++;
		if (calls->options.keep)
			keep(calls, track, record, traced);
	}
	if (calls->options.listener)
		notify_listener(calls, track, record, traced);
	if (record->head.kind == CAPTURE_CALL)
		calls_args_end(calls, track, record);
}

/* Several records that were sent as one. */
static void handle_batch(struct calls *calls, const struct capture_head *batch)
{
	const struct calls_record *record = (const void *)(batch + 1);
	size_t count = (batch->size - sizeof(*batch)) / sizeof(*record);

	for (; count; count--, record++)
		handle_call(calls, record);
}

void calls_handle(struct calls *calls, const struct capture_head *head)
{
	if (head->kind == CAPTURE_CALLS)
		handle_batch(calls, head);
	else if (head->kind == CAPTURE_TRACK)
		handle_track(calls, (const struct calls_track *)head);
	else
		handle_call(calls, (const struct calls_record *)head);
}

void calls_handle_stack(struct calls *calls, const struct capture_record *record,
			const struct capture_handover *handover)
{
	samples_add_record(calls->camera.samples, calls->camera.stack_event, record, handover);
}
