// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "film/ahead.h"
#include "film/load.h"
#include "film/schema.h"
#include "film/sums.h"

/* A block that was taken apart: what is in one of the film's two places for it. */
struct got {
	struct film_unpacked *at;
	struct film_span span; /* of the block */
	union {
		struct film_samples samples;
		struct film_calls calls;
	};
	int err; /* it could not be, and */
	struct fail why;
};

/* A walk through the blocks of one kind and one event. */
struct walk {
	struct film *film;
	uint32_t kind, event;
	uint64_t from, to;
	int64_t after, up_to; /* of ids: those above the first; up_to 0: all of these */
	bool backwards;
	/* Takes a block apart, which is in memory only for so long; 0 or -EBADMSG or -ENOMEM. */
	int (*unpack)(const struct film *film, const struct film_block *block, const void *data,
		      size_t size, struct got *got);
	/* Gives what is wanted of it to the caller; returns what the caller's function did. */
	int (*give)(const struct walk *walk, struct got *got);
	struct got got[2]; /* the next one is taken apart while the caller has one */
	sqlite3_stmt *query;
	size_t next; /* where to look for the next block, in the order of walking */
	union {
		int (*samples)(void *context, const struct film_samples *samples);
		int (*calls)(void *context, const struct film_calls *calls);
		int (*probe)(void *context, const struct film_probe *probe);
		int (*sum)(void *context, const struct film_sum *sum);
		int (*timed_sum)(void *context, uint64_t from, uint64_t to,
				 const struct film_sum *sum);
	} take;
	void *context;
	struct fail *why;
};

