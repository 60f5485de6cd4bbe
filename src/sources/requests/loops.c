// SPDX-License-Identifier: Apache-2.0
#include "sources/requests/loops.h"

#include <stdlib.h>

#include "base/owned.h"
#include "sources/requests/track_private.h"

/* The most threads, connections that were opened, and requests that are kept, at the same time. */
#define THREADS_MAX 65536
#define OPENED_MAX  65536
#define MADE_MAX    65536
#define ROAMING_MAX 65536

/*
 * A thread is believed if the order tells of four in five of its requests, once it had 20; and
 * what was long ago counts less.
 */
#define TRIED_LEAST	     20
#define TRIED_MOST	     1000
#define IS_TOLD(told, tried) ((told)*5 >= (tried)*4)

/* The longest chain of requests that are made one after the other. */
#define CHAIN_MAX 64

/* What something was done for. */
struct cause {
	uint64_t served; /* the request; 0: not known */
	uint64_t made;	 /* whose answer was received before; 0: of none */
};

/* A thread: what it received last, and of how many of its requests the order told. */
struct loop {
	struct requests_turn turn;
	struct cause cause;
	uint32_t tried, told;
};

/* Whether there and back name the same request. */
enum verdict {
	VERDICT_NONE,
	VERDICT_AGREE,
	VERDICT_DISAGREE,
};

struct made {
	uint64_t number, thread;
	struct cause cause; /* that it seems to have */
	struct made *next;  /* of those that seem to be for the same one */
	bool is_known;	    /* by something else than the order */
	enum verdict verdict;
	bool is_counted; /* among those that its thread tried */
	bool is_over;
	bool is_alone; /* the one that it seemed to be for is over */
	void *kept;    /* of one that is over; null: it is kept nowhere */
};

/* One that is to be given once its thread had enough of them. */
struct due {
	uint64_t thread, served;
	void *kept;
};

struct requests_loops {
	requests_loops_release *release;
	void *context;
	struct map threads;	/* struct loop */
	struct map connections; /* struct cause, of those that had no request yet */
	struct map made;	/* struct made, by number */
	struct map served;	/* the first of those that seem to be for it */
	struct map roaming;	/* processes */
	vec(struct due) due;
};

struct requests_loops *requests_loops_new(requests_loops_release *release, void *context)
{
	struct requests_loops *loops = calloc(1, sizeof(*loops));

	if (loops) {
		loops->release = release;
		loops->context = context;
	}
	return loops;
}

void requests_loops_free(struct requests_loops *loops)
{
	if (!loops)
		return;
	requests_loops_flush(loops);
	owned_free(&loops->threads);
	owned_free(&loops->connections);
	owned_free(&loops->made);
	map_free(&loops->served);
	map_free(&loops->roaming);
	vec_free(&loops->due);
	free(loops);
}

/* -- what a thread does ------------------------------------------------------------------------ */

static bool is_same(const struct requests_turn *a, const struct requests_turn *b)
{
	return a->receives == b->receives && a->read == b->read && a->waits == b->waits;
}

/* Null: there is no memory. */
static struct loop *loop_of(struct requests_loops *loops, uint64_t thread)
{
	/* threads that have ended are among them */
	if (loops->threads.count >= THREADS_MAX)
		owned_free(&loops->threads);
	return owned_make(&loops->threads, thread, sizeof(struct loop), THREADS_MAX);
}

static void receive(struct requests_loops *loops, uint64_t thread, const struct requests_turn *turn,
		    struct cause cause)
{
	struct loop *loop = loop_of(loops, thread);

	if (!loop)
		return;
	loop->turn = *turn;
	loop->cause = cause;
}

/* What the thread received last, if nothing was in between. */
static struct cause cause_of(const struct requests_loops *loops, uint64_t thread,
			     const struct requests_turn *turn)
{
	const struct loop *loop = owned_get(&loops->threads, thread);

	return loop && is_same(&loop->turn, turn) ? loop->cause : (struct cause){0};
}

void requests_loops_asked(struct requests_loops *loops, uint64_t thread,
			  const struct requests_turn *turn, uint64_t served)
{
	receive(loops, thread, turn, (struct cause){.served = served});
}

void requests_loops_got(struct requests_loops *loops, uint64_t thread,
			const struct requests_turn *turn, uint64_t number)
{
	const struct made *made = owned_get(&loops->made, number);
	struct cause cause = {0};

	if (made)
		cause = (struct cause){.served = made->cause.served, .made = number};
	receive(loops, thread, turn, cause);
}

void requests_loops_opened(struct requests_loops *loops, uint64_t thread,
			   const struct requests_turn *turn, uint64_t connection)
{
	struct cause cause = cause_of(loops, thread, turn), *kept;

	if (!cause.served)
		return;
	/* those that never had a request are among them */
	if (loops->connections.count >= OPENED_MAX)
		owned_free(&loops->connections);
	kept = owned_make(&loops->connections, connection, sizeof(*kept), OPENED_MAX);
	if (kept)
		*kept = cause;
}

