// SPDX-License-Identifier: Apache-2.0
#include "camera/requests_track.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "camera/requests_track_private.h"

#define SECOND_NS 1000000000ull

/* The most connections, and the most requests of one that have no answer yet. */
#define CONNECTIONS_MAX 65536
#define QUEUE_MAX	1024

/* An answer of unknown length is over after so long without a byte. */
#define QUIET_NS SECOND_NS

/* A connection that had nothing for so long, and no request, is forgotten. */
#define FORGET_NS (120 * SECOND_NS)

/* A piece that is being read. */
struct taking {
	struct requests_track *track;
	struct connection *connection;
	const struct requests_record *record;
	const struct capture_identity *identity; /* with its name */
	uint64_t time;
	uint32_t stream; /* that is reported; 0: there are none */
};

static void write_row(struct requests_track *track, struct asked *asked)
{
	track->to.write(track->to.context, &asked->row, asked->endpoint, &asked->identity,
			asked->is_slow);
}

/* One that was made, and was kept until it could be known for which request (requests_loops.h). */
static void give_made(void *context, void *kept, uint64_t parent)
{
	struct requests_track *track = context;
	struct asked *asked = kept;

	asked->row.parent = parent;
	if (parent)
		asked->row.flags |= FILM_REQUEST_PARENT_BY_ORDER;
	track->counts.ambiguous += !parent;
	write_row(track, asked);
	free(asked);
}

struct requests_track *requests_track_new(const struct requests_to *to, uint64_t first)
{
	struct requests_track *track = calloc(1, sizeof(*track));

	if (!track)
		return NULL;
	track->to = *to;
	track->next = first;
	track->loops = requests_loops_new(give_made, track);
	if (track->loops)
		return track;
	free(track);
	return NULL;
}

static void free_connection(struct connection *connection)
{
	if (connection->protocol && connection->protocol->free)
		connection->protocol->free(connection->state);
	free(connection->state);
	vec_free(&connection->queue);
}

void requests_track_free(struct requests_track *track)
{
	if (!track)
		return;
	vec_foreach (&track->all, connection)
		free_connection(connection);
	vec_free(&track->all);
	map_free(&track->index);
	requests_open_free(&track->by_thread);
	requests_open_free(&track->by_id);
	requests_open_free(&track->by_goroutine);
	requests_loops_free(track->loops);
	free(track);
}

/* -- parents ----------------------------------------------------------------------------------- */

static uint64_t key_of_thread(const struct capture_identity *identity)
{
	return (uint64_t)identity->pid << 32 | identity->tid;
}

/* Of an id within a process: the same one passes through others of the machine. */
static uint64_t key_of_id(const struct capture_identity *identity, const char *id)
{
	return *id ? hash_u64(hash_bytes(id, strlen(id)) ^ identity->pid) | 1 : 0;
}

static uint64_t key_of_goroutine(const struct capture_identity *identity, uint64_t number)
{
	const uint64_t what[] = {identity->pid, identity->exec_id, number};

	return number ? hash_bytes(what, sizeof(what)) | 1 : 0;
}

static void serve(struct requests_track *track, const struct asked *asked, int64_t by)
{
	if (asked->row.role != FILM_REQUEST_SERVED)
		return;
	requests_open_change(&track->by_thread, key_of_thread(&asked->identity), asked->row.number,
			     by);
	if (asked->id_key)
		requests_open_change(&track->by_id, asked->id_key, asked->row.number, by);
	if (asked->goroutine_key)
		requests_open_change(&track->by_goroutine, asked->goroutine_key, asked->row.number,
				     by);
}

/*
 * A goroutine does one thing after the other, on whichever thread: what it makes while it serves
 * one request is made for that one.
 */
static void find_by_goroutine(struct requests_track *track, struct asked *asked,
			      const struct requests_record *record)
{
	uint64_t maker = record->works_for ? record->works_for : record->goroutine;
	uint64_t key = key_of_goroutine(&asked->identity, maker);

	asked->row.parent = 0;
	if (!key || requests_open_find(&track->by_goroutine, key, &asked->row.parent) != 1)
		return;
	if (asked->row.parent)
		asked->row.flags |= FILM_REQUEST_PARENT_BY_GOROUTINE;
}

