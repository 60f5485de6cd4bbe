// SPDX-License-Identifier: Apache-2.0
#include "sources/requests/marker.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/owned.h"
#include "base/vec.h"
#include "sources/requests/track_private.h"
#include "protocol/marker.h"

/*
 * Which requests threads, tasks and goroutines work for, as they have said themselves. A place is a
 * number of one of these, a key one of a request, as the caller has them. All zero is empty.
 */
struct requests_places {
	struct map all; /* place: a struct place */
};

struct requests_held {
	uint64_t key, number;
	uint64_t parent; /* the number of the request that it is within; 0: none that is known */
};

/* The most that are not over, of one process and of all. */
#define PROCESS_MAX 1024
#define MARKS_MAX   16384

/* What a process has begun, before that which is over is taken out. */
#define ORDER_MAX (4 * PROCESS_MAX)

/* The number of their connection: sockets have lower ones. */
#define CONNECTION UINT64_MAX

/* Beside each request of the connection's queue, at the same place. */
struct mark {
	uint64_t key;	/* of the id within the process */
	uint64_t place; /* of the thread or task that works for it; 0: not known */
};

struct begun {
	uint64_t key, number;
};

struct process {
	uint32_t pid;
	size_t open;
	vec(struct begun) order; /* as they were begun; some may be over */
	size_t first;		 /* those before it are */
};

struct requests_marker {
	struct requests_track *track;
	vec(struct mark) marks;
	struct map by_key;    /* key: where it is in the queue */
	struct map processes; /* pid: a struct process */
	struct requests_places places;
	struct requests_marker_counts counts;
};

struct requests_marker *requests_marker_new(struct requests_track *track)
{
	struct requests_marker *marker = calloc(1, sizeof(*marker));

	if (!marker)
		return NULL;
	marker->track = track;
	track->marker = marker;
	return marker;
}

/* The last one is what it began last. */
struct place {
	bool is_concurrent;
	vec(struct requests_held) open;
};

static void requests_places_free(struct requests_places *places)
{
	uint64_t key, value;

	for (size_t i = 0; map_next(&places->all, &i, &key, &value);)
		vec_free(&((struct place *)(uintptr_t)value)->open);
	owned_free(&places->all);
}

/* Whether it works for any. */
static bool requests_places_has(const struct requests_places *places, uint64_t place)
{
	return owned_get(&places->all, place);
}

static void drop_if_empty(struct requests_places *places, uint64_t key, struct place *place)
{
	if (place->open.count)
		return;
	vec_free(&place->open);
	owned_remove(&places->all, key);
}

/*
 * It works for that one from now on, and is within none that it works for now but its parent.
 * is_turn: it has worked for it before, and for others since. False: no memory.
 */
static bool requests_places_enter(struct requests_places *places, uint64_t key,
				  const struct requests_held *held, bool is_turn)
{
	struct place *place = owned_make(&places->all, key, sizeof(*place), SIZE_MAX);
	bool done;

	if (!place)
		return false;
	place->is_concurrent |= is_turn;
	done = vec_push(&place->open, *held);
	drop_if_empty(places, key, place);
	return done;
}

/* It does not work for that one any more. */
static void requests_places_leave(struct requests_places *places, uint64_t key, uint64_t request)
{
	struct place *place = owned_get(&places->all, key);
	size_t kept = 0;

	if (!place)
		return;
	vec_foreach (&place->open, held)
		if (held->key != request)
			place->open.at[kept++] = *held;
	place->open.count = kept;
	drop_if_empty(places, key, place);
}

/*
 * The number of the one that it works for now; 0: that is not known. *outer: what else it may serve
 * meanwhile, as it is within that: a number, or 0. is_concurrent: it has said more.
 */
static uint64_t requests_places_current(const struct requests_places *places, uint64_t key,
					uint64_t *outer, bool *is_concurrent)
{
	const struct place *place = owned_get(&places->all, key);
	const struct requests_held *held = place ? vec_last(&place->open) : NULL;

	*outer = 0;
	*is_concurrent = place && place->is_concurrent;
	if (!held)
		return 0;
	if (place->is_concurrent)
		return held->number;
	/* each of them must be within the one that was begun before it */
	for (*outer = held->parent; held != place->open.at; *outer = held->parent)
		if ((--held)->number != *outer)
			return 0;
	return vec_last(&place->open)->number;
}

