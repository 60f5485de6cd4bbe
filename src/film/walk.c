// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>

#include "base/saturated.h"
#include "base/vec.h"
#include "film/ahead.h"
#include "film/load.h"
#include "film/schema.h"

/* A block in one of the film's places for it. */
struct got {
	struct film_unpacker *in;
	sqlite3_stmt *query;
	struct film_unpacked block;
	int err; /* it could not be taken apart, and */
	struct fail why;
};

/* A walk through the blocks of one kind and one event. */
struct walk {
	struct film *film;
	uint32_t number, event;
	const struct film_kind *kind;
	struct layout_limits limits;
	uint64_t from, to;
	/* not 0: without blocks whose rows all begin at that time or later */
	uint64_t begin_before;
	int64_t after, up_to; /* of ids: those above the first; up_to 0: all of these */
	bool backwards;
	/* Emits what is wanted of a block to the caller; returns what the caller's function did. */
	int (*emit_block)(const struct walk *walk, void *context,
			  const struct film_unpacked *block);
	vec(const struct film_block *) wanted; /* in the order of walking */
	struct got got[AHEAD_PLACES]; /* the next ones are taken apart while the caller has one */
	union {
		int (*waits)(void *context, const struct film_waits *waits);
		int (*locks)(void *context, const struct film_locks *locks);
		int (*turns)(void *context, const struct film_turns *turns);
		int (*requests)(void *context, const struct film_requests *requests);
		int (*values)(void *context, const struct film_values *values);
		int (*gauges)(void *context, const struct film_gauges *gauges);
		int (*logs)(void *context, const struct film_logs *logs);
		int (*works)(void *context, const struct film_works *works);
		int (*samples)(void *context, const struct film_samples *samples);
		int (*calls)(void *context, const struct film_calls *calls);
		int (*probe)(void *context, const struct film_probe *probe);
		int (*sum)(void *context, const struct film_sum *sum);
		int (*block)(void *context, const struct film_unpacked *block);
	} emit;
	void *context;
	void *const *contexts; /* of several consumers, each in a thread; null: there is one */
	unsigned int consumers;
	struct fail *why;
};

/* Words for a block that could not be taken apart. */
static int fail_block(const struct walk *walk, int err, struct fail *why)
{
	char what[64];
	const char *path = walk->film->private->path ? walk->film->private->path : "the film";

	if (err == -EBADMSG) {
		snprintf(what, sizeof(what), "a block of %s is not what its row says",
			 walk->kind->name);
		return film_damaged(why, path, what);
	}
	return fail_errno(why, err, NULL, "cannot read %s", path);
}

/*
 * The row of a block. The words for a failure are those of the connection, which other threads use
 * for other blocks: none does until they are copied.
 */
static int step(const struct walk *walk, struct got *got, int *rc)
{
	const struct film_private *p = walk->film->private;
	sqlite3_mutex *mutex = sqlite3_db_mutex(p->db);
	int err = 0;

	sqlite3_mutex_enter(mutex);
	*rc = sqlite3_step(got->query);
	if (*rc != SQLITE_ROW && *rc != SQLITE_DONE)
		err = film_read_failed(p->db, *rc, p->path ? p->path : "the film", &got->why);
	sqlite3_mutex_leave(mutex);
	return err;
}

static int read_block(const struct walk *walk, const struct film_block *block, struct got *got)
{
	sqlite3_stmt *query = got->query;
	int rc, err, wrong = 0;

	sqlite3_bind_int64(query, 1, block->id);
	err = step(walk, got, &rc);
	if (rc == SQLITE_ROW)
		wrong = film_unpack(got->in, walk->kind, &walk->limits, &block->span,
				    sqlite3_column_blob(query, 0),
				    (size_t)sqlite3_column_bytes(query, 0), &got->block);
	else if (rc == SQLITE_DONE)
		wrong = -EBADMSG;
	if (wrong)
		err = fail_block(walk, wrong, &got->why);
	/* no lock is held while nothing is read, however long the caller takes */
	sqlite3_reset(query);
	return err;
}

/*
 * Whether a row of a block may begin before a time. Blocks are in the order of ends; no row of a
 * block is longer than all of its rows together, which its total says.
 */
static bool may_begin_before(const struct film_block *block, uint64_t time)
{
	const uint64_t all = block->span.total;

	return !all || all >= block->span.t0 || block->span.t0 - all < time;
}