/*
 * For which request it is made. The id says it, if just one that is served has it; else the thread
 * (of Go, the goroutine), if it serves just one; else what its thread did before, and will do with
 * the answer (requests_loops.h). A wrong one is worse than none.
 */
static void find_parent(struct requests_track *track, struct asked *asked,
			const struct requests_record *record)
{
	uint64_t by_thread, by_id = 0, thread = key_of_thread(&asked->identity);
	uint64_t open = requests_open_find(&track->by_thread, thread, &by_thread);
	struct film_request *row = &asked->row;

	if (asked->id_key)
		requests_open_find(&track->by_id, asked->id_key, &by_id);
	if (by_id)
		row->flags |= FILM_REQUEST_PARENT_BY_ID;
	row->parent = by_id ? by_id : by_thread;
	if (track->to.has_goroutines &&
	    track->to.has_goroutines(track->to.context, (pid_t)asked->identity.pid)) {
		if (!by_id)
			find_by_goroutine(track, asked, record);
		track->counts.ambiguous += open && !row->parent;
		return;
	}
	if (!open && !by_id)
		return;
	asked->may_be_for = requests_loops_made(track->loops, thread, &record->turn,
						record->connection, row->number, row->parent) &&
			    !row->parent;
	track->counts.ambiguous += !row->parent && !asked->may_be_for;
}

/* What the thread of a piece has published: it knows better than any header. */
static void take_context(struct requests_track *track, struct asked *asked,
			 const struct requests_record *record)
{
	char id[FILM_REQUEST_ID + 1] = "";
	uint8_t any = 0;

	for (size_t i = 0; i < sizeof(record->trace); i++) {
		any |= record->trace[i];
		snprintf(id + 2 * i, 3, "%02x", record->trace[i]);
	}
	if (!(record->flags & REQUESTS_CONTEXT) || !any ||
	    !strncmp(asked->row.id, id, FILM_REQUEST_ID))
		return;
	serve(track, asked, -1);
	memcpy(asked->row.id, id, sizeof(asked->row.id));
	asked->row.id_kind = FILM_REQUEST_ID_CONTEXT;
	asked->row.flags &= ~(uint32_t)FILM_REQUEST_ID_CUT;
	asked->id_key = key_of_id(&asked->identity, id);
	serve(track, asked, 1);
}

/* -- the ends of requests ---------------------------------------------------------------------- */

void requests_asked_row(struct asked *asked, uint64_t now)
{
	struct film_request *row = &asked->row;

	row->end = asked->is_answered || now < asked->last ? asked->last : now;
	row->duration = row->end - asked->begun;
	row->first = asked->is_answered ? asked->first - asked->begun : 0;
	if (!asked->is_answered)
		row->flags |= FILM_REQUEST_UNANSWERED | FILM_REQUEST_OPEN;
}

static void copy_addresses(struct film_request *row, const struct requests_record *about)
{
	memcpy(row->peer, about->peer, sizeof(row->peer));
	memcpy(row->own, about->own, sizeof(row->own));
	row->peer_port = about->peer_port;
	row->own_port = about->own_port;
	if (about->flags & REQUESTS_UNIX)
		row->flags |= FILM_REQUEST_UNIX;
	if (about->flags & REQUESTS_TLS)
		row->flags |= FILM_REQUEST_TLS;
}

/* Writes a request that is over, unless it is kept until it is known for which one it was made. */
static void write_over(struct requests_track *track, struct asked *asked)
{
	struct asked *kept = asked->may_be_for ? malloc(sizeof(*kept)) : NULL;

	if (kept)
		*kept = *asked;
	if (asked->row.role == FILM_REQUEST_MADE &&
	    requests_loops_over(track->loops, asked->row.number, kept))
		return;
	free(kept);
	track->counts.ambiguous += asked->may_be_for;
	write_row(track, asked);
	if (asked->row.role == FILM_REQUEST_SERVED)
		requests_loops_served(track->loops, asked->row.number);
}

