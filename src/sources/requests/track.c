// SPDX-License-Identifier: Apache-2.0
#include "sources/requests/track.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sources/requests/track_private.h"

/* The most connections, and the most requests of one that have no answer yet. */
#define CONNECTIONS_MAX 65536
#define QUEUE_MAX	1024

/* An answer of unknown length is over after so long without a byte. */
#define QUIET_NS SECOND_NS

/* A connection that had nothing for so long, and no request, is forgotten. */
#define FORGET_NS (120 * SECOND_NS)

/* A piece that is being read. */
struct handling {
	struct requests_track *track;
	struct connection *connection;
	const struct requests_record *record;
	const struct capture_identity *identity; /* with its name */
	uint64_t time;
	uint32_t stream; /* that is reported; 0: there are none */
};

struct requests_track *requests_track_new(const struct requests_to *to, uint64_t first)
{
	struct requests_track *track = calloc(1, sizeof(*track));

	if (!track)
		return NULL;
	track->to = *to;
	track->next = first;
	if (requests_evidence_create(track))
		return track;
	requests_track_free(track);
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
	requests_evidence_free(track);
	vec_foreach (&track->all, connection)
		free_connection(connection);
	vec_free(&track->all);
	map_free(&track->index);
	requests_open_free(&track->by_thread);
	requests_open_free(&track->by_id);
	requests_open_free(&track->by_goroutine);
	requests_open_free(&track->by_stream);
	map_free(&track->askers);
	requests_threads_free(&track->threads);
	free(track);
}

/* -- the ends of requests ---------------------------------------------------------------------- */

void requests_asked_row(struct asked *asked, uint64_t now)
{
	struct film_request *row = &asked->row;

	row->end = asked->is_answered || now < asked->last ? asked->last : now;
	row->duration = row->end - asked->begun;
	row->stream = asked->stream;
	row->first = asked->is_answered ? asked->first - asked->begun : 0;
	if (!asked->is_answered)
		row->flags |= FILM_REQUEST_UNANSWERED | FILM_REQUEST_OPEN;
}

/* The kernel counts its sockets: numbers of different machines must not be the same. */
static uint64_t number_of_socket(const struct requests_track *track, uint64_t number)
{
	return number ? hash_u64(hash_u64(number) ^ track->to.machine) | 1 : 0;
}

static void copy_addresses(const struct requests_track *track, struct film_request *row,
			   const struct requests_record *about)
{
	memcpy(row->peer, about->peer, sizeof(row->peer));
	memcpy(row->own, about->own, sizeof(row->own));
	if (about->flags & REQUESTS_UNIX) {
		row->peer[0] = number_of_socket(track, row->peer[0]);
		row->own[0] = number_of_socket(track, row->own[0]);
	}
	row->peer_port = about->peer_port;
	row->own_port = about->own_port;
	if (about->flags & REQUESTS_UNIX)
		row->flags |= FILM_REQUEST_UNIX;
	if (about->flags & REQUESTS_TLS)
		row->flags |= FILM_REQUEST_TLS;
}

/* A request of a connection is over, or will not be followed any further. */
static void finish(struct requests_track *track, struct connection *connection, struct asked *asked,
		   uint32_t flags, uint64_t now)
{
	struct asked *end = connection->queue.at + connection->queue.count;

	asked->row.flags |= flags;
	/* they were not known when it began */
	if (!asked->row.peer_port && !asked->row.own_port)
		copy_addresses(track, &asked->row, &connection->about);
	requests_asked_row(asked, now);
	requests_served_change(track, asked, -1, now);
	requests_evidence_over(track, asked, now);
	memmove(asked, asked + 1, (size_t)(end - asked - 1) * sizeof(*asked));
	connection->queue.count--;
}

static void finish_all(struct requests_track *track, struct connection *connection, uint64_t now)
{
	while (connection->queue.count)
		finish(track, connection, connection->queue.at, FILM_REQUEST_OPEN, now);
}

/* -- what a protocol finds --------------------------------------------------------------------- */

static void handle_stream(void *context, uint32_t number)
{
	((struct handling *)context)->stream = number;
}