void requests_loops_used(struct requests_loops *loops, uint64_t connection)
{
	owned_remove(&loops->connections, connection);
}

/* Whether the order told of one, or not. */
static void count(struct requests_loops *loops, uint64_t thread, bool is_told)
{
	struct loop *loop = loop_of(loops, thread);

	if (!loop)
		return;
	if (loop->tried >= TRIED_MOST) {
		loop->tried /= 2;
		loop->told /= 2;
	}
	loop->tried++;
	loop->told += is_told;
}

bool requests_loops_made(struct requests_loops *loops, uint64_t thread,
			 const struct requests_turn *turn, uint64_t connection, uint64_t number,
			 uint64_t known)
{
	struct cause cause = cause_of(loops, thread, turn);
	const struct cause *opened = owned_get(&loops->connections, connection);
	struct made *made = NULL;

	/* one that was opened for it may be ready much later, behind others */
	if (opened)
		cause = *opened;
	requests_loops_used(loops, connection);
	if (known)
		cause.served = known;
	if (cause.served)
		made = owned_make(&loops->made, number, sizeof(*made), MADE_MAX);
	if (!made) {
		if (!known)
			count(loops, thread, false);
		return false;
	}
	*made = (struct made){.number = number,
			      .thread = thread,
			      .cause = cause,
			      .next = owned_get(&loops->served, cause.served),
			      .is_known = known};
	if (map_put(&loops->served, cause.served, (uintptr_t)made))
		return true;
	owned_remove(&loops->made, number);
	return false;
}

/* -- what it turns out to be for --------------------------------------------------------------- */

void requests_loops_roams(struct requests_loops *loops, uint32_t pid)
{
	if (loops->roaming.count >= ROAMING_MAX)
		map_free(&loops->roaming);
	(void)!map_put(&loops->roaming, pid, 1);
}

static bool is_believed(const struct requests_loops *loops, uint64_t thread)
{
	const struct loop *loop = owned_get(&loops->threads, thread);

	return loop && IS_TOLD(loop->told, loop->tried) && !map_get(&loops->roaming, thread >> 32);
}

/* Releases what is due of a thread, or of all. */
static void release_due(struct requests_loops *loops, uint64_t thread, bool of_all)
{
	size_t rest = 0;

	for (size_t i = 0; i < loops->due.count; i++) {
		const struct due due = loops->due.at[i];

		if (of_all || due.thread == thread)
			loops->release(loops->context, due.kept,
				       is_believed(loops, due.thread) ? due.served : 0);
		else
			loops->due.at[rest++] = due;
	}
	loops->due.count = rest;
}

/* It is known of one whether the order tells. */
static void decide(struct requests_loops *loops, struct made *made)
{
	const struct loop *loop;

	if (made->is_counted || made->is_known)
		return;
	made->is_counted = true;
	count(loops, made->thread, made->verdict == VERDICT_AGREE);
	loop = owned_get(&loops->threads, made->thread);
	if (loop && loop->tried == TRIED_LEAST)
		release_due(loops, made->thread, false);
}

/* Releases one that is kept, and decided. */
static void release_one(struct requests_loops *loops, struct made *made)
{
	const struct loop *loop = owned_get(&loops->threads, made->thread);
	const struct due due = {made->thread, made->cause.served, made->kept};

	made->kept = NULL;
	if (!due.kept || (made->verdict == VERDICT_AGREE && loop && loop->tried < TRIED_LEAST &&
			  vec_push(&loops->due, due)))
		return;
	loops->release(loops->context, due.kept,
		       made->verdict == VERDICT_AGREE && is_believed(loops, due.thread) ? due.served
											: 0);
}

/* The one behind whose answer something happened, and those before it in its chain. */
static void settle(struct requests_loops *loops, uint64_t number, bool agree)
{
	for (unsigned int i = 0; number && i < CHAIN_MAX; i++) {
		struct made *made = owned_get(&loops->made, number);

		if (!made)
			return;
		number = made->cause.made;
		if (made->is_known || made->verdict)
			continue;
		made->verdict = agree ? VERDICT_AGREE : VERDICT_DISAGREE;
		/* it stays in the list of the one that it seemed to be for */
		if (!agree)
			made->cause = (struct cause){0};
		decide(loops, made);
	}
}

void requests_loops_answered(struct requests_loops *loops, uint64_t thread,
			     const struct requests_turn *turn, uint64_t served)
{
	struct cause cause = cause_of(loops, thread, turn);

	if (served && cause.served && cause.made)
		settle(loops, cause.made, cause.served == served);
}

/* -- ends -------------------------------------------------------------------------------------- */

