// SPDX-License-Identifier: Apache-2.0
/* For which request that is served another one is made. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sources/requests/marker.h"
#include "sources/requests/track_private.h"

/* Of an id within a process: the same one passes through others of the machine. */
uint64_t requests_parents_id(const struct capture_identity *identity, const char *id)
{
	return *id ? hash_u64(hash_bytes(id, strlen(id)) ^ identity->pid) | 1 : 0;
}

uint64_t requests_parents_task(const struct capture_identity *identity, uint64_t number)
{
	const uint64_t what[] = {identity->pid, identity->exec_id, number};

	return number ? hash_bytes(what, sizeof(what)) | 1 : 0;
}

bool requests_parents_has_goroutines(const struct requests_track *track,
				     const struct capture_identity *identity)
{
	return track->to.has_goroutines &&
	       track->to.has_goroutines(track->to.context, (pid_t)identity->pid);
}

void requests_parents_serve(struct requests_track *track, const struct asked *asked, int64_t by,
			    uint64_t time)
{
	if (asked->row.role != FILM_REQUEST_SERVED)
		return;
	requests_open_change(&track->by_thread, key_of_thread(&asked->identity), asked->row.number,
			     by);
	if (asked->id_key)
		requests_open_change(&track->by_id, asked->id_key, asked->row.number, by);
	if (asked->goroutine_key)
		requests_open_change_at(&track->by_goroutine, asked->goroutine_key,
					asked->row.number, by, time);
}

/*
 * The request of the goroutine that has started that one, or of one further up: if it has served
 * that one alone ever since it started what leads there. 0: not known.
 */
static uint64_t find_by_start(struct requests_track *track, struct asked *asked, uint64_t goroutine)
{
	const struct requests_start *start = requests_starts_find(track->starts, goroutine);
	struct requests_line *line = &asked->line;
	uint64_t parent = 0, open = 0;

	while (start && !start->handles && !open && line->count < REQUESTS_LINE_MAX) {
		uint64_t starter = start->starter, since = start->since;

		line->goroutines[line->count++] = start->goroutine;
		open = requests_open_find(&track->by_goroutine, starter, &parent);
		parent = requests_open_since(&track->by_goroutine, starter, since);
		start = requests_starts_find(track->starts, starter);
	}
	/* of several it may yet be the one that it has worked for before */
	if (open > 1 || !requests_starts_made(track->starts, line, parent))
		parent = 0;
	if (!parent)
		line->count = 0;
	return parent;
}

/*
 * A goroutine does one thing after the other, on whichever thread: what it makes while it serves
 * one request is made for that one. If it serves none, the one may that has started it.
 */
static void find_by_goroutine(struct requests_track *track, struct asked *asked, uint64_t maker)
{
	uint64_t key = requests_parents_task(&asked->identity, maker);
	uint64_t open = key ? requests_open_find(&track->by_goroutine, key, &asked->row.parent) : 0;

	if (open == 1 && asked->row.parent) {
		asked->row.flags |= FILM_REQUEST_PARENT_BY_GOROUTINE;
		return;
	}
	asked->row.parent = key && !open ? find_by_start(track, asked, key) : 0;
	if (asked->row.parent)
		asked->row.flags |= FILM_REQUEST_PARENT_BY_START;
}

void requests_parents_asker(struct requests_track *track, struct asked *asked, uint64_t number)
{
	asked->row.goroutine = number;
	if (!asked->row.parent)
		find_by_goroutine(track, asked, number);
}

/* One that is made in Go, by that piece. */
static void find_in_go(struct requests_track *track, struct asked *asked,
		       const struct requests_record *record, uint64_t reader)
{
	uint64_t maker = record->works_for ? record->works_for : record->task;
	uint64_t asker = asked->stream ? requests_streams_made(track, asked, reader) : 0;
	const struct requests_start *start;

	if (asked->row.flags & FILM_REQUEST_PARENT_BY_ID)
		return;
	asked->row.parent = 0;
	if (asker) {
		requests_parents_asker(track, asked, asker);
		return;
	}
	find_by_goroutine(track, asked, maker);
	start = asked->stream && asked->line.count
			? requests_starts_find(track->starts, asked->line.goroutines[0])
			: NULL;
	/* net/http starts a goroutine for each request of HTTP/2, and waits for it */
	if (start)
		asked->row.goroutine = start->number;
}

/*
 * For which request it is made. The id says it, if just one that is served has it; else the thread
 * (of Go, the goroutine), if it serves just one; else the task that will have answered one
 * (camera/lanes/tasks.h), or what its thread did before, and will do with the answer
 * (loops.h); else, where a proxy passes it on, what both say (passed.h). A wrong one is worse than
 * none.
 */
