// SPDX-License-Identifier: Apache-2.0
#include "query/calls/pass.h"

#include <errno.h>

#include "base/vec.h"

/*
 * A thread's calls stand in the film in the order in which they ended. Read backwards, a call comes
 * before those that it made, so that the calls which are open at the time that is read are all that
 * must be remembered: one per depth. When an open call leaves that list, all that it called has
 * been seen, and what the tracer cost in it is known.
 */
struct open_call {
	uint64_t start, end;
	uint64_t cost;	   /* the tracer's, of the calls below it */
	uint64_t sure;	   /* until then it was open, whenever it ended */
	uint64_t last;	   /* when the last call that it made ended; its start: it made none */
	uint64_t children; /* ns without cost of the calls within it */
	uint64_t error;	   /* of them: to which that is known */
	uint64_t unknown;  /* ns of the calls within it that may have been made by others */
	uint32_t path, frame;
	uint16_t depth;
	bool is_measured; /* its whole duration is known */
	bool is_inferred;
	bool is_unknown; /* FILM_CALL_UNKNOWN */
};

/* One stack of one thread. */
struct track {
	vec(struct open_call) open; /* outermost first */
	uint32_t root;
	uint8_t *lost; /* of its thread: records behind the one that is read were lost */
};

/* Tracks that can be told apart; calls of further ones do not count, and are counted. */
enum {
	TRACKS_MAX = 1 << 19
};

struct pass {
	struct film *film;
	const struct call_question *q;
	struct call_view *calls;
	vec(struct track) tracks;
	uint32_t *of_thread; /* per thread: the track of its own stack, plus one */
	struct map of_lane;  /* by thread and lane: that of its other stacks, plus one */
	uint32_t *of_group;  /* per process or thread: its root */
	uint8_t *lost;	     /* per thread, as in struct track */
	uint64_t
		/* of all durations: no sum that is made of them can overflow, if it does not */
		sum;
	int err; /* why add_calls() ended the walk */
};

/* One row of a block. */
struct row {
	uint64_t start, end;
	uint64_t waited;
	uint32_t frame, flags;
	uint16_t depth;
	bool is_cut;
};

static struct track *new_track(struct pass *p, uint32_t thread)
{
	uint32_t group = p->q->by_thread ? thread : p->film->threads[thread].process;

	if (!p->of_group[group]) {
		p->of_group[group] = call_paths_root(&p->calls->paths, group);
		if (!p->of_group[group])
			return NULL;
	}
	if (!vec_push(&p->tracks,
		      (struct track){.root = p->of_group[group], .lost = &p->lost[thread]}))
		return NULL;
	return vec_last(&p->tracks);
}

/* Null with p->err 0: there is no room for one more. */
static struct track *track_of(struct pass *p, uint32_t thread, uint32_t lane)
{
	uint64_t key = (uint64_t)thread << 32 | lane, number = 0;
	const uint64_t *known;
	struct track *track;

	if (!lane) {
		number = p->of_thread[thread];
	} else {
		known = map_get(&p->of_lane, key);
		number = known ? *known : 0;
	}
	if (number)
		return &p->tracks.at[number - 1];
	if (p->tracks.count >= TRACKS_MAX)
		return NULL;
	track = new_track(p, thread);
	if (!track || (lane && !map_put(&p->of_lane, key, p->tracks.count))) {
		p->err = -ENOMEM;
		return NULL;
	}
	if (!lane)
		p->of_thread[thread] = (uint32_t)p->tracks.count;
	return track;
}

static struct call_cost cost_of(const struct pass *p, uint32_t frame)
{
	return p->calls->costs ? p->calls->costs[frame] : (struct call_cost){0};
}

/* What a call says of the one around it: that it was open, if that one has made it for certain. */
static void add_to_caller(struct open_call *caller, const struct open_call *call,
			  const struct call_cost *cost, uint64_t ns)
{
	caller->cost += call->cost + cost->outer;
	caller->error += call->error + cost->error;
	caller->children += ns;
	if (call->is_unknown)
		return;
	if (call->sure > caller->sure)
		caller->sure = call->sure;
	if (call->end > caller->last)
		caller->last = call->end;
}

static uint64_t less(uint64_t ns, uint64_t part)
{
	return ns > part ? ns - part : 0;
}