static void drop_all(struct requests_marker *marker)
{
	uint64_t key, value;

	for (size_t i = 0; map_next(&marker->processes, &i, &key, &value);)
		vec_free(&((struct process *)(uintptr_t)value)->order);
	requests_places_free(&marker->places);
	owned_free(&marker->processes);
	map_free(&marker->by_key);
	vec_free(&marker->marks);
}

void requests_marker_free(struct requests_marker *marker)
{
	if (!marker)
		return;
	drop_all(marker);
	marker->track->marker = NULL;
	free(marker);
}

struct requests_marker_counts requests_marker_counts(const struct requests_marker *marker)
{
	return marker->counts;
}

/* -- where they are worked for ----------------------------------------------------------------- */

/* Whether a task tells what is worked for, and not the thread; task: of the record. */
static bool has_tasks(const struct requests_track *track, const struct capture_identity *identity,
		      uint64_t task)
{
	return task || requests_served_has_lanes(track, identity);
}

/* 0: in Go, which goroutine it is is not known. */
static uint64_t place_of(const struct requests_track *track,
			 const struct capture_identity *identity, uint64_t task)
{
	/* a later thread may have the same number */
	const uint64_t what[] = {key_of_thread(identity), identity->thread_start};

	return has_tasks(track, identity, task) ? requests_served_task(identity, task)
						: hash_bytes(what, sizeof(what)) | 1;
}

/* How many it serves of those that came by sockets; if it is one, *number is that one's, else 0. */
static uint64_t served_by(const struct requests_track *track,
			  const struct capture_identity *identity, uint64_t task, uint64_t *number)
{
	if (has_tasks(track, identity, task))
		return requests_open_find(&track->by_goroutine,
					  requests_served_task(identity, task), number);
	return requests_open_find(&track->by_thread, key_of_thread(identity), number);
}

static void leave(struct requests_marker *marker, struct mark *mark)
{
	if (mark->place)
		requests_places_leave(&marker->places, mark->place, mark->key);
	mark->place = 0;
}

/* Without memory it is not known where it is worked for, and no request is made for it. */
static void enter(struct requests_marker *marker, struct mark *mark, const struct asked *asked,
		  uint64_t place, bool is_turn)
{
	struct requests_held held = {mark->key, asked->row.number, asked->row.parent};

	if (place && requests_places_enter(&marker->places, place, &held, is_turn))
		mark->place = place;
}

/* If there are markers where it is made, they alone say for which one it is. */
static bool made_by_marker(void *state, const struct requests_event *event)
{
	const struct requests_record *record = event->record;
	const struct requests_track *track = event->track;
	struct asked *asked = event->asked;
	const struct requests_marker *marker = track->marker;
	uint64_t task = record->works_for ? record->works_for : record->task;
	uint64_t place, outer, served, current, open;
	bool is_concurrent;

	(void)state;
	if (asked->row.parent || !marker || !marker->marks.count)
		return false;
	place = place_of(track, &asked->identity, task);
	if (!place || !requests_places_has(&marker->places, place))
		return false;
	current = requests_places_current(&marker->places, place, &outer, &is_concurrent);
	open = served_by(track, &asked->identity, task, &served);
	/* what came by a socket meanwhile, it may work for as well */
	if (!is_concurrent && open && (open > 1 || served != outer))
		current = 0;
	asked->row.parent = current;
	if (current)
		asked->row.flags |= FILM_REQUEST_PARENT_BY_MARKER;
	asked->is_one_of = !current;
	return true;
}

const struct requests_evidence requests_by_marker = {
	.flags = FILM_REQUEST_PARENT_BY_MARKER,
	.made = made_by_marker,
};

/* -- what is begun and ended ------------------------------------------------------------------- */

/* The connection that they all have; its queue has those that are not over. Null: no memory. */
static struct connection *connection_of(struct requests_marker *marker)
{
	static const struct protocol protocol = {.id = FILM_PROTOCOL_MARKER};
	struct requests_track *track = marker->track;
	const struct connection connection = {
		.number = CONNECTION,
		.protocol = &protocol,
		.role = FILM_REQUEST_SERVED,
	};
	const uint64_t *at = map_get(&track->index, CONNECTION);

	if (at)
		return &track->all.at[*at];
	/* it had none for long, and was forgotten */
	drop_all(marker);
	if (!vec_push(&track->all, connection))
		return NULL;
	if (map_put(&track->index, CONNECTION, track->all.count - 1))
		return vec_last(&track->all);
	track->all.count--;
	return NULL;
}

