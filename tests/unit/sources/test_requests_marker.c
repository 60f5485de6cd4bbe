// SPDX-License-Identifier: Apache-2.0
/* Requests that programs mark: where they go on, what is made for them, and what is not ended. */
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sources/requests/marker.h"
#include "sources/requests/track.h"

#define ROWS_MAX 4096

struct seen {
	struct film_request rows[ROWS_MAX];
	char endpoints[ROWS_MAX][64];
	size_t count;
	bool has_goroutines;
	struct requests_track *track;
	struct requests_marker *marker;
	uint64_t moved[8][2];
	uint64_t goroutine; /* of what comes next */
	uint32_t pid;
	uint64_t thread_start;
};

static uint32_t thread_row(void *context, const struct capture_identity *identity)
{
	(void)context;
	return identity->tid;
}

static void write_row(void *context, struct film_request *row, const char *endpoint,
		      const struct capture_identity *identity, bool is_slow)
{
	struct seen *seen = context;

	(void)identity;
	(void)is_slow;
	assert_true(seen->count < ROWS_MAX);
	snprintf(seen->endpoints[seen->count], 64, "%s", endpoint);
	seen->rows[seen->count++] = *row;
}

static bool has_goroutines(void *context, pid_t pid)
{
	(void)pid;
	return ((const struct seen *)context)->has_goroutines;
}

static struct seen *make(void)
{
	struct seen *seen = calloc(1, sizeof(*seen));
	const struct requests_to to = {thread_row, write_row, NULL, has_goroutines, seen, 0};

	assert_non_null(seen);
	seen->pid = 7;
	seen->track = requests_track_new(&to, 100);
	seen->marker = requests_marker_new(seen->track);
	assert_true(seen->track && seen->marker);
	return seen;
}

static void drop(struct seen *seen)
{
	requests_marker_free(seen->marker);
	requests_track_free(seen->track);
	free(seen);
}

static struct requests_record *record_of(const struct seen *seen, uint64_t time, uint32_t tid,
					 const char *text)
{
	uint32_t size = (uint32_t)strlen(text);
	struct requests_record *record = calloc(1, sizeof(*record) + size);

	assert_non_null(record);
	record->head =
		(struct capture_head){REQUESTS_MARKED, (uint32_t)sizeof(*record) + size, time};
	record->identity.pid = seen->pid;
	record->identity.tid = tid;
	record->identity.thread_start = seen->thread_start;
	strcpy(record->identity.comm, "t");
	record->length = record->copied = size;
	record->task = seen->goroutine;
	memcpy(record + 1, text, size);
	return record;
}

static void mark(struct seen *seen, uint64_t time, uint32_t tid, const char *text)
{
	struct requests_record *record = record_of(seen, time, tid, text);

	requests_marker_handle(seen->marker, record);
	free(record);
}

static void call(struct seen *seen, uint64_t time, uint32_t tid, uint64_t connection, uint8_t flags,
		 const char *text)
{
	struct requests_record *record = record_of(seen, time, tid, text);
	uint64_t *moved = &seen->moved[connection][flags & REQUESTS_SENT];

	record->head.kind = REQUESTS_DATA;
	record->connection = connection;
	record->protocol = REQUESTS_HTTP;
	record->flags = flags;
	record->offset = *moved;
	*moved += record->length;
	requests_track_handle(seen->track, record);
	free(record);
}

#define GET(path) "GET " path " HTTP/1.1\r\n\r\n"
#define OK	  "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

/* A request that the thread makes: its row. */
static const struct film_request *made(struct seen *seen, uint64_t time, uint32_t tid)
{
	call(seen, time, tid, 2, REQUESTS_SENT, GET("/made"));
	call(seen, time + 1, tid, 2, 0, OK);
	assert_string_equal(seen->endpoints[seen->count - 1], "GET /made");
	return &seen->rows[seen->count - 1];
}

static void is_made_for(struct seen *seen, uint64_t time, uint32_t tid, uint64_t number)
{
	const struct film_request *row = made(seen, time, tid);

	assert_int_equal(row->parent, number);
	assert_int_equal(!!(row->flags & FILM_REQUEST_PARENT_BY_MARKER), number != 0);
}