/* The innermost open call of a track is left: all that it called has been seen. */
static bool leave(struct pass *p, struct track *track)
{
	const struct open_call *call = &track->open.at[--track->open.count];
	struct call_cost cost = cost_of(p, call->frame);
	uint64_t raw = call->end - call->start, subtracted = call->cost + cost.own;
	/* what tracing costs varies: no call shall last less than those that it made */
	uint64_t ns =
		less(raw, subtracted) > call->children ? less(raw, subtracted) : call->children;
	struct call_stats *stats;

	if (track->open.count)
		add_to_caller(vec_last(&track->open), call, &cost, ns);
	if (!p->calls->paths.all.at[call->path].is_kept)
		return true;
	stats = p->calls->of_frame[call->frame];
	if (call->is_inferred) {
		stats->unsure += less(call->end - call->sure, call->unknown);
		stats->unsure_self += less(call->end - call->last, call->unknown);
	}
	if (!call->is_measured)
		return true;
	stats->clamped += raw < subtracted || less(raw, subtracted) < call->children;
	stats->error += call->error + cost.error;
	return call_stats_measure(stats, ns);
}

/* Whether one call can have been made by another that is open, by what is known of their times. */
static bool contains(const struct open_call *open, const struct row *row)
{
	return open->start <= row->start && row->end <= open->end;
}

static uint32_t child(struct pass *p, uint32_t parent, uint32_t frame, bool *is_full)
{
	const struct filter_kept *kept = p->q->kept;
	bool is_new;
	uint32_t path = call_paths_child(&p->calls->paths, parent, frame, &is_new, is_full);

	if (is_new && path) {
		struct call_path *at = &p->calls->paths.all.at[path];

		if (frame < p->film->frame_count) {
			at->is_focus |= !kept->focus || kept->focus[frame];
			at->is_ignored |= kept->ignored && kept->ignored[frame];
		}
		at->is_kept = at->is_focus && !at->is_ignored;
	}
	return path;
}

/* How many of the open calls lead to this one for certain. */
static size_t certain_callers(const struct track *track, const struct row *row)
{
	size_t count = track->open.count;

	if (row->flags & FILM_CALL_UNKNOWN)
		while (count && track->open.at[count - 1].is_inferred)
			count--;
	return count;
}

/* What stands for a caller that cannot be told; CALL_MARKS: the caller is known. */
static enum call_mark mark_of(const struct track *track, const struct row *row)
{
	unsigned int expected = track->open.count ? vec_last(&track->open)->depth + 1u : 0;

	if (certain_callers(track, row) < track->open.count)
		return CALL_MARK_UNKNOWN;
	if (row->depth <= expected)
		return CALL_MARKS;
	return *track->lost ? CALL_MARK_LOST : CALL_MARK_NOT_KEPT;
}

/* The path of a call; where there is no room for it, that of its caller. 0: no memory. */
static uint32_t path_of(struct pass *p, const struct track *track, const struct row *row,
			bool *is_full)
{
	size_t certain = certain_callers(track, row);
	uint32_t parent = certain ? track->open.at[certain - 1].path : track->root, path = parent,
		 next;
	enum call_mark mark = mark_of(track, row);

	*is_full = false;
	if (mark != CALL_MARKS) {
		next = child(p, parent, p->film->frame_count + mark, is_full);
		path = *is_full ? path : next;
	}
	if (path && !*is_full) {
		next = child(p, path, row->frame, is_full);
		path = *is_full ? path : next;
	}
	return path;
}

/* The time of a call that those within which it lies may not have made does not count as theirs. */
static void subtract_from_callers(struct pass *p, struct track *track, const struct row *row)
{
	struct call_cost cost = cost_of(p, row->frame);
	uint64_t ns = row->end - row->start;

	for (size_t i = certain_callers(track, row); i < track->open.count; i++) {
		struct open_call *open = &track->open.at[i];
		struct call_path *at = &p->calls->paths.all.at[open->path];

		open->unknown += ns;
		at->raw = less(at->raw, ns + cost.outer - cost.own);
		at->waited = less(at->waited, row->waited);
	}
}

/* Adds the call to its function and its path. */
static bool count(struct pass *p, const struct track *track, const struct row *row, uint32_t path,
		  bool is_full)
{
	struct call_view *calls = p->calls;
	struct call_path *at = &calls->paths.all.at[path];
	struct call_stats *stats;
	enum call_mark mark = mark_of(track, row);

	if (!is_full) {
		at->calls++;
		at->raw += row->end - row->start;
		at->waited += row->waited;
		at->is_guess |= (row->flags & FILM_CALL_INFERRED) != 0;
	}
	if (!at->is_kept)
		return true;
	calls->no_path += is_full;
	stats = call_view_stats(calls, row->frame);
	if (!stats)
		return false;
	stats->calls++;
	stats->inferred += (row->flags & FILM_CALL_INFERRED) != 0;
	stats->open += (row->flags & FILM_CALL_OPEN) != 0;
	stats->cut += row->is_cut;
	calls->calls++;
	calls->inferred += (row->flags & FILM_CALL_INFERRED) != 0;
	calls->open += (row->flags & FILM_CALL_OPEN) != 0;
	calls->cut += row->is_cut;
	if (mark != CALL_MARKS)
		calls->below[mark]++;
	return true;
}