bool requests_loops_over(struct requests_loops *loops, uint64_t number, void *kept)
{
	struct made *made = owned_get(&loops->made, number);

	if (!made)
		return false;
	made->is_over = true;
	made->kept = kept;
	if (made->is_alone || made->verdict) {
		decide(loops, made);
		release_one(loops, made);
	}
	if (made->is_alone)
		owned_remove(&loops->made, number);
	return kept;
}

void requests_loops_served(struct requests_loops *loops, uint64_t served)
{
	struct made *made = owned_get(&loops->served, served), *next;

	map_remove(&loops->served, served);
	for (; made; made = next) {
		next = made->next;
		made->is_alone = true;
		if (!made->verdict && !made->is_known)
			made->cause = (struct cause){0};
		decide(loops, made);
		release_one(loops, made);
		if (made->is_over)
			owned_remove(&loops->made, made->number);
	}
}

void requests_loops_tick(struct requests_loops *loops)
{
	release_due(loops, 0, true);
}

void requests_loops_flush(struct requests_loops *loops)
{
	uint64_t key, value;

	for (size_t i = 0; map_next(&loops->made, &i, &key, &value);) {
		struct made *made = (struct made *)(uintptr_t)value;

		if (made->kept)
			decide(loops, made);
		release_one(loops, made);
	}
	release_due(loops, 0, true);
}

/* -- the row of the table of evidence ---------------------------------------------------------- */

/* Its thread has served several. Where there are tasks, they are the evidence. */
static bool made_by_order(void *state, const struct requests_event *event)
{
	const struct requests_record *record = event->record;
	struct asked *asked = event->asked;
	bool has_id = asked->row.flags & FILM_REQUEST_PARENT_BY_ID;

	if (has_id || (asked->thread_serves && !record->task))
		requests_loops_made(state, key_of_thread(&asked->identity), &record->turn,
				    record->connection, asked->row.number, asked->row.parent);
	return false;
}

static bool keep(void *state, const struct asked *asked, struct asked *kept)
{
	return requests_loops_over(state, asked->row.number, asked->row.parent ? NULL : kept);
}

static void release_with_parent(void *context, void *kept, uint64_t parent)
{
	requests_evidence_settle(context, &requests_by_order, kept, parent);
}

/* A thread that hands its connections to others, or takes over theirs, is none of an event loop. */
static void see_roaming(struct requests_loops *loops, const struct connection *connection)
{
	const uint64_t *threads = connection->threads;

	if (threads[0] >> 32 == threads[1] >> 32 && threads[0] != threads[1])
		requests_loops_roams(loops, (uint32_t)(threads[0] >> 32));
}

/* A piece is moved, or has been read since (is_read). */
static void see_piece(const struct requests_track *track, struct requests_loops *loops,
		      const struct connection *connection, const struct requests_record *record,
		      bool is_read)
{
	uint64_t thread = key_of_thread(&record->identity);
	uint64_t number = requests_track_only_one(connection);
	bool is_sent = record->flags & REQUESTS_SENT;
	bool is_served = connection->role == FILM_REQUEST_SERVED;

	/* a thread of Go is none of an event loop */
	if (requests_served_has_lanes(track, &record->identity))
		return;
	if (!is_read)
		see_roaming(loops, connection);
	if (!is_read && is_sent && is_served)
		requests_loops_answered(loops, thread, &record->turn, number);
	if (!is_read && !is_sent && connection->role == FILM_REQUEST_MADE)
		requests_loops_got(loops, thread, &record->turn, number);
	if (is_read && !is_sent && is_served)
		requests_loops_asked(loops, thread, &record->turn, number);
}

static void see(void *state, const struct requests_event *event)
{
	const struct requests_record *record = event->record;

	switch (event->fact) {
	case REQUESTS_FACT_CONNECTS:
		requests_loops_opened(state, key_of_thread(&record->identity), &record->turn,
				      record->connection);
		break;
	case REQUESTS_FACT_MOVES:
	case REQUESTS_FACT_MOVED:
		see_piece(event->track, state, event->connection, record,
			  event->fact == REQUESTS_FACT_MOVED);
		break;
	case REQUESTS_FACT_CLOSED:
		requests_loops_used(state, event->number);
		break;
	case REQUESTS_FACT_OVER:
		if (event->asked->row.role == FILM_REQUEST_SERVED)
			requests_loops_served(state, event->asked->row.number);
		break;
	case REQUESTS_FACT_TICK:
		requests_loops_tick(state);
		break;
	case REQUESTS_FACT_ENDS:
		requests_loops_flush(state);
		break;
	default:
		break;
	}
}

REQUESTS_EVIDENCE_STATE(requests_loops, release_with_parent)

const struct requests_evidence requests_by_order = {
	.flags = FILM_REQUEST_PARENT_BY_ORDER,
	.create = create,
	.free = free_state,
	.made = made_by_order,
	.keep = keep,
	.see = see,
};
