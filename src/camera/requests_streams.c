// SPDX-License-Identifier: Apache-2.0
/*
 * Which goroutine handles a stream of HTTP/2. Go's servers have a goroutine that reads a
 * connection, and one for each stream, which calls the handler; net/http has one more, that has
 * started all of them. So the kernel's side tells which stream a goroutine handles, and which one
 * has started it: that one, or one that it has started, too, has received what began the stream.
 */
#include "camera/requests_track_private.h"

static uint64_t key_of_stream(uint64_t goroutine, uint32_t stream)
{
	return goroutine && stream ? hash_u64(goroutine ^ hash_u64(stream)) | 1 : 0;
}

static void change(struct requests_track *track, const struct asked *asked, uint64_t connection,
		   int64_t by)
{
	for (size_t i = 0; i < 2; i++)
		if (asked->stream_keys[i])
			requests_open_change(&track->by_stream, asked->stream_keys[i], connection,
					     by);
}

void requests_streams_begin(struct requests_track *track, struct asked *asked,
			    const struct requests_record *record)
{
	uint64_t reader = requests_parents_task(&asked->identity, record->task);
	const struct requests_start *start;

	if (!requests_parents_has_goroutines(track, &asked->identity))
		return;
	/* the one that reads does not handle what it has read */
	asked->goroutine_key = 0;
	asked->row.goroutine = 0;
	start = reader ? requests_starts_find(track->starts, reader) : NULL;
	asked->stream_keys[0] = key_of_stream(reader, asked->stream);
	asked->stream_keys[1] = key_of_stream(start ? start->starter : 0, asked->stream);
	change(track, asked, asked->row.connection, 1);
}

void requests_streams_end(struct requests_track *track, const struct asked *asked)
{
	change(track, asked, asked->row.connection, -1);
}

static void handles(struct requests_track *track, const struct requests_start *start,
		    const struct requests_started *told)
{
	struct connection *connection;
	struct asked *asked;
	uint64_t number;

	requests_open_find(&track->by_stream, key_of_stream(start->starter, told->stream), &number);
	connection = number ? requests_track_connection(track, number) : NULL;
	asked = connection ? requests_track_of_stream(connection, told->stream) : NULL;
	if (!asked || asked->row.role != FILM_REQUEST_SERVED || asked->goroutine_key)
		return;
	asked->row.goroutine = told->goroutine;
	requests_parents_serve(track, asked, -1, told->head.time);
	asked->goroutine_key = start->goroutine;
	requests_parents_serve(track, asked, 1, told->head.time);
}

void requests_track_started(struct requests_track *track, const struct requests_started *told)
{
	const struct capture_identity identity = {.pid = told->pid, .exec_id = told->exec_id};
	const struct requests_start start = {
		.goroutine = requests_parents_task(&identity, told->goroutine),
		.starter = requests_parents_task(&identity, told->starter),
		.number = told->starter,
		.since = told->since,
		.handles = told->head.kind == REQUESTS_HANDLES,
	};

	if (!start.goroutine || !start.starter)
		return;
	requests_starts_take(track->starts, &start);
	if (start.handles)
		handles(track, &start, told);
}
