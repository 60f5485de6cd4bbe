// SPDX-License-Identifier: Apache-2.0
/* Which answer is of which request, and for which one another was made: records made by hand. */
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sources/requests/track.h"

struct seen {
	struct film_request rows[16];
	char endpoints[16][64];
	size_t count;
	uint64_t slow, asked; /* ns from which on it is; how often that was asked */
	uint64_t moved[8][2]; /* by connection and direction */
	bool has_goroutines;
	bool is_early;		       /* the next calls come before all programs are attached */
	uint8_t protocol;	       /* 0: HTTP/1 */
	uint64_t goroutine, works_for; /* of the next calls */
};

static uint32_t thread_row(void *context, const struct capture_identity *identity)
{
	(void)context;
	assert_string_equal(identity->comm, "t");
	return identity->tid;
}

static void write_row(void *context, struct film_request *row, const char *endpoint,
		      const struct capture_identity *identity, bool is_slow)
{
	struct seen *seen = context;

	assert_int_equal(identity->pid, 7);
	assert_int_equal(is_slow, seen->slow || row->flags & FILM_REQUEST_GOES_ON);
	assert_true(seen->count < 16);
	snprintf(seen->endpoints[seen->count], 64, "%s", endpoint);
	seen->rows[seen->count++] = *row;
}

static bool lasts(void *context, const struct film_request *row, const char *endpoint,
		  const struct capture_identity *identity)
{
	struct seen *seen = context;

	assert_int_equal(identity->tid, 1);
	assert_string_equal(endpoint, "GET /hangs");
	assert_true(row->flags & FILM_REQUEST_UNANSWERED);
	seen->asked++;
	return row->duration > seen->slow;
}

/* A call of a thread on a connection; missing: bytes before it of which the record was lost. */
static void call_of(struct requests_track *track, struct seen *seen, uint64_t time, uint32_t tid,
		    uint64_t connection, uint8_t flags, const void *data, uint32_t size,
		    uint32_t missing)
{
	uint64_t *moved = &seen->moved[connection][flags & REQUESTS_SENT];
	bool is_first = !*moved;
	struct requests_record *record = calloc(1, sizeof(*record) + size);

	*moved += missing;
	record->head = (struct capture_head){REQUESTS_DATA, (uint32_t)sizeof(*record) + size, time};
	record->identity.pid = 7;
	record->identity.tid = tid;
	record->task = seen->goroutine;
	record->works_for = seen->works_for;
	/* the name is reported once */
	strcpy(record->identity.comm, is_first ? "t" : "");
	record->connection = connection;
	record->offset = *moved;
	record->length = record->copied = size;
	record->flags = flags;
	record->protocol = seen->protocol ? seen->protocol : REQUESTS_HTTP;
	memcpy(record + 1, data, size);
	if (seen->is_early)
		requests_track_meet(track, record);
	else
		requests_track_handle(track, record);
	*moved += size;
	free(record);
}

static void call(struct requests_track *track, struct seen *seen, uint64_t time, uint32_t tid,
		 uint64_t connection, uint8_t flags, const char *text, uint32_t missing)
{
	call_of(track, seen, time, tid, connection, flags, text, (uint32_t)strlen(text), missing);
}

#define GET(path) "GET " path " HTTP/1.1\r\n\r\n"
#define OK	  "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

static bool has_goroutines(void *context, pid_t pid)
{
	assert_int_equal(pid, 7);
	return ((const struct seen *)context)->has_goroutines;
}

static struct requests_track *make(struct seen *seen)
{
	const struct requests_to to = {thread_row, write_row, lasts, has_goroutines, seen, 0};
	struct requests_track *track = requests_track_new(&to, 100);

	assert_non_null(track);
	return track;
}