static bool is_wanted(const struct walk *walk, const struct film_block *block)
{
	if (block->kind != walk->number || block->event != walk->event ||
	    block->id <= walk->after || (walk->up_to && block->id > walk->up_to))
		return false;
	if (walk->kind->span == FILM_SPAN_NONE)
		return true;
	if (walk->begin_before && !may_begin_before(block, walk->begin_before))
		return false;
	/* up to, but not with, its end */
	if (walk->kind->span == FILM_SPAN_GIVEN && block->span.t1 == walk->from &&
	    block->span.t0 < walk->from)
		return false;
	return block->span.t1 >= walk->from && block->span.t0 < walk->to;
}

static bool list_wanted(struct walk *walk)
{
	const struct film_private *p = walk->film->private;

	for (size_t i = 0; i < p->block_count; i++) {
		const struct film_block *block =
			&p->blocks[walk->backwards ? p->block_count - 1 - i : i];

		if (is_wanted(walk, block) && !vec_push(&walk->wanted, block))
			return false;
	}
	return true;
}

/* Of all that changes, only this and what it calls touch that place. */
static void make_block(void *context, size_t i)
{
	struct walk *walk = context;
	struct got *got = &walk->got[i % AHEAD_PLACES];

	got->err = read_block(walk, walk->wanted.at[i], got);
	if (!got->err && walk->kind->time)
		film_view_cut(walk->kind, &got->block.view, walk->from, walk->to);
}

static int consume_block(void *context, unsigned int consumer, size_t i)
{
	struct walk *walk = context;
	struct got *got = &walk->got[i % AHEAD_PLACES];

	/* all see it: the first one ends it, and says why */
	if (got->err && consumer)
		return 0;
	if (got->err && walk->why)
		*walk->why = got->why;
	if (got->err)
		return got->err;
	if (walk->kind->time && !got->block.view.count)
		return 0;
	return walk->emit_block(walk, walk->contexts ? walk->contexts[consumer] : walk->context,
				&got->block);
}

static int prepare_places(struct walk *walk)
{
	struct film_private *p = walk->film->private;
	int rc = SQLITE_OK;

	for (unsigned int i = 0; rc == SQLITE_OK && i < AHEAD_PLACES; i++) {
		walk->got[i].in = &p->unpackers[i];
		rc = sqlite3_prepare_v2(p->db, "SELECT data FROM block WHERE id = ?", -1,
					&walk->got[i].query, NULL);
	}
	return rc == SQLITE_OK ? 0 : film_read_failed(p->db, rc, p->path, walk->why);
}

static int walk_blocks(struct walk *walk)
{
	struct film_private *p = walk->film->private;
	int err = film_enter(p, walk->why);

	walk->kind = film_kind(walk->number);
	walk->limits = (struct layout_limits){{
		[LAYOUT_THREAD] = walk->film->thread_count,
		[LAYOUT_STACK] = walk->film->stack_count,
		[LAYOUT_FRAME] = walk->film->frame_count,
	}};
	if (!err && !list_wanted(walk))
		err = fail_block(walk, -ENOMEM, walk->why);
	if (!err)
		err = prepare_places(walk);
	if (!err) {
		struct ahead ahead = {
			.count = walk->wanted.count,
			.make = make_block,
			.emit = consume_block,
			.consumers = walk->contexts ? walk->consumers : 1,
			.context = walk,
		};

		err = ahead_run(&ahead);
	}
	for (unsigned int i = 0; i < AHEAD_PLACES; i++)
		sqlite3_finalize(walk->got[i].query);
	vec_free(&walk->wanted);
	film_leave(p);
	return err;
}

static bool has_blocks(const struct film *film, uint32_t event, uint32_t number)
{
	const struct film_private *p = film->private;

	for (size_t i = 0; i < p->block_count; i++)
		if (p->blocks[i].kind == number && p->blocks[i].event == event)
			return true;
	return false;
}

static int emit_samples(const struct walk *walk, void *context, const struct film_unpacked *block)
{
	struct film_samples samples = film_view_samples(walk->kind, &block->view);

	return walk->emit.samples(context, &samples);
}

/* All that is a sample, kind by kind. */
static int each_samples(const struct walk *asked)
{
	int err = 0;

	for (uint32_t number = FILM_BLOCK_SAMPLES; !err && number < FILM_BLOCK_KINDS; number++) {
		struct walk walk = *asked;

		walk.number = number;
		walk.emit_block = emit_samples;
		if (film_kind(number)->stack &&
		    (number == FILM_BLOCK_SAMPLES || has_blocks(walk.film, walk.event, number)))
			err = walk_blocks(&walk);
	}
	return err;
}