static void handle_upgraded(void *context, uint32_t number)
{
	struct handling *handling = context;
	struct connection *connection = handling->connection;

	if (!connection->queue.count)
		return;
	requests_served_change(handling->track, connection->queue.at, -1, handling->time);
	connection->queue.at[0].stream = number;
	connection->queue.at[0].row.protocol = FILM_PROTOCOL_HTTP2;
	if (connection->role == FILM_REQUEST_SERVED && handling->record)
		requests_evidence_see(&(struct requests_event){.track = handling->track,
							       .fact = REQUESTS_FACT_STREAMS,
							       .asked = connection->queue.at,
							       .record = handling->record});
	requests_served_change(handling->track, connection->queue.at, 1, handling->time);
}

struct asked *requests_track_of_stream(struct connection *connection, uint32_t stream)
{
	vec_foreach (&connection->queue, asked)
		if (asked->stream == stream)
			return asked;
	return NULL;
}

/* The request that is reported: of the stream, else the oldest one. Null: it is not known. */
static struct asked *told(const struct handling *handling)
{
	struct connection *connection = handling->connection;

	if (!handling->stream)
		return connection->queue.count ? connection->queue.at : NULL;
	return requests_track_of_stream(connection, handling->stream);
}

uint64_t requests_track_only_one(const struct connection *connection)
{
	return connection->queue.count == 1 && !connection->queue.at[0].stream
		       ? connection->queue.at[0].row.number
		       : 0;
}

/* HTTP/1 has no streams: with one, the connection has gone over to HTTP/2. */
static uint8_t protocol_in(const struct handling *handling, const struct protocol_request *request)
{
	enum film_protocol of = handling->connection->protocol->id;

	if (request->protocol)
		return request->protocol;
	return of == FILM_PROTOCOL_HTTP && handling->stream ? FILM_PROTOCOL_HTTP2 : (uint8_t)of;
}

static void begin_request(void *context, const struct protocol_request *request)
{
	struct handling *handling = context;
	struct requests_track *track = handling->track;
	struct connection *connection = handling->connection;
	struct asked asked = {
		.row =
			{
				.connection = connection->number,
				.number = track->next++,
				.flags = request->flags,
				.protocol = protocol_in(handling, request),
				.role = connection->role,
				.id_kind = request->id_kind,
			},
		.begun = handling->time,
		.last = handling->time,
		.identity = *handling->identity,
		.stream = handling->stream,
	};
	struct requests_event event = {
		.fact = REQUESTS_FACT_SERVES,
		.track = track,
		.connection = connection,
		.record = handling->record,
		.time = handling->time,
	};

	copy_addresses(track, &asked.row, &connection->about);
	memcpy(asked.endpoint, request->endpoint, sizeof(asked.endpoint));
	memcpy(asked.row.path, request->path, sizeof(asked.row.path));
	memcpy(asked.row.id, request->id, sizeof(asked.row.id));
	asked.row.thread = track->to.thread(track->to.context, &asked.identity);
	asked.id_key = requests_served_id(&asked.identity, request->id);
	asked.says = request->says;
	asked.goroutine_key = requests_served_task(&asked.identity, handling->record->task);
	if (requests_served_has_lanes(track, &asked.identity))
		asked.row.goroutine = handling->record->works_for ? handling->record->works_for
								  : handling->record->task;
	/* one that is received is not of what the thread did before */
	if (connection->role == FILM_REQUEST_MADE)
		requests_served_context(track, &asked, handling->record);
	if (connection->queue.count == QUEUE_MAX || !vec_push(&connection->queue, asked)) {
		track->counts.queued++;
		return;
	}
	event.asked = vec_last(&connection->queue);
	if (connection->role == FILM_REQUEST_MADE)
		requests_evidence_made(&event);
	else
		requests_evidence_see(&event);
	requests_served_change(track, vec_last(&connection->queue), 1, handling->time);
}

static void add_bytes(const struct connection *connection, struct film_request *row, bool asked,
		      uint64_t bytes)
{
	if (asked == (connection->role == FILM_REQUEST_SERVED))
		row->received += bytes;
	else
		row->sent += bytes;
}