static void test_parents(void **state)
{
	struct seen seen = {0};
	struct requests_track *track = make(&seen);

	(void)state;
	call(track, &seen, 10, 1, 1, 0, GET("/in"), 0);
	call(track, &seen, 20, 1, 2, REQUESTS_SENT, GET("/out"), 0);
	call(track, &seen, 30, 1, 2, 0, OK, 0);
	/* of another thread: not for it */
	call(track, &seen, 31, 2, 3, REQUESTS_SENT, GET("/other"), 0);
	call(track, &seen, 32, 2, 3, 0, OK, 0);
	/* the thread serves two: which one is not known */
	call(track, &seen, 40, 1, 4, 0, GET("/in2"), 0);
	call(track, &seen, 50, 1, 2, REQUESTS_SENT, GET("/out2"), 0);
	call(track, &seen, 60, 1, 2, 0, OK, 0);
	call(track, &seen, 70, 1, 1, REQUESTS_SENT, OK, 0);
	call(track, &seen, 80, 1, 4, REQUESTS_SENT, OK, 0);
	for (unsigned int i = 0; i < 5; i++)
		requests_track_tick(track, 100);
	assert_int_equal(seen.count, 5);
	assert_int_equal(seen.rows[0].parent, 0);
	assert_string_equal(seen.endpoints[1], "GET /in");
	assert_int_equal(seen.rows[1].number, 100);
	assert_int_equal(seen.rows[1].duration, 60);
	assert_int_equal(seen.rows[1].role, FILM_REQUEST_SERVED);
	/* those are written once they cannot turn out any more, or turn out to be wrong */
	assert_string_equal(seen.endpoints[3], "GET /out2");
	assert_int_equal(seen.rows[3].parent, 0);
	assert_string_equal(seen.endpoints[4], "GET /out");
	assert_int_equal(seen.rows[4].parent, 100);
	assert_int_equal(seen.rows[4].role, FILM_REQUEST_MADE);
	assert_int_equal(seen.rows[4].duration, 10);
	assert_int_equal(requests_track_counts(track).ambiguous, 1);
	requests_track_free(track);
}

/* A thread that seems to serve one alone had another one since before the recording. */
static void test_one_from_before(void **state)
{
	struct seen seen = {0};
	struct requests_track *track = make(&seen);

	(void)state;
	call(track, &seen, 10, 1, 1, 0, GET("/in"), 0);
	call(track, &seen, 20, 1, 2, REQUESTS_SENT, GET("/out"), 0);
	call(track, &seen, 30, 1, 2, 0, OK, 0);
	call(track, &seen, 40, 1, 3, REQUESTS_SENT, OK, 0);
	/* by then it has none */
	call(track, &seen, 50, 1, 2, REQUESTS_SENT, GET("/out"), 0);
	call(track, &seen, 60, 1, 2, 0, OK, 0);
	for (unsigned int i = 0; i < 5; i++)
		requests_track_tick(track, 100);
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.rows[0].parent, 0);
	assert_int_equal(seen.rows[1].parent, 100);
	assert_int_equal(requests_track_counts(track).ambiguous, 1);
	requests_track_free(track);
}

/* Makes a request by another thread, and returns which one it was for. */
static uint64_t made_for(struct requests_track *track, struct seen *seen, uint64_t goroutine,
			 uint64_t works_for)
{
	const struct film_request *row = &seen->rows[seen->count];

	seen->goroutine = goroutine;
	seen->works_for = works_for;
	call(track, seen, 50, 9, 5, REQUESTS_SENT, GET("/out"), 0);
	call(track, seen, 51, 9, 5, 0, OK, 0);
	assert_int_equal(row->role, FILM_REQUEST_MADE);
	assert_int_equal(row->goroutine, works_for ? works_for : goroutine);
	assert_int_equal(
		!!(row->flags & (FILM_REQUEST_PARENT_BY_GOROUTINE | FILM_REQUEST_PARENT_BY_START)),
		!!row->parent);
	return row->parent;
}