/* A request of a connection is over, or will not be followed any further. */
static void finish(struct requests_track *track, struct connection *connection, struct asked *asked,
		   uint32_t flags, uint64_t now)
{
	struct asked *end = connection->queue.at + connection->queue.count;

	asked->row.flags |= flags;
	/* they were not known when it began */
	if (!asked->row.peer_port && !asked->row.own_port)
		copy_addresses(&asked->row, &connection->about);
	requests_asked_row(asked, now);
	serve(track, asked, -1);
	write_over(track, asked);
	memmove(asked, asked + 1, (size_t)(end - asked - 1) * sizeof(*asked));
	connection->queue.count--;
}

static void finish_all(struct requests_track *track, struct connection *connection, uint64_t now)
{
	while (connection->queue.count)
		finish(track, connection, connection->queue.at, FILM_REQUEST_OPEN, now);
}

/* -- what a protocol finds --------------------------------------------------------------------- */

static void take_stream(void *context, uint32_t number)
{
	((struct taking *)context)->stream = number;
}

static void take_upgraded(void *context, uint32_t number)
{
	struct taking *taking = context;
	struct connection *connection = taking->connection;

	if (!connection->queue.count)
		return;
	connection->queue.at[0].stream = number;
	connection->queue.at[0].row.protocol = FILM_PROTOCOL_HTTP2;
}

/* The request that is reported: of the stream, else the oldest one. Null: it is not known. */
static struct asked *told(const struct taking *taking)
{
	struct connection *connection = taking->connection;

	if (!taking->stream)
		return connection->queue.count ? connection->queue.at : NULL;
	vec_foreach (&connection->queue, asked)
		if (asked->stream == taking->stream)
			return asked;
	return NULL;
}

/* HTTP/1 has no streams: with one, the connection has gone over to HTTP/2. */
static uint8_t protocol_in(const struct taking *taking, const struct protocol_request *request)
{
	enum film_protocol of = taking->connection->protocol->id;

	if (request->protocol)
		return request->protocol;
	return of == FILM_PROTOCOL_HTTP && taking->stream ? FILM_PROTOCOL_HTTP2 : (uint8_t)of;
}

static void take_request(void *context, const struct protocol_request *request)
{
	struct taking *taking = context;
	struct requests_track *track = taking->track;
	struct connection *connection = taking->connection;
	struct asked asked = {
		.row =
			{
				.connection = connection->number,
				.number = track->next++,
				.flags = request->flags,
				.protocol = protocol_in(taking, request),
				.role = connection->role,
				.id_kind = request->id_kind,
			},
		.begun = taking->time,
		.last = taking->time,
		.identity = *taking->identity,
		.stream = taking->stream,
	};

	copy_addresses(&asked.row, &connection->about);
	memcpy(asked.endpoint, request->endpoint, sizeof(asked.endpoint));
	memcpy(asked.row.path, request->path, sizeof(asked.row.path));
	memcpy(asked.row.id, request->id, sizeof(asked.row.id));
	asked.row.thread = track->to.thread(track->to.context, &asked.identity);
	asked.id_key = key_of_id(&asked.identity, request->id);
	asked.goroutine_key = key_of_goroutine(&asked.identity, taking->record->goroutine);
	/* one that is received is not of what the thread did before */
	if (connection->role == FILM_REQUEST_MADE)
		take_context(track, &asked, taking->record);
	if (connection->queue.count == QUEUE_MAX || !vec_push(&connection->queue, asked)) {
		track->counts.queued++;
		return;
	}
	if (connection->role == FILM_REQUEST_MADE)
		find_parent(track, vec_last(&connection->queue), taking->record);
	serve(track, &asked, 1);
}

static void add_bytes(const struct connection *connection, struct film_request *row, bool asked,
		      uint64_t bytes)
{
	if (asked == (connection->role == FILM_REQUEST_SERVED))
		row->received += bytes;
	else
		row->sent += bytes;
}