static void handle_sent(void *context, uint64_t bytes)
{
	struct handling *handling = context;
	struct connection *connection = handling->connection;
	struct asked *asked = handling->stream || !connection->queue.count
				      ? told(handling)
				      : vec_last(&connection->queue);

	if (!asked)
		return;
	add_bytes(connection, &asked->row, true, bytes);
	if (!asked->is_answered)
		asked->last = handling->time;
}

static void handle_answer(void *context, const struct protocol_answer *answer)
{
	struct handling *handling = context;
	struct asked *asked = told(handling);

	/* the one before has no known end */
	if (asked && asked->is_answered && !handling->stream) {
		finish(handling->track, handling->connection, asked, FILM_REQUEST_END_GUESSED,
		       handling->time);
		asked = told(handling);
	}
	if (!asked) {
		handling->track->counts.before++;
		if (handling->connection->role == FILM_REQUEST_SERVED)
			requests_evidence_see(&(struct requests_event){
				.track = handling->track,
				.fact = REQUESTS_FACT_ANSWERS_OLDER,
				.number = key_of_thread(handling->identity),
				.time = handling->time});
		return;
	}
	if (handling->connection->role == FILM_REQUEST_SERVED && handling->record)
		requests_served_context(handling->track, asked, handling->record);
	asked->is_answered = true;
	asked->first = asked->last = handling->time;
	asked->answerer = *handling->identity;
	asked->row.answerer =
		handling->track->to.thread(handling->track->to.context, handling->identity);
	asked->row.status = answer->status;
	if (answer->protocol)
		asked->row.protocol = answer->protocol;
	if (answer->failed)
		asked->row.flags |= FILM_REQUEST_FAILED;
	requests_evidence_see(&(struct requests_event){.track = handling->track,
						       .fact = REQUESTS_FACT_ANSWERS,
						       .asked = asked,
						       .time = handling->time});
}

static void handle_failed(void *context)
{
	const struct handling *handling = context;
	struct asked *asked = told(handling);

	if (asked && (asked->is_answered || handling->stream))
		asked->row.flags |= FILM_REQUEST_FAILED;
}

static void handle_status(void *context, uint32_t status, enum film_protocol protocol)
{
	struct asked *asked = told(context);

	if (!asked)
		return;
	asked->row.status = status;
	asked->row.protocol = (uint8_t)protocol;
}

static void handle_answered(void *context, uint64_t bytes)
{
	struct handling *handling = context;
	struct asked *asked = told(handling);

	if (!asked || !asked->is_answered)
		return;
	asked->last = handling->time;
	add_bytes(handling->connection, &asked->row, false, bytes);
}

static void handle_done(void *context, bool sure)
{
	struct handling *handling = context;
	struct asked *asked = told(handling);

	/* one of a stream may end without an answer */
	if (asked && (asked->is_answered || handling->stream))
		finish(handling->track, handling->connection, asked,
		       sure ? 0 : FILM_REQUEST_END_GUESSED, handling->time);
}

static struct protocol_sink sink_of(struct handling *handling)
{
	return (struct protocol_sink){
		.stream = handle_stream,
		.upgraded = handle_upgraded,
		.request = begin_request,
		.sent = handle_sent,
		.answer = handle_answer,
		.failed = handle_failed,
		.status = handle_status,
		.answered = handle_answered,
		.done = handle_done,
		.context = handling,
		.losses = &handling->track->counts.protocols,
		.keep_query = handling->track->to.keep_query,
	};
}

/* -- connections ------------------------------------------------------------------------------- */

struct connection *requests_track_connection(struct requests_track *track, uint64_t number)
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
	struct handling handling = {.track = track, .connection = connection, .time = now};
	struct protocol_sink sink = sink_of(&handling);

	if (connection->protocol->ended)
		connection->protocol->ended(connection->state, &sink);
}

static void handle_piece(struct handling *handling, const struct piece *piece)
{
	struct connection *connection = handling->connection;
	bool is_sent = handling->record->flags & REQUESTS_SENT;
	enum side side =
		is_sent == (connection->role == FILM_REQUEST_MADE) ? SIDE_REQUESTS : SIDE_ANSWERS;
	struct protocol_sink sink = sink_of(handling);

	connection->protocol->parse(connection->state, side, piece, &sink);
}