int film_each_samples(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		      int (*emit)(void *context, const struct film_samples *samples), void *context,
		      struct fail *why)
{
	return each_samples(&(struct walk){
		.film = film,
		.event = event,
		.from = from,
		.to = to,
		.emit.samples = emit,
		.context = context,
		.why = why,
	});
}

int film_each_new_samples(struct film *film, uint32_t event, uint64_t after, uint64_t to,
			  int (*emit)(void *context, const struct film_samples *samples),
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
		.emit.samples = emit,
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
		if (film_kind(p->blocks[i].kind)->stack && p->blocks[i].span.t1 > film->settled &&
		    p->blocks[i].id <= count)
			count = p->blocks[i].id - 1;
	return (uint64_t)count;
}

uint64_t film_settled_until(const struct film *film)
{
	const struct film_private *p = film->private;
	int64_t count = (int64_t)film_settled_count(film);
	uint64_t until = film->settled < film->info.end ? film->settled : film->info.end;

	for (size_t i = 0; i < p->block_count; i++)
		if (film_kind(p->blocks[i].kind)->stack && p->blocks[i].id > count &&
		    p->blocks[i].span.t0 < until)
			until = p->blocks[i].span.t0;
	return until;
}

uint64_t film_event_until(const struct film *film, uint32_t event, uint64_t blocks)
{
	const struct film_private *p = film->private;
	uint64_t has = 0, until = film->info.end;

	for (size_t i = 0; i < p->block_count; i++) {
		const struct film_block *block = &p->blocks[i];

		if (block->event != event || !film_kind(block->kind)->stack)
			continue;
		if ((uint64_t)block->id > blocks)
			until = block->span.t0 < until ? block->span.t0 : until;
		else
			has = block->span.t1 > has ? block->span.t1 : has;
	}
	/* blocks may overlap a little: the time of a sample counts where the sample does */
	return has > until ? has : until;
}

static int emit_calls(const struct walk *walk, void *context, const struct film_unpacked *block)
{
	return walk->emit.calls(context, &block->view.calls);
}

int film_each_calls(struct film *film, uint32_t event, uint64_t from, uint64_t to, bool backwards,
		    int (*emit)(void *context, const struct film_calls *calls), void *context,
		    struct fail *why)
{
	struct walk walk = {
		.film = film,
		.number = FILM_BLOCK_CALLS,
		.event = event,
		.from = from,
		.to = to,
		.backwards = backwards,
		.emit_block = emit_calls,
		.emit.calls = emit,
		.context = context,
		.why = why,
	};

	return walk_blocks(&walk);
}

/*
 * Of each kind whose rows are given as they stand in a block: a walk through them, and whether an
 * event has any.
 */
#define DEFINE_EACH(name, its_number)                                                       \
	static int emit_##name(const struct walk *walk, void *context,                      \
			       const struct film_unpacked *block)                           \
	{                                                                                   \
		return walk->emit.name(context, &block->view.name);                         \
	}                                                                                   \
	int film_each_##name(struct film *film, uint32_t event, uint64_t from, uint64_t to, \
			     int (*emit)(void *context, const struct film_##name *name),    \
			     void *context, struct fail *why)                               \
	{                                                                                   \
		struct walk walk = {                                                        \
			.film = film,                                                       \
			.number = its_number,                                               \
			.event = event,                                                     \
			.from = from,                                                       \
			.to = to,                                                           \
			.emit_block = emit_##name,                                          \
			.emit.name = emit,                                                  \
			.context = context,                                                 \
			.why = why,                                                         \
		};                                                                          \
                                                                                            \
		return walk_blocks(&walk);                                                  \
	}                                                                                   \
	bool film_has_##name(const struct film *film, uint32_t event)                       \
	{                                                                                   \
		return has_blocks(film, event, its_number);                                 \
	}

DEFINE_EACH(waits, FILM_BLOCK_WAITS)
DEFINE_EACH(locks, FILM_BLOCK_LOCKS)
DEFINE_EACH(turns, FILM_BLOCK_TURNS)
DEFINE_EACH(requests, FILM_BLOCK_REQUESTS)
DEFINE_EACH(values, FILM_BLOCK_VALUES)
DEFINE_EACH(gauges, FILM_BLOCK_GAUGES)
DEFINE_EACH(logs, FILM_BLOCK_LOGS)
DEFINE_EACH(works, FILM_BLOCK_WORKS)