/* The index of the first of count sorted times that is not before time. */
static size_t first_from(const uint64_t *times, size_t count, uint64_t time)
{
	size_t low = 0;

	while (low < count) {
		size_t middle = low + (count - low) / 2;

		if (times[middle] < time)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

/* Words for a block that could not be taken apart. */
static int cannot_take(const struct walk *walk, int err, struct fail *why)
{
	static const char *const damaged[] = {
		[FILM_BLOCK_SAMPLES] = "a block of samples is not what its row says",
		[FILM_BLOCK_CALLS] = "a block of calls is not what its row says",
		[FILM_BLOCK_PROBES] = "a block of probes is not what its row says",
		[FILM_BLOCK_SUMS] = "a block of sums is not what its row says",
		[FILM_BLOCK_COSTS] = "a block of costs is not what its row says",
	};
	const char *path = walk->film->private->path ? walk->film->private->path : "the film";

	if (err == -EBADMSG)
		return film_damaged(why, path, damaged[walk->kind]);
	return fail_errno(why, err, NULL, "cannot read %s", path);
}

static int read_block(const struct walk *walk, const struct film_block *block, struct got *got)
{
	const struct film_private *p = walk->film->private;
	sqlite3_stmt *query = walk->query;
	const char *path = p->path ? p->path : "the film";
	int err = 0, rc;

	sqlite3_bind_int64(query, 1, block->id);
	rc = sqlite3_step(query);
	if (rc == SQLITE_ROW)
		err = walk->unpack(walk->film, block, sqlite3_column_blob(query, 0),
				   (size_t)sqlite3_column_bytes(query, 0), got);
	else if (rc == SQLITE_DONE)
		err = -EBADMSG;
	if (err)
		err = cannot_take(walk, err, &got->why);
	else if (rc != SQLITE_ROW)
		err = film_read_failed(p->db, rc, path, &got->why);
	/* no lock is held while nothing is read, however long the caller takes */
	sqlite3_reset(query);
	return err;
}

static bool is_wanted(const struct walk *walk, const struct film_block *block)
{
	if (block->kind != walk->kind || block->event != walk->event || block->id <= walk->after ||
	    (walk->up_to && block->id > walk->up_to))
		return false;
	if (block->kind == FILM_BLOCK_PROBES || block->kind == FILM_BLOCK_COSTS)
		return true;
	/* sums are of a time up to, but not with, its end */
	if (block->kind == FILM_BLOCK_SUMS && block->span.t1 == walk->from &&
	    block->span.t0 < walk->from)
		return false;
	return block->span.t1 >= walk->from && block->span.t0 < walk->to;
}

static size_t count_wanted(const struct walk *walk)
{
	const struct film_private *p = walk->film->private;
	size_t count = 0;

	for (size_t i = 0; i < p->block_count; i++)
		count += is_wanted(walk, &p->blocks[i]);
	return count;
}

/* The next block that is wanted; there is one. */
static const struct film_block *next_block(struct walk *walk)
{
	const struct film_private *p = walk->film->private;
	const struct film_block *block;

	do {
		block = &p->blocks[walk->backwards ? p->block_count - 1 - walk->next : walk->next];
		walk->next++;
	} while (!is_wanted(walk, block));
	return block;
}

/* Of all that changes, only this and what it calls touch query, next and got[i & 1]. */
static void make_block(void *context, size_t i)
{
	struct walk *walk = context;
	struct got *got = &walk->got[i & 1];

	const struct film_block *block = next_block(walk);

	got->span = block->span;
	got->err = read_block(walk, block, got);
}

static int take_block(void *context, size_t i)
{
	struct walk *walk = context;
	struct got *got = &walk->got[i & 1];

	if (got->err && walk->why)
		*walk->why = got->why;
	return got->err ? got->err : walk->give(walk, got);
}

static int walk_wanted(struct walk *walk)
{
	struct film_private *p = walk->film->private;
	struct ahead ahead = {count_wanted(walk), make_block, take_block, walk};

	for (int i = 0; i < 2; i++)
		walk->got[i].at = &p->unpacked[i];
	return ahead_run(&ahead);
}

static int walk_blocks(struct walk *walk)
{
	struct film_private *p = walk->film->private;
	int err = film_enter(p, walk->why);

	if (!err) {
		int rc = sqlite3_prepare_v2(p->db, "SELECT data FROM block WHERE id = ?", -1,
					    &walk->query, NULL);

		if (rc != SQLITE_OK)
			err = film_read_failed(p->db, rc, p->path, walk->why);
	}
	if (!err)
		err = walk_wanted(walk);
	sqlite3_finalize(walk->query);
	film_leave(p);
	return err;
}

static int unpack_samples(const struct film *film, const struct film_block *block, const void *data,
			  size_t size, struct got *got)
{
	return samples_unpack(&got->at->samples, data, size, &block->span, film->thread_count,
			      film->stack_count, &got->samples);
}

static int give_samples(const struct walk *walk, struct got *got)
{
	struct film_samples *samples = &got->samples;
	size_t first = first_from(samples->time, samples->count, walk->from);
	size_t end = first_from(samples->time, samples->count, walk->to);

	if (end <= first)
		return 0;
	samples->count = end - first;
	samples->time += first;
	samples->thread += first;
	samples->stack += first;
	samples->value += first;
	return walk->take.samples(walk->context, samples);
}

static int each_samples(const struct walk *asked)
{
	struct walk walk = *asked;

	walk.kind = FILM_BLOCK_SAMPLES;
	walk.unpack = unpack_samples;
	walk.give = give_samples;
	return walk_blocks(&walk);
}

int film_each_samples(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		      int (*take)(void *context, const struct film_samples *samples), void *context,
		      struct fail *why)
{
	return each_samples(&(struct walk){
		.film = film,
		.event = event,
		.from = from,
		.to = to,
		.take.samples = take,
		.context = context,
		.why = why,
	});
}

int film_each_new_samples(struct film *film, uint32_t event, uint64_t after, uint64_t to,
			  int (*take)(void *context, const struct film_samples *samples),
			  void *context, struct fail *why)
{
	if (to <= after)
		return 0;
	return each_samples(&(struct walk){
		.film = film,
		.event = event,
		.to = UINT64_MAX,
		.after = (int64_t)after,
		.up_to = to > INT64_MAX ? INT64_MAX : (int64_t)to,
		.take.samples = take,
		.context = context,
		.why = why,
	});
}

uint64_t film_block_count(const struct film *film)
{
	const struct film_private *p = film->private;
	int64_t last = 0;

	/* ids count from 1; those of kinds that are not known here are not in the list */
	for (size_t i = 0; i < p->block_count; i++)
		last = p->blocks[i].id > last ? p->blocks[i].id : last;
	return (uint64_t)last;
}

uint64_t film_settled_count(const struct film *film)
{
	const struct film_private *p = film->private;
	int64_t count = (int64_t)film_block_count(film);

	for (size_t i = 0; i < p->block_count; i++)
		if (p->blocks[i].kind == FILM_BLOCK_SAMPLES &&
		    p->blocks[i].span.t1 > film->settled && p->blocks[i].id <= count)
			count = p->blocks[i].id - 1;
	return (uint64_t)count;
}

uint64_t film_settled_until(const struct film *film)
{
	const struct film_private *p = film->private;
	int64_t count = (int64_t)film_settled_count(film);
	uint64_t until = film->settled < film->info.end ? film->settled : film->info.end;

	for (size_t i = 0; i < p->block_count; i++)
		if (p->blocks[i].kind == FILM_BLOCK_SAMPLES && p->blocks[i].id > count &&
		    p->blocks[i].span.t0 < until)
			until = p->blocks[i].span.t0;
	return until;
}

static int unpack_calls(const struct film *film, const struct film_block *block, const void *data,
			size_t size, struct got *got)
{
	return calls_unpack(&got->at->calls, data, size, &block->span, film->thread_count,
			    film->frame_count, &got->calls);
}

static int give_calls(const struct walk *walk, struct got *got)
{
	struct film_calls *calls = &got->calls;
	size_t first = first_from(calls->end, calls->count, walk->from);
	size_t end = first_from(calls->end, calls->count, walk->to);

	if (end <= first)
		return 0;
	calls->count = end - first;
	calls->end += first;
	calls->duration += first;
	calls->waited += first;
	calls->thread += first;
	calls->frame += first;
	calls->lane += first;
	calls->depth += first;
	calls->cpu += first;
	calls->flags += first;
	return walk->take.calls(walk->context, calls);
}

int film_each_calls(struct film *film, uint32_t event, uint64_t from, uint64_t to, bool backwards,
		    int (*take)(void *context, const struct film_calls *calls), void *context,
		    struct fail *why)
{
	struct walk walk = {
		.film = film,
		.kind = FILM_BLOCK_CALLS,
		.event = event,
		.from = from,
		.to = to,
		.backwards = backwards,
		.unpack = unpack_calls,
		.give = give_calls,
		.take.calls = take,
		.context = context,
		.why = why,
	};

	return walk_blocks(&walk);
}

static int unpack_probes(const struct film *film, const struct film_block *block, const void *data,
			 size_t size, struct got *got)
{
	struct film_unpacked *u = got->at;

	if (!vec_reserve(&u->probes, block->span.count))
		return -ENOMEM;
	u->probes.count = block->span.count;
	if (block->kind == FILM_BLOCK_COSTS)
		return costs_unpack(&u->columns, data, size, film->frame_count, u->probes.at,
				    u->probes.count);
	return probes_unpack(&u->columns, data, size, film->frame_count, u->probes.at,
			     u->probes.count);
}

static int give_probes(const struct walk *walk, struct got *got)
{
	int err;

	vec_foreach (&got->at->probes, probe) {
		err = walk->take.probe(walk->context, probe);
		if (err)
			return err;
	}
	return 0;
}

int film_each_probe(struct film *film, uint32_t event,
		    int (*take)(void *context, const struct film_probe *probe), void *context,
		    struct fail *why)
{
	struct walk walk = {
		.film = film,
		.kind = FILM_BLOCK_COSTS,
		.event = event,
		.unpack = unpack_probes,
		.give = give_probes,
		.take.probe = take,
		.context = context,
		.why = why,
	};

	/* a film of an older version */
	if (!count_wanted(&walk))
		walk.kind = FILM_BLOCK_PROBES;
	return walk_blocks(&walk);
}

static int unpack_sums(const struct film *film, const struct film_block *block, const void *data,
		       size_t size, struct got *got)
{
	struct film_unpacked *u = got->at;

	if (!vec_reserve(&u->sums, block->span.count))
		return -ENOMEM;
	u->sums.count = block->span.count;
	return sums_unpack(&u->columns, data, size, film->frame_count, block->span.total,
			   u->sums.at, u->sums.count);
}

static int give_sums(const struct walk *walk, struct got *got)
{
	int err;

	vec_foreach (&got->at->sums, sum) {
		err = walk->take.sum(walk->context, sum);
		if (err)
			return err;
	}
	return 0;
}

int film_each_sum(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		  int (*take)(void *context, const struct film_sum *sum), void *context,
		  struct fail *why)
{
	struct walk walk = {
		.film = film,
		.kind = FILM_BLOCK_SUMS,
		.event = event,
		.from = from,
		.to = to,
		.unpack = unpack_sums,
		.give = give_sums,
		.take.sum = take,
		.context = context,
		.why = why,
	};

	return walk_blocks(&walk);
}

static int give_timed_sums(const struct walk *walk, struct got *got)
{
	int err;

	vec_foreach (&got->at->sums, sum) {
		err = walk->take.timed_sum(walk->context, got->span.t0, got->span.t1, sum);
		if (err)
			return err;
	}
	return 0;
}

int film_each_timed_sum(struct film *film, uint32_t event,
			int (*take)(void *context, uint64_t from, uint64_t to,
				    const struct film_sum *sum),
			void *context, struct fail *why)
{
	struct walk walk = {
		.film = film,
		.kind = FILM_BLOCK_SUMS,
		.event = event,
		.to = UINT64_MAX,
		.unpack = unpack_sums,
		.give = give_timed_sums,
		.take.timed_sum = take,
		.context = context,
		.why = why,
	};

	return walk_blocks(&walk);
}

static void count_kind(const struct film *film, uint32_t event, uint32_t kind, uint64_t *count,
		       uint64_t *total)
{
	const struct film_private *p = film->private;
	size_t i;

	*count = *total = 0;
	for (i = 0; i < p->block_count; i++) {
		if (p->blocks[i].event != event || p->blocks[i].kind != kind)
			continue;
		*count = add_saturated(*count, p->blocks[i].span.count);
		*total = add_saturated(*total, p->blocks[i].span.total);
	}
}

void film_event_total(struct film *film, uint32_t event, uint64_t *samples, uint64_t *total)
{
	count_kind(film, event, FILM_BLOCK_SAMPLES, samples, total);
}

uint64_t film_sum_count(struct film *film, uint32_t event)
{
	uint64_t count, total;

	count_kind(film, event, FILM_BLOCK_SUMS, &count, &total);
	return count;
}

uint64_t film_call_count(struct film *film, uint32_t event)
{
	uint64_t count, total;

	count_kind(film, event, FILM_BLOCK_CALLS, &count, &total);
	return count;
}