static void test_goroutines(void **state)
{
	struct seen seen = {.has_goroutines = true};
	struct requests_track *track = make(&seen);

	(void)state;
	/* one thread has received all of them, and makes what it does for none */
	for (uint64_t connection = 1; connection <= 4; connection++) {
		seen.goroutine = (uint64_t[]){0, 11, 12, 13, 13}[connection];
		call(track, &seen, connection, 9, connection, 0, GET("/in"), 0);
	}
	assert_int_equal(made_for(track, &seen, 11, 0), 100);
	assert_int_equal(made_for(track, &seen, 77, 12), 101);
	assert_int_equal(made_for(track, &seen, 11, 12), 101);
	/* it serves two; it serves none; it is not known */
	assert_int_equal(made_for(track, &seen, 77, 13), 0);
	assert_int_equal(made_for(track, &seen, 77, 0), 0);
	assert_int_equal(made_for(track, &seen, 0, 0), 0);
	assert_int_equal(requests_track_counts(track).ambiguous, 3);
	/* one of them is over */
	seen.goroutine = 13;
	call(track, &seen, 60, 8, 3, REQUESTS_SENT, OK, 0);
	assert_int_equal(made_for(track, &seen, 77, 13), 103);
	requests_track_free(track);
}

static void tell(struct requests_track *track, uint32_t kind, uint64_t starter, uint64_t goroutine,
		 uint64_t time, uint32_t stream)
{
	const struct requests_started started = {
		.head = {kind, sizeof(started), time},
		.pid = 7,
		.goroutine = goroutine,
		.starter = starter,
		.since = time,
		.stream = stream,
	};

	requests_track_started(track, &started);
}

/* One has started another one at a time; stream: which that handles, 0: none. */
static void start(struct requests_track *track, uint64_t starter, uint64_t goroutine, uint64_t time,
		  uint32_t stream)
{
	tell(track, stream ? REQUESTS_HANDLES : REQUESTS_STARTED, starter, goroutine, time, stream);
}

/* Makes a request that is kept until it is sure for which one it was. */
static void make_kept(struct requests_track *track, struct seen *seen, uint64_t goroutine,
		      uint64_t time)
{
	size_t count = seen->count;

	seen->goroutine = goroutine;
	seen->works_for = 0;
	call(track, seen, time, 9, 5, REQUESTS_SENT, GET("/out"), 0);
	call(track, seen, time, 9, 5, 0, OK, 0);
	assert_int_equal(seen->count, count);
}

/* The request of connection 1 begins, or is answered, in goroutine 11. */
static void serve(struct requests_track *track, struct seen *seen, uint64_t time, bool ends)
{
	seen->goroutine = 11;
	call(track, seen, time, 8, 1, ends ? REQUESTS_SENT : 0, ends ? OK : GET("/in"), 0);
}

static void test_what_a_goroutine_started_is_for_its_request(void **state)
{
	struct seen seen = {.has_goroutines = true};
	struct requests_track *track = make(&seen);

	(void)state;
	start(track, 11, 20, 5, 0);
	serve(track, &seen, 10, false);
	start(track, 11, 21, 15, 0);
	start(track, 21, 22, 16, 0);
	/* it was started before, and may serve all */
	assert_int_equal(made_for(track, &seen, 20, 0), 0);
	make_kept(track, &seen, 21, 20);
	make_kept(track, &seen, 22, 21);
	requests_track_tick(track, 25);
	requests_track_tick(track, 26);
	assert_int_equal(seen.count, 1);
	serve(track, &seen, 30, true);
	assert_int_equal(seen.count, 2);
	requests_track_tick(track, 31);
	requests_track_tick(track, 32);
	assert_int_equal(seen.count, 4);
	for (size_t i = 2; i < 4; i++) {
		assert_int_equal(seen.rows[i].parent, 100);
		assert_true(seen.rows[i].flags & FILM_REQUEST_PARENT_BY_START);
	}
	/* the next one of the same goroutine is not what they were started for */
	serve(track, &seen, 40, false);
	assert_int_equal(made_for(track, &seen, 22, 0), 0);
	requests_track_free(track);
}

/* The first request has started a worker that serves all. */
static void test_a_goroutine_that_lasts_is_of_no_request(void **state)
{
	struct seen seen = {.has_goroutines = true};
	struct requests_track *track = make(&seen);

	(void)state;
	serve(track, &seen, 10, false);
	start(track, 11, 21, 15, 0);
	start(track, 21, 22, 16, 0);
	make_kept(track, &seen, 21, 20);
	make_kept(track, &seen, 22, 21);
	serve(track, &seen, 30, true);
	requests_track_tick(track, 31);
	/* by another one that it has started */
	start(track, 21, 23, 35, 0);
	assert_int_equal(made_for(track, &seen, 23, 0), 0);
	requests_track_tick(track, 41);
	assert_int_equal(seen.count, 4);
	assert_int_equal(seen.rows[2].parent, 0);
	assert_int_equal(seen.rows[2].flags & FILM_REQUEST_PARENT_BY_START, 0);
	assert_int_equal(seen.rows[3].parent, 0);
	requests_track_free(track);
}