static void take_sent(void *context, uint64_t bytes)
{
	struct taking *taking = context;
	struct connection *connection = taking->connection;
	struct asked *asked = taking->stream || !connection->queue.count
				      ? told(taking)
				      : vec_last(&connection->queue);

	if (!asked)
		return;
	add_bytes(connection, &asked->row, true, bytes);
	if (!asked->is_answered)
		asked->last = taking->time;
}

static void take_answer(void *context, const struct protocol_answer *answer)
{
	struct taking *taking = context;
	struct asked *asked = told(taking);

	/* the one before has no known end */
	if (asked && asked->is_answered && !taking->stream) {
		finish(taking->track, taking->connection, asked, FILM_REQUEST_END_GUESSED,
		       taking->time);
		asked = told(taking);
	}
	if (!asked) {
		taking->track->counts.before++;
		return;
	}
	if (taking->connection->role == FILM_REQUEST_SERVED && taking->record)
		take_context(taking->track, asked, taking->record);
	asked->is_answered = true;
	asked->first = asked->last = taking->time;
	asked->answerer = *taking->identity;
	asked->row.answerer = taking->track->to.thread(taking->track->to.context, taking->identity);
	asked->row.status = answer->status;
	if (answer->protocol)
		asked->row.protocol = answer->protocol;
	if (answer->failed)
		asked->row.flags |= FILM_REQUEST_FAILED;
}

static void take_failed(void *context)
{
	const struct taking *taking = context;
	struct asked *asked = told(taking);

	if (asked && (asked->is_answered || taking->stream))
		asked->row.flags |= FILM_REQUEST_FAILED;
}

static void take_status(void *context, uint32_t status, enum film_protocol protocol)
{
	struct asked *asked = told(context);

	if (!asked)
		return;
	asked->row.status = status;
	asked->row.protocol = (uint8_t)protocol;
}

static void take_answered(void *context, uint64_t bytes)
{
	struct taking *taking = context;
	struct asked *asked = told(taking);

	if (!asked || !asked->is_answered)
		return;
	asked->last = taking->time;
	add_bytes(taking->connection, &asked->row, false, bytes);
}

static void take_done(void *context, bool sure)
{
	struct taking *taking = context;
	struct asked *asked = told(taking);

	/* one of a stream may end without an answer */
	if (asked && (asked->is_answered || taking->stream))
		finish(taking->track, taking->connection, asked,
		       sure ? 0 : FILM_REQUEST_END_GUESSED, taking->time);
}

static struct protocol_sink sink_of(struct taking *taking)
{
	return (struct protocol_sink){
		.stream = take_stream,
		.upgraded = take_upgraded,
		.request = take_request,
		.sent = take_sent,
		.answer = take_answer,
		.failed = take_failed,
		.status = take_status,
		.answered = take_answered,
		.done = take_done,
		.context = taking,
		.losses = &taking->track->counts.protocols,
	};
}

/* -- connections ------------------------------------------------------------------------------- */

static struct connection *find(struct requests_track *track, uint64_t number)
{
	const uint64_t *place = map_get(&track->index, number);

	return place ? &track->all.at[*place] : NULL;
}

static struct connection *meet(struct requests_track *track, const struct requests_record *record)
{
	const struct protocol *protocol = protocol_of_kernel(record->protocol);
	struct connection connection = {
		.number = record->connection,
		.protocol = protocol,
		.about = *record,
	};

	if (!protocol)
		return NULL;
	connection.state = track->all.count < CONNECTIONS_MAX ? calloc(1, protocol->size) : NULL;
	if (!connection.state || !vec_push(&track->all, connection)) {
		free(connection.state);
		track->counts.refused++;
		return NULL;
	}
	if (!map_put(&track->index, connection.number, track->all.count - 1)) {
		free(connection.state);
		track->all.count--;
		track->counts.refused++;
		return NULL;
	}
	return vec_last(&track->all);
}

/* The last one takes its place. */
static void forget(struct requests_track *track, struct connection *connection, uint64_t now)
{
	size_t place = (size_t)(connection - track->all.at);

	finish_all(track, connection, now);
	map_remove(&track->index, connection->number);
	free_connection(connection);
	track->all.count--;
	if (place == track->all.count)
		return;
	*connection = track->all.at[track->all.count];
	*map_get(&track->index, connection->number) = place;
}