int film_each_works_in(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		       int (*emit)(void *context, const struct film_works *works), void *context,
		       struct fail *why)
{
	struct walk walk = {
		.film = film,
		.number = FILM_BLOCK_WORKS,
		.event = event,
		.from = from,
		.to = UINT64_MAX,
		.begin_before = to,
		.emit_block = emit_works,
		.emit.works = emit,
		.context = context,
		.why = why,
	};

	return to ? walk_blocks(&walk) : 0;
}

int film_each_turns_at_once(struct film *film, uint32_t event, uint64_t from, uint64_t to,
			    int (*emit)(void *context, const struct film_turns *turns),
			    void *const *contexts, unsigned int count, struct fail *why)
{
	struct walk walk = {
		.film = film,
		.number = FILM_BLOCK_TURNS,
		.event = event,
		.from = from,
		.to = to,
		.emit_block = emit_turns,
		.emit.turns = emit,
		.contexts = contexts,
		.consumers = count,
		.why = why,
	};

	return walk_blocks(&walk);
}

bool film_has_any(const struct film *film, uint32_t event)
{
	for (size_t i = 0; i < film->private->block_count; i++)
		if (film->private->blocks[i].event == event)
			return true;
	return false;
}

bool film_has_held(const struct film *film, uint32_t event)
{
	return has_blocks(film, event, FILM_BLOCK_HELD);
}

uint64_t film_turns_end(const struct film *film, uint32_t event)
{
	const struct film_private *p = film->private;
	uint64_t end = 0;

	for (size_t i = 0; i < p->block_count; i++)
		if (p->blocks[i].kind == FILM_BLOCK_TURNS && p->blocks[i].event == event &&
		    p->blocks[i].span.t1 > end)
			end = p->blocks[i].span.t1;
	return end;
}

static int emit_probes(const struct walk *walk, void *context, const struct film_unpacked *block)
{
	const struct film_probe *probe = block->rows;
	int err = 0;

	for (size_t i = 0; !err && i < block->row_count; i++)
		err = walk->emit.probe(context, &probe[i]);
	return err;
}

/*
 * The kind that says most of what was given as that one: a film of an older version has no other.
 */
static uint32_t kind_to_read(const struct film *film, uint32_t event, uint32_t number)
{
	uint32_t also = film_kind(number)->also;

	return also && has_blocks(film, event, also) ? also : number;
}

int film_each_probe(struct film *film, uint32_t event,
		    int (*emit)(void *context, const struct film_probe *probe), void *context,
		    struct fail *why)
{
	struct walk walk = {
		.film = film,
		.number = kind_to_read(film, event, FILM_BLOCK_PROBES),
		.event = event,
		.emit_block = emit_probes,
		.emit.probe = emit,
		.context = context,
		.why = why,
	};

	return walk_blocks(&walk);
}

static int emit_sums(const struct walk *walk, void *context, const struct film_unpacked *block)
{
	const struct film_sum *sum = block->rows;
	int err = 0;

	for (size_t i = 0; !err && i < block->row_count; i++)
		err = walk->emit.sum(context, &sum[i]);
	return err;
}

int film_each_sum(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		  int (*emit)(void *context, const struct film_sum *sum), void *context,
		  struct fail *why)
{
	struct walk walk = {
		.film = film,
		.number = FILM_BLOCK_SUMS,
		.event = event,
		.from = from,
		.to = to,
		.emit_block = emit_sums,
		.emit.sum = emit,
		.context = context,
		.why = why,
	};

	return walk_blocks(&walk);
}

static int emit_unpacked(const struct walk *walk, void *context, const struct film_unpacked *block)
{
	return walk->emit.block(context, block);
}

int film_each_block(struct film *film, uint32_t event, enum film_block_kind kind,
		    int (*emit)(void *context, const struct film_unpacked *block), void *context,
		    struct fail *why)
{
	struct walk walk = {
		.film = film,
		.number = kind_to_read(film, event, kind),
		.event = event,
		.to = UINT64_MAX,
		.emit_block = emit_unpacked,
		.emit.block = emit,
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
	uint64_t more, more_total;

	*samples = *total = 0;
	for (uint32_t number = FILM_BLOCK_SAMPLES; number < FILM_BLOCK_KINDS; number++) {
		if (!film_kind(number)->stack)
			continue;
		count_kind(film, event, number, &more, &more_total);
		*samples = add_saturated(*samples, more);
		*total = add_saturated(*total, more_total);
	}
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

uint64_t film_turn_count(struct film *film, uint32_t event)
{
	uint64_t count, total;

	count_kind(film, event, FILM_BLOCK_TURNS, &count, &total);
	return count;
}