/* Two that came at once in one goroutine: what it starts is of one of them. */
static void test_a_start_within_two_requests_is_of_none(void **state)
{
	struct seen seen = {.has_goroutines = true, .goroutine = 11};
	struct requests_track *track = make(&seen);

	(void)state;
	call(track, &seen, 10, 8, 1, 0, GET("/in") GET("/next"), 0);
	start(track, 11, 21, 15, 0);
	assert_int_equal(made_for(track, &seen, 21, 0), 0);
	serve(track, &seen, 30, true);
	/* of the first one, maybe */
	assert_int_equal(made_for(track, &seen, 21, 0), 0);
	start(track, 11, 22, 35, 0);
	make_kept(track, &seen, 22, 40);
	requests_track_finish(track, 50);
	assert_int_equal(seen.rows[seen.count - 1].parent, 101);
	requests_track_free(track);
}

/* A connection's beginning, and a request of a stream: GET /, by the table of headers. */
#define PREFACE	       "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
#define STREAM(number) "\0\0\3\1\5\0\0\0" number "\x82\x84\x86"

static void ask_streams(struct requests_track *track, struct seen *seen, uint64_t connection,
			uint64_t reader)
{
	static const char data[] = PREFACE STREAM("\1") STREAM("\3");

	seen->protocol = REQUESTS_HTTP2;
	seen->goroutine = reader;
	call_of(track, seen, 10, 9, connection, 0, data, sizeof(data) - 1, 0);
	seen->protocol = 0;
}

/* As of net/http, where one has started those that handle, and the one that reads, too. */
static void test_streams_are_of_the_goroutines_that_handle_them(void **state)
{
	struct seen seen = {.has_goroutines = true};
	struct requests_track *track = make(&seen);

	(void)state;
	start(track, 11, 12, 5, 0);
	ask_streams(track, &seen, 1, 12);
	start(track, 11, 31, 20, 1);
	start(track, 11, 33, 21, 3);
	assert_int_equal(made_for(track, &seen, 31, 0), 100);
	assert_int_equal(made_for(track, &seen, 33, 0), 101);
	start(track, 33, 34, 22, 0);
	make_kept(track, &seen, 34, 30);
	/* a stream that is not there; another one started it; the one that reads serves none */
	start(track, 11, 35, 23, 5);
	start(track, 99, 36, 24, 1);
	assert_int_equal(made_for(track, &seen, 35, 0), 0);
	assert_int_equal(made_for(track, &seen, 36, 0), 0);
	assert_int_equal(made_for(track, &seen, 12, 0), 0);
	requests_track_finish(track, 50);
	for (size_t i = 0; i < seen.count; i++)
		if (seen.rows[i].role == FILM_REQUEST_SERVED)
			assert_int_equal(seen.rows[i].goroutine,
					 seen.rows[i].stream == 1 ? 31 : 33);
	assert_int_equal(seen.rows[seen.count - 1].parent, 101);
	requests_track_free(track);
}

/* As of gRPC, where the one that reads starts them; and two connections of one reader. */
static void test_streams_are_found_by_the_one_that_reads(void **state)
{
	struct seen seen = {.has_goroutines = true};
	struct requests_track *track = make(&seen);

	(void)state;
	ask_streams(track, &seen, 1, 12);
	start(track, 12, 31, 20, 1);
	assert_int_equal(made_for(track, &seen, 31, 0), 100);
	ask_streams(track, &seen, 2, 13);
	ask_streams(track, &seen, 3, 13);
	start(track, 13, 41, 21, 1);
	assert_int_equal(made_for(track, &seen, 41, 0), 0);
	/* the one that has started the reader has read the beginning of the connection */
	ask_streams(track, &seen, 4, 14);
	start(track, 14, 15, 11, 0);
	start(track, 15, 51, 22, 3);
	assert_int_equal(made_for(track, &seen, 51, 0), 109);
	requests_track_free(track);
}