static bool find_role(struct requests_track *track, struct connection *connection,
		      const struct piece *piece, bool is_sent)
{
	enum side side;

	if (connection->role)
		return true;
	side = connection->protocol->side_of(piece);
	if (side >= SIDES) {
		track->counts.unknown_side += side == SIDES;
		return false;
	}
	connection->role =
		is_sent == (side == SIDE_REQUESTS) ? FILM_REQUEST_MADE : FILM_REQUEST_SERVED;
	return true;
}

static void ended(struct requests_track *track, struct connection *connection, uint64_t now)
{
	struct taking taking = {.track = track, .connection = connection, .time = now};
	struct protocol_sink sink = sink_of(&taking);

	if (connection->protocol->ended)
		connection->protocol->ended(connection->state, &sink);
}

/* The request that a piece is about, if there is just one. */
static uint64_t only_one(const struct connection *connection)
{
	return connection->queue.count == 1 && !connection->queue.at[0].stream
		       ? connection->queue.at[0].row.number
		       : 0;
}

/* A thread that hands its connections to others, or takes over theirs, is none of an event loop. */
static void see_roaming(const struct taking *taking)
{
	const struct capture_identity *named = taking->connection->named;

	if (named[0].pid == named[1].pid && named[0].tid != named[1].tid)
		requests_loops_roams(taking->track->loops, named[0].pid);
}

/* What a thread of an event loop does with a piece, before and behind that it is read. */
static void loop_before(const struct taking *taking, bool is_sent)
{
	const struct connection *connection = taking->connection;
	struct requests_loops *loops = taking->track->loops;
	uint64_t thread = key_of_thread(taking->identity), number = only_one(connection);

	if (is_sent && connection->role == FILM_REQUEST_SERVED)
		requests_loops_answered(loops, thread, &taking->record->turn, number);
	else if (!is_sent && connection->role == FILM_REQUEST_MADE)
		requests_loops_got(loops, thread, &taking->record->turn, number);
}

static void loop_behind(const struct taking *taking, bool is_sent)
{
	const struct connection *connection = taking->connection;

	if (!is_sent && connection->role == FILM_REQUEST_SERVED)
		requests_loops_asked(taking->track->loops, key_of_thread(taking->identity),
				     &taking->record->turn, only_one(connection));
}

static void give(struct taking *taking, const struct piece *piece)
{
	struct connection *connection = taking->connection;
	bool is_sent = taking->record->flags & REQUESTS_SENT;
	enum side side =
		is_sent == (connection->role == FILM_REQUEST_MADE) ? SIDE_REQUESTS : SIDE_ANSWERS;
	struct protocol_sink sink = sink_of(taking);

	connection->protocol->take(connection->state, side, piece, &sink);
}

/*
 * The kernel tells the name of a thread with its first piece of a direction. If that one was lost,
 * the thread has the name of its process's last one, or none.
 */
static const struct capture_identity *name_of(struct connection *connection,
					      const struct requests_record *record)
{
	struct capture_identity *known = &connection->named[record->flags & REQUESTS_SENT];
	const struct capture_identity *other = &connection->named[!(record->flags & REQUESTS_SENT)];
	char name[sizeof(known->comm)];

	memcpy(name, record->identity.comm, sizeof(name));
	if (!*name)
		memcpy(name, known->pid == record->identity.pid ? known->comm : other->comm,
		       sizeof(name));
	*known = record->identity;
	memcpy(known->comm, name, sizeof(name));
	return known;
}

