// SPDX-License-Identifier: Apache-2.0
/*
 * Which goroutine handles a stream of HTTP/2. Go's servers have a goroutine that reads a
 * connection, and one for each stream, which calls the handler; net/http has one more, that has
 * started all of them. So the kernel's side tells which stream a goroutine handles, and which one
 * has started it: that one, or one that it has started, too, has received what began the stream.
 *
 * A client of grpc has one goroutine that sends for all, and one that reads. The kernel's side
 * tells which stream a goroutine has got, and which one reads that connection: maybe before the
 * stream's request is sent, and maybe after that.
 */
#include "sources/requests/track_private.h"

/* The most streams of which it is known which goroutine asks there, before they are sent. */
#define ASKERS_MAX 16384

/* What a goroutine has to do with a stream. */
enum relation {
	READS,		/* it has received what began it, or will receive its answer */
	STARTED_READER, /* it has started the one that reads */
};

static uint64_t key_of_stream(uint64_t goroutine, enum relation relation, uint32_t stream)
{
	const uint64_t what[] = {goroutine, relation, stream};

	return goroutine && stream ? hash_bytes(what, sizeof(what)) | 1 : 0;
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
	uint64_t reader = requests_served_task(&asked->identity, record->task);
	const struct requests_start *start;

	if (!requests_served_has_lanes(track, &asked->identity))
		return;
	/* the one that reads does not handle what it has read */
	asked->goroutine_key = 0;
	asked->row.goroutine = 0;
	start = reader ? requests_starts_find(track->starts, reader) : NULL;
	asked->stream_keys[0] = key_of_stream(reader, READS, asked->stream);
	asked->stream_keys[1] =
		key_of_stream(start ? start->starter : 0, STARTED_READER, asked->stream);
	change(track, asked, asked->row.connection, 1);
}

void requests_streams_end(struct requests_track *track, const struct asked *asked)
{
	change(track, asked, asked->row.connection, -1);
}

uint64_t requests_streams_made(struct requests_track *track, struct asked *asked, uint64_t reader)
{
	uint64_t key = asked->stream_keys[0] = key_of_stream(reader, READS, asked->stream);
	const uint64_t *known = key ? map_get(&track->askers, key) : NULL;
	uint64_t asker = known ? *known : 0;

	change(track, asked, asked->row.connection, 1);
	if (known)
		map_remove(&track->askers, key);
	return asker;
}

/* The request of a stream that a goroutine has to do with; null: there is none, or several. */
static struct asked *find(struct requests_track *track, uint64_t goroutine, enum relation relation,
			  uint32_t stream)
{
	struct connection *connection;
	uint64_t number;

	requests_open_find(&track->by_stream, key_of_stream(goroutine, relation, stream), &number);
	connection = number ? requests_track_connection(track, number) : NULL;
	return connection ? requests_track_of_stream(connection, stream) : NULL;
}

static void asks(struct requests_track *track, uint64_t reader, const struct requests_started *told)
{
	struct asked *asked = find(track, reader, READS, told->stream);

	if (asked && asked->row.role == FILM_REQUEST_MADE) {
		requests_streams_asker(track, asked, told->goroutine);
		return;
	}
	/* those are left that were never sent, or not seen */
	if (track->askers.count >= ASKERS_MAX)
		map_free(&track->askers);
	/* without memory it is not known */
	(void)!map_put(&track->askers, key_of_stream(reader, READS, told->stream), told->goroutine);
}

/*
 * That is handled by a goroutine which that one has started. Of gRPC, the goroutine that has
 * started the reader has read the connection's beginning, which may have a request in it.
 */
static struct asked *find_handled(struct requests_track *track, uint64_t starter, uint32_t stream)
{
	const struct requests_start *start = requests_starts_find(track->starts, starter);
	uint64_t above = start ? start->starter : 0;
	struct asked *asked = find(track, starter, READS, stream);

	if (!asked)
		asked = find(track, starter, STARTED_READER, stream);
	return asked ? asked : find(track, above, READS, stream);
}

static void handles(struct requests_track *track, const struct requests_start *start,
		    const struct requests_started *told)
{
	struct asked *asked = find_handled(track, start->starter, told->stream);

	if (!asked || asked->row.role != FILM_REQUEST_SERVED || asked->goroutine_key)
		return;
	asked->row.goroutine = told->goroutine;
	requests_served_change(track, asked, -1, told->head.time);
	asked->goroutine_key = start->goroutine;
	requests_served_change(track, asked, 1, told->head.time);
}

void requests_track_started(struct requests_track *track, const struct requests_started *told)
{
	const struct capture_identity identity = {.pid = told->pid, .exec_id = told->exec_id};
	const struct requests_start start = {
		.goroutine = requests_served_task(&identity, told->goroutine),
		.starter = requests_served_task(&identity, told->starter),
		.number = told->starter,
		.since = told->since,
		.handles = told->head.kind == REQUESTS_HANDLES,
	};

	if (!start.goroutine || !start.starter)
		return;
	if (told->head.kind == REQUESTS_ASKS) {
		asks(track, start.starter, told);
		return;
	}
	requests_starts_add(track->starts, &start);
	if (start.handles)
		handles(track, &start, told);
}