/* What was moved since the last piece in that direction, and never came here. */
static void handle_gap(struct handling *handling)
{
	const struct requests_record *record = handling->record;
	struct connection *connection = handling->connection;
	bool is_sent = record->flags & REQUESTS_SENT;
	uint64_t *at = &connection->moved[is_sent];

	for (; connection->is_met[is_sent] && *at < record->offset;) {
		uint64_t rest = record->offset - *at;
		struct piece piece = {.length = rest > UINT32_MAX ? UINT32_MAX : (uint32_t)rest};

		handling->track->counts.gaps++;
		handle_piece(handling, &piece);
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

/* The connection of a record, which is met if it is not known. Null: there is none. */
static struct connection *connection_of(struct requests_track *track,
					const struct requests_record *record)
{
	struct connection *connection = requests_track_connection(track, record->connection);

	if (!connection)
		connection = meet(track, record);
	if (!connection)
		return NULL;
	connection->last = record->head.time;
	meet_socket(connection, record);
	return connection;
}

void requests_track_meet(struct requests_track *track, const struct requests_record *record)
{
	requests_threads_name(&track->threads, &record->identity);
	connection_of(track, record);
}

void requests_track_handle(struct requests_track *track, const struct requests_record *record)
{
	struct piece piece = {
		.data = (const uint8_t *)(record + 1),
		.copied = record->copied,
		.length = record->length,
		.tail = record->has_tail ? record->tail : NULL,
	};
	struct connection *connection;
	struct requests_event event;
	struct handling handling;

	if (record->copied > record->length ||
	    record->head.size != sizeof(*record) + record->copied) {
		track->counts.damaged++;
		return;
	}
	event = (struct requests_event){
		.track = track, .fact = REQUESTS_FACT_RECORD, .record = record};
	requests_evidence_see(&event);
	connection = connection_of(track, record);
	if (!connection)
		return;
	track->counts.unread += (record->flags & REQUESTS_UNREAD) != 0;
	track->counts.no_call += (record->flags & REQUESTS_NO_CALL) != 0;
	if (!record->length) {
		if (connection->role == FILM_REQUEST_MADE)
			ended(track, connection, record->head.time);
		return;
	}
	if (!find_role(track, connection, &piece, record->flags & REQUESTS_SENT))
		return;
	handling = (struct handling){track, connection, record,
				     requests_threads_name(&track->threads, &record->identity),
				     record->head.time};
	if (!(record->flags & REQUESTS_SENT) && record->task)
		connection->reader = requests_served_task(&record->identity, record->task);
	connection->threads[(record->flags & REQUESTS_SENT) != 0] =
		key_of_thread(&record->identity);
	handle_gap(&handling);
	event.connection = connection;
	event.fact = REQUESTS_FACT_MOVES;
	requests_evidence_see(&event);
	handle_piece(&handling, &piece);
	event.fact = REQUESTS_FACT_MOVED;
	requests_evidence_see(&event);
}

void requests_track_closed(struct requests_track *track, uint64_t number, uint64_t time)
{
	struct connection *connection = requests_track_connection(track, number);

	requests_evidence_see(&(struct requests_event){
		.track = track, .fact = REQUESTS_FACT_CLOSED, .number = number});
	if (!connection)
		return;
	ended(track, connection, time);
	forget(track, connection, time);
}

void requests_track_opened(struct requests_track *track, const struct requests_record *record)
{
	requests_evidence_see(&(struct requests_event){
		.track = track, .fact = REQUESTS_FACT_CONNECTS, .record = record});
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
	requests_evidence_see(&(struct requests_event){.track = track, .fact = REQUESTS_FACT_TICK});
	requests_lasting_look(track, now);
}

void requests_track_finish(struct requests_track *track, uint64_t now)
{
	while (track->all.count) {
		ended(track, vec_last(&track->all), now);
		forget(track, vec_last(&track->all), now);
	}
	requests_evidence_see(&(struct requests_event){.track = track, .fact = REQUESTS_FACT_ENDS});
}

struct requests_counts requests_track_counts(const struct requests_track *track)
{
	return track->counts;
}