/* A client of gRPC: 60 sends, and 61 reads, what goroutines ask for. */
static void test_what_is_asked_for_in_streams_is_for_the_one_that_asks(void **state)
{
	static const char answer[] = "\0\0\1\1\5\0\0\0\1\x88\0\0\1\1\5\0\0\0\3\x88"
				     "\0\0\1\1\5\0\0\0\5\x88";
	static const char third[] = STREAM("\5");
	struct seen seen = {.has_goroutines = true, .goroutine = 11};
	struct requests_track *track = make(&seen);

	(void)state;
	call(track, &seen, 1, 8, 1, 0, GET("/in"), 0);
	seen.protocol = REQUESTS_HTTP2;
	seen.goroutine = 60;
	call_of(track, &seen, 5, 9, 2, REQUESTS_SENT, PREFACE, sizeof(PREFACE) - 1, 0);
	seen.goroutine = 61;
	call_of(track, &seen, 6, 9, 2, 0, "\0\0\0\4\0\0\0\0\0", 9, 0);
	/* known before it is sent, after that, and not at all */
	tell(track, REQUESTS_ASKS, 61, 11, 7, 1);
	seen.goroutine = 60;
	call_of(track, &seen, 8, 9, 2, REQUESTS_SENT, STREAM("\1") STREAM("\3"),
		sizeof(STREAM("\1") STREAM("\3")) - 1, 0);
	start(track, 11, 21, 7, 0);
	tell(track, REQUESTS_ASKS, 61, 21, 9, 3);
	tell(track, REQUESTS_ASKS, 62, 11, 9, 5);
	call_of(track, &seen, 10, 9, 2, REQUESTS_SENT, third, sizeof(third) - 1, 0);
	seen.goroutine = 61;
	call_of(track, &seen, 11, 9, 2, 0, answer, sizeof(answer) - 1, 0);
	requests_track_finish(track, 20);
	assert_int_equal(seen.count, 4);
	for (size_t i = 0; i < seen.count; i++) {
		const struct film_request *row = &seen.rows[i];

		if (row->role == FILM_REQUEST_SERVED)
			continue;
		assert_int_equal(row->parent, row->stream == 5 ? 0 : 100);
		assert_int_equal(row->goroutine, row->stream == 1   ? 11
						 : row->stream == 3 ? 21
								    : 60);
		assert_int_equal(!!(row->flags & FILM_REQUEST_PARENT_BY_START), row->stream == 3);
	}
	requests_track_free(track);
}

static void test_what_was_lost_is_known(void **state)
{
	struct seen seen = {0};
	struct requests_track *track = make(&seen);

	(void)state;
	call(track, &seen, 10, 1, 1, 0, GET("/a"), 0);
	call(track, &seen, 20, 1, 1, REQUESTS_SENT,
	     "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc", 0);
	/* what is missing is a part of the body; so is what looks like a head */
	call(track, &seen, 30, 1, 1, REQUESTS_SENT, "HTTP/1.1 500 x\r\n\r\n", 979);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.rows[0].status, 200);
	assert_int_equal(seen.rows[0].duration, 20);
	assert_int_equal(seen.rows[0].sent, 41 + 1000);
	assert_true(seen.rows[0].flags & FILM_REQUEST_COPY_LOST);
	assert_int_equal(requests_track_counts(track).gaps, 1);
	requests_track_free(track);
}

/* Answers that no program was there for must not leave requests that later answers are then for. */
static void test_what_came_before_all_programs_begins_no_request(void **state)
{
	struct seen seen = {.is_early = true};
	struct requests_track *track = make(&seen);

	(void)state;
	call(track, &seen, 10, 1, 1, 0, GET("/a"), 0);
	seen.is_early = false;
	call(track, &seen, 20, 1, 1, REQUESTS_SENT, OK, 0);
	assert_int_equal(seen.count, 0);
	assert_int_equal(requests_track_counts(track).before, 1);
	call(track, &seen, 30, 1, 1, 0, GET("/b"), 0);
	call(track, &seen, 40, 1, 1, REQUESTS_SENT, OK, 0);
	assert_int_equal(seen.count, 1);
	assert_string_equal(seen.endpoints[0], "GET /b");
	assert_int_equal(seen.rows[0].duration, 10);
	requests_track_free(track);
}