/* What was moved since the last piece in that direction, and never came here. */
static void give_gap(struct taking *taking)
{
	const struct requests_record *record = taking->record;
	struct connection *connection = taking->connection;
	bool is_sent = record->flags & REQUESTS_SENT;
	uint64_t *at = &connection->moved[is_sent];

	for (; connection->is_met[is_sent] && *at < record->offset;) {
		uint64_t rest = record->offset - *at;
		struct piece piece = {.length = rest > UINT32_MAX ? UINT32_MAX : (uint32_t)rest};

		taking->track->counts.gaps++;
		give(taking, &piece);
		*at += piece.length;
		vec_foreach (&connection->queue, asked)
			asked->row.flags |= FILM_REQUEST_COPY_LOST;
	}
	*at = record->offset + record->length;
	connection->is_met[is_sent] = true;
}

/* What is encrypted may be moved before its socket is known. */
static void meet_socket(struct connection *connection, const struct requests_record *record)
{
	struct requests_record *about = &connection->about;

	if (about->peer_port || about->own_port || about->flags & REQUESTS_UNIX)
		return;
	memcpy(about->peer, record->peer, sizeof(about->peer));
	memcpy(about->own, record->own, sizeof(about->own));
	about->peer_port = record->peer_port;
	about->own_port = record->own_port;
	about->flags |= record->flags & REQUESTS_UNIX;
}

void requests_track_take(struct requests_track *track, const struct requests_record *record)
{
	struct piece piece = {
		.data = (const uint8_t *)(record + 1),
		.copied = record->copied,
		.length = record->length,
		.tail = record->has_tail ? record->tail : NULL,
	};
	struct connection *connection;
	struct taking taking;

	if (record->copied > record->length ||
	    record->head.size != sizeof(*record) + record->copied) {
		track->counts.damaged++;
		return;
	}
	connection = find(track, record->connection);
	if (!connection)
		connection = meet(track, record);
	if (!connection)
		return;
	track->counts.unread += (record->flags & REQUESTS_UNREAD) != 0;
	track->counts.no_call += (record->flags & REQUESTS_NO_CALL) != 0;
	connection->last = record->head.time;
	meet_socket(connection, record);
	if (!record->length) {
		if (connection->role == FILM_REQUEST_MADE)
			ended(track, connection, record->head.time);
		return;
	}
	if (!find_role(track, connection, &piece, record->flags & REQUESTS_SENT))
		return;
	taking = (struct taking){track, connection, record, name_of(connection, record),
				 record->head.time};
	give_gap(&taking);
	see_roaming(&taking);
	loop_before(&taking, record->flags & REQUESTS_SENT);
	give(&taking, &piece);
	loop_behind(&taking, record->flags & REQUESTS_SENT);
}

void requests_track_opened(struct requests_track *track, const struct requests_record *record)
{
	requests_loops_opened(track->loops, key_of_thread(&record->identity), &record->turn,
			      record->connection);
}

void requests_track_closed(struct requests_track *track, uint64_t number, uint64_t time)
{
	struct connection *connection = find(track, number);

	requests_loops_used(track->loops, number);
	if (!connection)
		return;
	ended(track, connection, time);
	forget(track, connection, time);
}

void requests_track_tick(struct requests_track *track, uint64_t now)
{
	for (size_t i = track->all.count; i-- > 0;) {
		struct connection *connection = &track->all.at[i];
		uint64_t quiet = now > connection->last ? now - connection->last : 0;

		if (quiet > QUIET_NS && connection->queue.count == 1)
			ended(track, connection, now);
		if (quiet > FORGET_NS && !connection->queue.count)
			forget(track, connection, now);
	}
	requests_loops_tick(track->loops);
	requests_lasting_look(track, now);
}

void requests_track_turn(struct requests_track *track)
{
	vec_foreach (&track->all, connection)
		vec_foreach (&connection->queue, asked) {
			asked->row.thread = track->to.thread(track->to.context, &asked->identity);
			asked->row.answerer =
				asked->is_answered
					? track->to.thread(track->to.context, &asked->answerer)
					: 0;
		}
}

void requests_track_finish(struct requests_track *track, uint64_t now)
{
	while (track->all.count) {
		ended(track, vec_last(&track->all), now);
		forget(track, vec_last(&track->all), now);
	}
	requests_loops_give_all(track->loops);
}

struct requests_counts requests_track_counts(const struct requests_track *track)
{
	return track->counts;
}