static int add_call(struct pass *p, struct track *track, const struct row *row)
{
	bool is_inferred = row->flags & FILM_CALL_INFERRED, is_full;
	uint32_t path;

	if (__builtin_add_overflow(p->sum, row->end - row->start, &p->sum))
		return -EOVERFLOW;
	while (track->open.count && (vec_last(&track->open)->depth >= row->depth ||
				     !contains(vec_last(&track->open), row)))
		if (!leave(p, track))
			return -ENOMEM;
	path = path_of(p, track, row, &is_full);
	if (!path || !count(p, track, row, path, is_full))
		return -ENOMEM;
	subtract_from_callers(p, track, row);
	*track->lost |= (row->flags & FILM_CALL_GAP) != 0;
	if (!vec_push(&track->open,
		      (struct open_call){
			      .start = row->start,
			      .end = row->end,
			      .path = path,
			      .frame = row->frame,
			      .sure = is_inferred ? row->start : row->end,
			      .last = row->start,
			      .depth = row->depth,
			      .is_inferred = is_inferred,
			      .is_unknown = row->flags & FILM_CALL_UNKNOWN,
			      .is_measured = !row->is_cut && !(row->flags & FILM_CALL_OPEN),
		      }))
		return -ENOMEM;
	return 0;
}

/*
 * The part of a call that lies in the span. Nothing tells when a call waited, so that such a part
 * is taken to have waited as much as the rest. False: it lies outside.
 */
static bool cut_row(const struct film_calls *block, size_t i, const struct call_question *q,
		    struct row *row)
{
	uint64_t end = block->end[i], duration = block->duration[i], start;

	duration = duration < end ? duration : end;
	start = end - duration;
	if (start >= q->to || end < q->from)
		return false;
	*row = (struct row){
		.start = start < q->from ? q->from : start,
		.end = end > q->to ? q->to : end,
		.waited = block->waited[i] < duration ? block->waited[i] : duration,
		.frame = block->frame[i],
		.flags = block->flags[i],
		.depth = block->depth[i],
	};
	row->is_cut = row->end - row->start < duration;
	if (row->is_cut)
		row->waited = (uint64_t)((unsigned __int128)row->waited * (row->end - row->start) /
					 duration);
	return true;
}

static int add_calls(void *context, const struct film_calls *block)
{
	struct pass *p = context;

	for (size_t i = block->count; i-- > 0;) {
		struct track *track;
		struct row row;

		if (!p->q->kept->threads[block->thread[i]] || !cut_row(block, i, p->q, &row))
			continue;
		track = track_of(p, block->thread[i], block->lane[i]);
		if (track)
			p->err = add_call(p, track, &row);
		else if (!p->err)
			p->calls->no_track++;
		if (p->err)
			return p->err;
	}
	return 0;
}

static void pass_free(struct pass *p)
{
	vec_foreach (&p->tracks, track)
		vec_free(&track->open);
	vec_free(&p->tracks);
	map_free(&p->of_lane);
	free(p->of_thread);
	free(p->of_group);
	free(p->lost);
}

int call_pass(struct film *film, uint32_t event, const struct call_question *q,
	      struct call_view *calls, struct fail *why)
{
	size_t groups = q->by_thread ? film->thread_count : film->process_count;
	struct pass p = {
		.film = film,
		.q = q,
		.calls = calls,
		.of_thread = calloc(film->thread_count + 1ull, sizeof(*p.of_thread)),
		.of_group = calloc(groups + 1, sizeof(*p.of_group)),
		.lost = calloc(film->thread_count + 1ull, sizeof(*p.lost)),
	};
	int err = -ENOMEM;

	if (p.of_thread && p.of_group && p.lost) {
		/* what ends behind the span may have made calls within it */
		err = film_each_calls(film, event, q->from, UINT64_MAX, true, add_calls, &p, why);
		vec_foreach (&p.tracks, track)
			while (!err && track->open.count)
				err = leave(&p, track) ? 0 : (p.err = -ENOMEM);
	} else {
		p.err = err;
	}
	pass_free(&p);
	if (p.err == -EOVERFLOW)
		return fail(why, err, NULL, "the calls of the film add up to more than 64 bits");
	if (p.err)
		return fail_errno(why, err, NULL, "cannot add up the calls");
	return err;
}