void requests_parents_find(struct requests_track *track, struct asked *asked,
			   const struct requests_record *record, uint64_t reader)
{
	uint64_t by_thread, by_id = 0, thread = key_of_thread(&asked->identity);
	uint64_t open = requests_open_find(&track->by_thread, thread, &by_thread);
	struct film_request *row = &asked->row;
	bool may_be_for;

	if (asked->id_key)
		requests_open_find(&track->by_id, asked->id_key, &by_id);
	if (by_id)
		row->flags |= FILM_REQUEST_PARENT_BY_ID;
	row->parent = by_id ? by_id : by_thread;
	if (!by_id && requests_marker_find(track->marker, asked, record)) {
		track->counts.ambiguous += !row->parent;
		return;
	}
	asked->is_one_of = open && !row->parent;
	if (requests_parents_has_goroutines(track, &asked->identity)) {
		find_in_go(track, asked, record, reader);
		/* it may yet turn out, or is counted at its end */
		asked->may_be_for = asked->is_one_of;
		return;
	}
	may_be_for = requests_passed_made(track->passed, (pid_t)asked->identity.pid, asked->says,
					  row->number, row->parent, asked->begun);
	asked->is_of_task = (open || by_id) && !by_id && record->task;
	if (asked->is_of_task)
		may_be_for |= requests_tasks_made(
			track->tasks, requests_parents_task(&asked->identity, record->task),
			asked->identity.pid, row->number, asked->begun);
	else if (open || by_id)
		may_be_for |= requests_loops_made(track->loops, thread, &record->turn,
						  record->connection, row->number, row->parent);
	asked->may_be_for = may_be_for && !row->parent;
	track->counts.ambiguous += asked->is_one_of && !asked->may_be_for;
}

/* What the thread of a piece has published: it knows better than any header. */
void requests_parents_context(struct requests_track *track, struct asked *asked,
			      const struct requests_record *record)
{
	char id[FILM_REQUEST_ID + 1] = "";
	uint8_t any = 0;

	if (!(record->flags & REQUESTS_CONTEXT))
		return;
	for (size_t i = 0; i < sizeof(record->trace); i++) {
		any |= record->trace[i];
		snprintf(id + 2 * i, 3, "%02x", record->trace[i]);
	}
	if (!any || !strncmp(asked->row.id, id, FILM_REQUEST_ID))
		return;
	requests_parents_serve(track, asked, -1, 0);
	memcpy(asked->row.id, id, sizeof(asked->row.id));
	asked->row.id_kind = FILM_REQUEST_ID_CONTEXT;
	asked->row.flags &= ~(uint32_t)FILM_REQUEST_ID_CUT;
	asked->id_key = requests_parents_id(&asked->identity, id);
	requests_parents_serve(track, asked, 1, asked->begun);
}

/* -- what is kept until that is known ---------------------------------------------------------- */

static void write_row(struct requests_track *track, struct asked *asked)
{
	track->to.write(track->to.context, &asked->row, asked->endpoint, &asked->identity,
			asked->is_slow);
}

/* It is known now, as far as it ever will be; flag: by what. */
static void settle(struct requests_track *track, struct asked *asked, uint64_t parent,
		   uint32_t flag)
{
	if (parent) {
		asked->row.parent = parent;
		asked->row.flags |= flag;
	}
	track->counts.ambiguous += asked->is_one_of && !asked->row.parent;
	write_row(track, asked);
	free(asked);
}

/*
 * One that was made, and was kept until it could be known for which request; flag: by what. If it
 * did not turn out, it is for the one that its thread served alone, if there was one; else it may
 * turn out by what both say.
 */
static void give(struct requests_track *track, struct asked *asked, uint64_t parent, uint32_t flag)
{
	bool is_known = parent || asked->row.parent;

	if (!requests_passed_over(track->passed, asked->row.number, is_known ? NULL : asked))
		settle(track, asked, parent, flag);
}

void requests_parents_by_content(void *context, void *kept, uint64_t parent)
{
	settle(context, kept, parent, FILM_REQUEST_PARENT_BY_CONTENT);
}

void requests_parents_by_order(void *context, void *kept, uint64_t parent)
{
	give(context, kept, parent, FILM_REQUEST_PARENT_BY_ORDER);
}

void requests_parents_by_task(void *context, void *kept, uint64_t parent)
{
	give(context, kept, parent, FILM_REQUEST_PARENT_BY_TASK);
}

void requests_parents_by_start(void *context, void *kept, bool is_right)
{
	struct asked *asked = kept;

	if (!is_right) {
		asked->row.parent = 0;
		asked->row.flags &= ~(uint32_t)FILM_REQUEST_PARENT_BY_START;
		asked->is_one_of = true;
	}
	give(context, asked, 0, 0);
}

void requests_parents_by_thread(void *context, void *kept, bool is_wrong)
{
	struct asked *asked = kept;

	if (is_wrong) {
		asked->row.parent = 0;
		asked->is_one_of = true;
	}
	settle(context, asked, 0, 0);
}