static void test_begin_and_end(void **state)
{
	struct seen *seen = make();
	const struct film_request *row = seen->rows;

	(void)state;
	mark(seen, 10, 1, "stackcam: begin id=a endpoint=\"POST /orders\"\n");
	mark(seen, 50, 1, "stackcam: end id=a status=3");
	assert_int_equal(seen->count, 1);
	assert_string_equal(seen->endpoints[0], "POST /orders");
	assert_string_equal(row->id, "a");
	assert_int_equal(row->id_kind, FILM_REQUEST_ID_MARKER);
	assert_int_equal(row->protocol, FILM_PROTOCOL_MARKER);
	assert_int_equal(row->role, FILM_REQUEST_SERVED);
	assert_int_equal(row->duration, 40);
	assert_int_equal(row->thread, 1);
	assert_int_equal(row->answerer, 1);
	assert_int_equal(row->status, 3);
	assert_int_equal(row->flags, FILM_REQUEST_FAILED);
	/* its end again, and one of another process */
	mark(seen, 60, 1, "stackcam: end id=a");
	seen->pid = 8;
	mark(seen, 61, 1, "stackcam: begin id=b");
	seen->pid = 7;
	mark(seen, 62, 1, "stackcam: end id=b");
	assert_int_equal(requests_marker_counts(seen->marker).unbegun, 2);
	assert_int_equal(seen->count, 1);
	requests_marker_process_ended(seen->marker, 8, 70);
	assert_int_equal(seen->count, 2);
	assert_int_equal(seen->rows[1].flags, FILM_REQUEST_OPEN | FILM_REQUEST_UNANSWERED);
	assert_int_equal(seen->rows[1].duration, 9);
	drop(seen);
}

static void test_it_goes_on_in_another_thread(void **state)
{
	struct seen *seen = make();

	(void)state;
	mark(seen, 10, 1, "stackcam: begin id=a");
	is_made_for(seen, 11, 1, 100);
	mark(seen, 20, 2, "stackcam: begin id=a");
	is_made_for(seen, 21, 2, 100);
	/* and not where it was */
	is_made_for(seen, 31, 1, 0);
	/* a later thread of that number is another one */
	seen->thread_start = 25;
	is_made_for(seen, 35, 2, 0);
	seen->thread_start = 0;
	mark(seen, 40, 3, "stackcam: end id=a");
	is_made_for(seen, 41, 2, 0);
	assert_int_equal(seen->rows[4].thread, 1);
	assert_int_equal(seen->rows[4].answerer, 3);
	drop(seen);
}

static void test_several_at_once(void **state)
{
	struct seen *seen = make();

	(void)state;
	mark(seen, 10, 1, "stackcam: begin id=a");
	mark(seen, 11, 1, "stackcam: begin id=b parent=a");
	/* within a: for b, and for a once that is over */
	is_made_for(seen, 12, 1, 101);
	mark(seen, 20, 1, "stackcam: begin id=c");
	/* c may have come in between, as in an event loop */
	is_made_for(seen, 21, 1, 0);
	assert_int_equal(requests_track_counts(seen->track).ambiguous, 1);
	mark(seen, 30, 1, "stackcam: end id=c");
	mark(seen, 31, 1, "stackcam: end id=b");
	is_made_for(seen, 32, 1, 100);
	/* one that takes turns says so */
	mark(seen, 40, 1, "stackcam: begin id=d");
	mark(seen, 41, 1, "stackcam: begin id=a");
	is_made_for(seen, 42, 1, 100);
	mark(seen, 43, 1, "stackcam: begin id=d");
	is_made_for(seen, 44, 1, seen->rows[seen->count - 1].number - 1);
	drop(seen);
}

static void test_within_what_came_by_a_socket(void **state)
{
	struct seen *seen = make();

	(void)state;
	call(seen, 10, 1, 1, 0, GET("/in"));
	mark(seen, 11, 1, "stackcam: begin id=a");
	is_made_for(seen, 12, 1, 101);
	/* another one comes: the thread may work for that */
	call(seen, 20, 1, 3, 0, GET("/too"));
	is_made_for(seen, 21, 1, 0);
	call(seen, 30, 1, 3, REQUESTS_SENT, OK);
	mark(seen, 31, 1, "stackcam: end id=a");
	assert_int_equal(seen->rows[seen->count - 1].parent, 100);
	/* and then by the thread, as ever */
	assert_int_equal(made(seen, 20000000000, 1)->parent, 100);
	drop(seen);
}