static struct process *process_at(struct requests_marker *marker, uint32_t pid)
{
	struct process *process = owned_make(&marker->processes, pid, sizeof(*process), SIZE_MAX);

	if (process)
		process->pid = pid;
	return process;
}

/* Null: it is over. */
static struct asked *asked_of(const struct requests_marker *marker, struct connection *connection,
			      const struct begun *begun)
{
	const uint64_t *at = map_get(&marker->by_key, begun->key);
	struct asked *asked = at ? &connection->queue.at[*at] : NULL;

	return asked && asked->row.number == begun->number ? asked : NULL;
}

/* It is over, or given up. The last one of the queue takes its place. */
static void finish(struct requests_marker *marker, struct connection *connection,
		   struct asked *asked, uint64_t now)
{
	size_t at = (size_t)(asked - connection->queue.at), last = connection->queue.count - 1;
	struct process *process = owned_get(&marker->processes, asked->identity.pid);

	requests_asked_row(asked, now);
	requests_open_change(&marker->track->by_id, asked->id_key, asked->row.number, -1);
	requests_evidence_over(marker->track, asked, now);
	leave(marker, &marker->marks.at[at]);
	map_remove(&marker->by_key, marker->marks.at[at].key);
	if (at != last) {
		*asked = connection->queue.at[last];
		marker->marks.at[at] = marker->marks.at[last];
		*map_get(&marker->by_key, marker->marks.at[at].key) = at;
	}
	connection->queue.count--;
	marker->marks.count--;
	if (process && process->open)
		process->open--;
}

/* Takes out what is over: from the front, and everywhere if there is much. */
static void tidy(struct requests_marker *marker, struct connection *connection,
		 struct process *process)
{
	size_t kept = 0;

	while (process->first < process->order.count &&
	       !asked_of(marker, connection, &process->order.at[process->first]))
		process->first++;
	if (process->order.count < ORDER_MAX)
		return;
	for (size_t i = process->first; i < process->order.count; i++)
		if (asked_of(marker, connection, &process->order.at[i]))
			process->order.at[kept++] = process->order.at[i];
	process->order.count = kept;
	process->first = 0;
}

/* Room for one more; the oldest is given up for it. */
static bool make_room(struct requests_marker *marker, struct connection *connection,
		      struct process *process, uint64_t now)
{
	tidy(marker, connection, process);
	if (process->open >= PROCESS_MAX && process->first < process->order.count) {
		finish(marker, connection,
		       asked_of(marker, connection, &process->order.at[process->first]), now);
		marker->counts.given_up++;
	}
	return connection->queue.count < MARKS_MAX && process->open < PROCESS_MAX;
}

/* What it is in: what the line says, else what came by a socket to the thread. */
static void find_outer(struct requests_marker *marker, const struct connection *connection,
		       struct asked *asked, const char *parent, uint64_t task)
{
	struct film_request *row = &asked->row;
	const uint64_t *at;

	if (*parent) {
		at = map_get(&marker->by_key, requests_served_id(&asked->identity, parent));
		row->parent = at ? connection->queue.at[*at].row.number : 0;
		row->flags |= at ? FILM_REQUEST_PARENT_BY_MARKER : 0;
	} else {
		served_by(marker->track, &asked->identity, task, &row->parent);
	}
}

static bool add(struct requests_marker *marker, struct connection *connection,
		struct process *process, const struct asked *asked)
{
	struct mark mark = {.key = asked->id_key};

	if (!vec_reserve(&process->order, process->order.count + 1) ||
	    !vec_reserve(&marker->marks, marker->marks.count + 1) ||
	    !vec_push(&connection->queue, *asked))
		return false;
	if (!map_put(&marker->by_key, mark.key, connection->queue.count - 1)) {
		connection->queue.count--;
		return false;
	}
	vec_push(&marker->marks, mark);
	vec_push(&process->order, (struct begun){mark.key, asked->row.number});
	process->open++;
	requests_open_change(&marker->track->by_id, asked->id_key, asked->row.number, 1);
	return true;
}