#define MS 1000000ull

/* One that hangs is reported while it does, once; and is in each film that ends meanwhile. */
static void test_what_lasts_is_told_before_its_end(void **state)
{
	struct seen seen = {.slow = 2500 * MS};
	struct requests_track *track = make(&seen);

	(void)state;
	call(track, &seen, 10 * MS, 1, 1, 0, GET("/hangs"), 0);
	call(track, &seen, 20 * MS, 1, 2, REQUESTS_SENT, GET("/out"), 0);
	requests_track_tick(track, 50 * MS);
	assert_int_equal(seen.asked, 0);
	for (uint64_t second = 1; second < 6; second++)
		requests_track_tick(track, second * 1000 * MS);
	assert_int_equal(seen.asked, 3);
	call(track, &seen, 5950 * MS, 1, 3, 0, GET("/new"), 0);
	assert_int_equal(requests_track_leave(track, 6000 * MS), 0);
	assert_int_equal(seen.count, 2);
	assert_string_equal(seen.endpoints[0], "GET /hangs");
	assert_int_equal(seen.rows[0].end, 6000 * MS);
	assert_int_equal(seen.rows[0].duration, 5990 * MS);
	assert_int_equal(seen.rows[0].flags,
			 FILM_REQUEST_OPEN | FILM_REQUEST_UNANSWERED | FILM_REQUEST_GOES_ON);
	assert_int_equal(seen.rows[1].parent, seen.rows[0].number);
	requests_track_turn(track);
	call(track, &seen, 7000 * MS, 1, 1, REQUESTS_SENT, OK, 0);
	assert_int_equal(seen.count, 3);
	assert_int_equal(seen.rows[2].number, seen.rows[0].number);
	assert_int_equal(seen.rows[2].flags, 0);
	requests_track_free(track);
}

static void test_what_goes_on_at_the_end_is_open(void **state)
{
	struct seen seen = {0};
	struct requests_track *track = make(&seen);

	(void)state;
	call(track, &seen, 10, 1, 1, 0, GET("/a"), 0);
	call(track, &seen, 20, 1, 2, 0, GET("/b"), 0);
	call(track, &seen, 30, 1, 2, REQUESTS_SENT,
	     "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc", 0);
	/* an answer to what was asked before anybody looked */
	call(track, &seen, 40, 1, 3, REQUESTS_SENT, OK, 0);
	requests_track_closed(track, 2, 45);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.rows[0].flags, FILM_REQUEST_OPEN);
	assert_int_equal(seen.rows[0].duration, 10);
	requests_track_finish(track, 50);
	assert_int_equal(seen.count, 2);
	/* until the end, as nothing of an answer came */
	assert_int_equal(seen.rows[1].duration, 40);
	assert_int_equal(seen.rows[1].flags, FILM_REQUEST_OPEN | FILM_REQUEST_UNANSWERED);
	assert_int_equal(requests_track_counts(track).before, 1);
	requests_track_free(track);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parents),
		cmocka_unit_test(test_one_from_before),
		cmocka_unit_test(test_goroutines),
		cmocka_unit_test(test_what_a_goroutine_started_is_for_its_request),
		cmocka_unit_test(test_a_goroutine_that_lasts_is_of_no_request),
		cmocka_unit_test(test_a_start_within_two_requests_is_of_none),
		cmocka_unit_test(test_streams_are_of_the_goroutines_that_handle_them),
		cmocka_unit_test(test_streams_are_found_by_the_one_that_reads),
		cmocka_unit_test(test_what_is_asked_for_in_streams_is_for_the_one_that_asks),
		cmocka_unit_test(test_what_was_lost_is_known),
		cmocka_unit_test(test_what_came_before_all_programs_begins_no_request),
		cmocka_unit_test(test_what_lasts_is_told_before_its_end),
		cmocka_unit_test(test_what_goes_on_at_the_end_is_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