static void test_goroutines(void **state)
{
	struct seen *seen = make();

	(void)state;
	seen->has_goroutines = true;
	seen->goroutine = 5;
	mark(seen, 10, 1, "stackcam: begin id=a");
	seen->goroutine = 6;
	is_made_for(seen, 11, 1, 0);
	seen->goroutine = 5;
	is_made_for(seen, 12, 2, 100);
	/* of one that is not known, nothing is known */
	seen->goroutine = 0;
	mark(seen, 20, 1, "stackcam: begin id=b");
	is_made_for(seen, 21, 1, 0);
	drop(seen);
}

/* The kernel's records, cut, of several lines, and damaged. */
static void test_records(void **state)
{
	struct seen *seen = make();
	struct requests_record *record =
		record_of(seen, 10, 1, "stackcam: begin id=a\nwords\nstackcam: begin id=b");

	(void)state;
	record->length++;
	requests_marker_handle(seen->marker, record);
	record->head.size--;
	requests_marker_handle(seen->marker, record);
	record->head.size++;
	record->flags = REQUESTS_UNREAD;
	requests_marker_handle(seen->marker, record);
	free(record);
	assert_int_equal(requests_marker_counts(seen->marker).cut, 1);
	assert_int_equal(requests_marker_counts(seen->marker).strange, 1);
	assert_int_equal(requests_marker_counts(seen->marker).unread, 1);
	assert_int_equal(requests_track_counts(seen->track).damaged, 1);
	requests_track_finish(seen->track, 20);
	assert_int_equal(seen->count, 1);
	assert_string_equal(seen->rows[0].id, "a");
	drop(seen);
}

/* What is not ended: written into each film, given up if it is too much, and forgotten. */
static void test_bounds(void **state)
{
	struct seen *seen = make();
	char line[80];

	(void)state;
	for (unsigned int i = 0; i < 3000; i++) {
		snprintf(line, sizeof(line), "stackcam: begin id=%u", i);
		mark(seen, 10 + i, 1, line);
		if (i % 3)
			continue;
		snprintf(line, sizeof(line), "stackcam: end id=%u", i);
		mark(seen, 10 + i, 1, line);
	}
	assert_int_equal(requests_marker_counts(seen->marker).given_up, 2000 - 1024);
	assert_int_equal(seen->count, 3000 - 1024);
	for (size_t i = 0; i < seen->count; i++)
		assert_int_equal(seen->rows[i].flags & FILM_REQUEST_OPEN,
				 atoi(seen->rows[i].id) % 3 ? FILM_REQUEST_OPEN : 0);
	seen->count = 0;
	assert_int_equal(requests_track_leave(seen->track, 1000000000), 0);
	assert_int_equal(seen->count, 1024);
	requests_track_turn(seen->track);
	mark(seen, 1000000001, 1, "stackcam: end id=2999");
	assert_int_equal(seen->rows[1024].flags, 0);
	seen->count = 0;
	requests_marker_process_ended(seen->marker, 7, 1000000002);
	assert_int_equal(seen->count, 1023);
	/* the connection of them all is forgotten, and made again */
	requests_track_tick(seen->track, 1000000000000);
	mark(seen, 1000000000001, 1, "stackcam: begin id=2999");
	requests_marker_process_ended(seen->marker, 7, 1000000000002);
	assert_int_equal(seen->count, 1024);
	/* of many processes: there is an end to it */
	for (seen->pid = 10; seen->pid < 40; seen->pid++)
		for (unsigned int i = 0; i < 1024; i++) {
			snprintf(line, sizeof(line), "stackcam: begin id=%u", i);
			mark(seen, 2000000000000, 1, line);
		}
	assert_int_equal(requests_marker_counts(seen->marker).refused, 30 * 1024 - 16384);
	seen->count = 0;
	for (seen->pid = 10; seen->pid < 14; seen->pid++)
		requests_marker_process_ended(seen->marker, (pid_t)seen->pid, 2000000000001);
	assert_int_equal(seen->count, 4096);
	drop(seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_begin_and_end),
		cmocka_unit_test(test_it_goes_on_in_another_thread),
		cmocka_unit_test(test_several_at_once),
		cmocka_unit_test(test_within_what_came_by_a_socket),
		cmocka_unit_test(test_goroutines),
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