static struct asked *begin(struct requests_marker *marker, struct connection *connection,
			   const struct requests_record *record, const struct marker *line)
{
	struct requests_track *track = marker->track;
	struct process *process = process_at(marker, record->identity.pid);
	const char *endpoint = *line->endpoint ? line->endpoint : "<no endpoint>";
	struct asked asked = {
		.row =
			{
				.protocol = FILM_PROTOCOL_MARKER,
				.role = FILM_REQUEST_SERVED,
				.id_kind = FILM_REQUEST_ID_MARKER,
			},
		.begun = record->head.time,
		.last = record->head.time,
		.identity = record->identity,
		.id_key = requests_served_id(&record->identity, line->id),
	};

	if (!process || !make_room(marker, connection, process, record->head.time)) {
		marker->counts.refused++;
		return NULL;
	}
	asked.row.number = track->next++;
	strcpy(asked.endpoint, endpoint);
	memcpy(asked.row.id, line->id, strnlen(line->id, FILM_REQUEST_ID));
	if (strlen(line->id) > FILM_REQUEST_ID)
		asked.row.flags |= FILM_REQUEST_ID_CUT;
	asked.row.thread = track->to.thread(track->to.context, &asked.identity);
	find_outer(marker, connection, &asked, line->parent, record->task);
	if (add(marker, connection, process, &asked))
		return vec_last(&connection->queue);
	marker->counts.refused++;
	return NULL;
}

/* It begins, or goes on, in the current thread. */
static void handle_begin_line(struct requests_marker *marker, struct connection *connection,
			      const struct requests_record *record, const struct marker *line)
{
	const struct capture_identity *identity = &record->identity;
	uint64_t place = place_of(marker->track, identity, record->task);
	const uint64_t *at = map_get(&marker->by_key, requests_served_id(identity, line->id));
	struct asked *asked =
		at ? &connection->queue.at[*at] : begin(marker, connection, record, line);
	struct mark *mark;
	bool is_here;

	if (!asked)
		return;
	mark = &marker->marks.at[asked - connection->queue.at];
	is_here = place && mark->place == place;
	asked->last = record->head.time;
	leave(marker, mark);
	/* one that goes on alone where it was has not had a turn of another one in between */
	enter(marker, mark, asked, place, is_here && requests_places_has(&marker->places, place));
}

static void handle_end_line(struct requests_marker *marker, struct connection *connection,
			    const struct requests_record *record, const struct marker *line)
{
	struct requests_track *track = marker->track;
	const uint64_t *at =
		map_get(&marker->by_key, requests_served_id(&record->identity, line->id));
	struct asked *asked = at ? &connection->queue.at[*at] : NULL;

	if (!asked) {
		marker->counts.unbegun++;
		return;
	}
	asked->is_answered = true;
	asked->first = asked->last = record->head.time;
	asked->answerer = record->identity;
	asked->row.answerer = track->to.thread(track->to.context, &record->identity);
	asked->row.status = line->status;
	if (line->failed)
		asked->row.flags |= FILM_REQUEST_FAILED;
	finish(marker, connection, asked, record->head.time);
}

void requests_marker_handle(struct requests_marker *marker, const struct requests_record *record)
{
	const char *at = (const char *)(record + 1), *end = at + record->copied;
	bool is_cut = record->copied < record->length;
	struct connection *connection;
	struct marker line;

	if (record->copied > record->length ||
	    record->head.size != sizeof(*record) + record->copied) {
		marker->track->counts.damaged++;
		return;
	}
	if (record->flags & REQUESTS_UNREAD) {
		marker->counts.unread++;
		return;
	}
	while (is_cut && end > at && end[-1] != '\n')
		end--;
	marker->counts.cut += is_cut;
	connection = connection_of(marker);
	if (!connection)
		return;
	connection->last = record->head.time;
	for (;;) {
		switch (marker_read(&at, end, &line)) {
		case MARKER_OVER:
			return;
		case MARKER_STRANGE:
			marker->counts.strange++;
			break;
		case MARKER_BEGIN:
			handle_begin_line(marker, connection, record, &line);
			break;
		case MARKER_END:
			handle_end_line(marker, connection, record, &line);
			break;
		}
	}
}

void requests_marker_process_ended(struct requests_marker *marker, pid_t pid, uint64_t now)
{
	struct process *process = owned_get(&marker->processes, (uint64_t)pid);
	struct connection *connection = process ? connection_of(marker) : NULL;

	/* it may have dropped all */
	process = owned_get(&marker->processes, (uint64_t)pid);
	if (!connection || !process)
		return;
	for (size_t i = process->first; i < process->order.count; i++) {
		struct asked *asked = asked_of(marker, connection, &process->order.at[i]);

		if (asked)
			finish(marker, connection, asked, now);
	}
	vec_free(&process->order);
	owned_remove(&marker->processes, (uint64_t)pid);
}