/* Whether only its thread says for which one it is: it served that one alone. */
static bool is_by_thread(struct requests_track *track, const struct asked *asked)
{
	const uint32_t by_more = FILM_REQUEST_PARENT_BY_ID | FILM_REQUEST_PARENT_BY_MARKER;

	return asked->row.role == FILM_REQUEST_MADE && asked->row.parent &&
	       !(asked->row.flags & by_more) &&
	       !requests_parents_has_goroutines(track, &asked->identity);
}

static bool is_kept(struct requests_track *track, const struct asked *asked, void *kept)
{
	uint64_t number = asked->row.number;
	void *unknown = asked->row.parent ? NULL : kept;

	if (asked->row.role != FILM_REQUEST_MADE)
		return false;
	if (asked->line.count)
		return kept &&
		       requests_starts_keep(track->starts, &asked->line, asked->row.parent, kept);
	if (asked->is_of_task ? requests_tasks_over(track->tasks, number, unknown)
			      : requests_loops_over(track->loops, number, unknown))
		return true;
	return requests_passed_over(track->passed, number, unknown) ||
	       (is_by_thread(track, asked) &&
		requests_early_keep(track->early, key_of_thread(&asked->identity), asked->begun,
				    kept));
}

/* Writes a request that is over, unless it is kept until it is known for which one it was made. */
void requests_parents_over(struct requests_track *track, struct asked *asked)
{
	bool may_change = asked->may_be_for || asked->line.count || is_by_thread(track, asked);
	struct asked *kept = may_change ? malloc(sizeof(*kept)) : NULL;

	if (kept)
		*kept = *asked;
	if (is_kept(track, asked, kept))
		return;
	free(kept);
	track->counts.ambiguous += asked->is_one_of && asked->may_be_for && !asked->row.parent;
	write_row(track, asked);
	if (asked->row.role == FILM_REQUEST_SERVED)
		requests_loops_served(track->loops, asked->row.number);
}

static bool is_served(void *context, uint64_t number)
{
	return map_get(context, number);
}

void requests_parents_tick(struct requests_track *track)
{
	struct map open = {0};

	if (!requests_starts_has_kept(track->starts))
		return;
	vec_foreach (&track->all, connection)
		vec_foreach (&connection->queue, asked)
			/* without memory it is taken to be over */
			if (asked->row.role == FILM_REQUEST_SERVED)
				(void)!map_put(&open, asked->row.number, 1);
	requests_starts_tick(track->starts, is_served, &open);
	map_free(&open);
}

/* -- pieces of an event loop ------------------------------------------------------------------- */

/* The request that a piece is about, if there is just one. */
static uint64_t only_one(const struct connection *connection)
{
	return connection->queue.count == 1 && !connection->queue.at[0].stream
		       ? connection->queue.at[0].row.number
		       : 0;
}

/* A thread that hands its connections to others, or takes over theirs, is none of an event loop. */
static void see_roaming(struct requests_track *track, const struct connection *connection)
{
	const uint64_t *threads = connection->threads;

	if (threads[0] >> 32 == threads[1] >> 32 && threads[0] != threads[1])
		requests_loops_roams(track->loops, (uint32_t)(threads[0] >> 32));
}

static void see_task(struct requests_track *track, struct connection *connection,
		     const struct requests_record *record, uint64_t served)
{
	const struct requests_tasks_answer answer = {
		.pid = record->identity.pid,
		.served = served,
		.connection = connection->number,
		.begun = served ? connection->queue.at[0].begun : 0,
		.time = record->head.time,
	};

	if (served && !connection->queue.at[0].row.goroutine)
		connection->queue.at[0].row.goroutine = record->works_for;
	if (served && record->task)
		requests_tasks_answered(track->tasks,
					requests_parents_task(&record->identity, record->task),
					&answer);
}

void requests_parents_before(struct requests_track *track, struct connection *connection,
			     const struct requests_record *record)
{
	uint64_t thread = key_of_thread(&record->identity), number = only_one(connection);
	bool is_sent = record->flags & REQUESTS_SENT;

	/* a thread of Go is none of an event loop */
	if (requests_parents_has_goroutines(track, &record->identity))
		return;
	see_roaming(track, connection);
	if (is_sent && connection->role == FILM_REQUEST_SERVED) {
		requests_loops_answered(track->loops, thread, &record->turn, number);
		see_task(track, connection, record, number);
	}
	if (!is_sent && connection->role == FILM_REQUEST_MADE)
		requests_loops_got(track->loops, thread, &record->turn, number);
}

void requests_parents_behind(struct requests_track *track, const struct connection *connection,
			     const struct requests_record *record)
{
	if (!(record->flags & REQUESTS_SENT) && connection->role == FILM_REQUEST_SERVED &&
	    !requests_parents_has_goroutines(track, &record->identity))
		requests_loops_asked(track->loops, key_of_thread(&record->identity), &record->turn,
				     only_one(connection));
}

void requests_track_opened(struct requests_track *track, const struct requests_record *record)
{
	requests_loops_opened(track->loops, key_of_thread(&record->identity), &record->turn,
			      record->connection);
}
