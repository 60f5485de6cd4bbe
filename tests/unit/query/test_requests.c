// SPDX-License-Identifier: Apache-2.0
/* Requests come back from a film as they were given, with their endpoints and their texts. */
#include "../prelude.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "film/events.h"
#include "film/writer.h"
#include "query/requests.h"

#define REQUESTS 1000

static struct film_request request_number(uint64_t i)
{
	struct film_request request = {
		.end = 1000000 + i * 1000,
		.duration = 1 + i % 977,
		.first = i % 977,
		.received = 80 + i,
		.sent = i * i,
		.connection = i / 10,
		.number = 0x100000 + i,
		.parent = i % 3 ? 0x100000 + i - 1 : 0,
		.peer = {0, 0x0700000affff0000ull},
		.own = {i, ~i},
		.thread = 1 + i % 2,
		.endpoint = 1 + i % 4,
		.answerer = i % 3,
		.status = i % 5 ? 200 : 503,
		.flags = i % 5 ? 0 : FILM_REQUEST_FAILED,
		.peer_port = (uint16_t)(40000 + i),
		.own_port = 8080,
		.protocol = FILM_PROTOCOL_HTTP,
		.role = i % 2 ? FILM_REQUEST_SERVED : FILM_REQUEST_MADE,
		.id_kind = FILM_REQUEST_ID_REQUEST_ID,
	};

	/* as long as there is room, without a zero */
	memset(request.path, 'a' + (int)(i % 26), sizeof(request.path));
	if (i % 7)
		request.path[i % 7] = 0, memset(request.path + i % 7, 0, 64 - i % 7);
	snprintf(request.id, sizeof(request.id), "id-%llu", (unsigned long long)i);
	return request;
}

static void write_film(const char *path, uint64_t requests)
{
	const struct film_info info = {.version = "1",
				       .hostname = "h",
				       .kernel = "6",
				       .arch = "x86_64",
				       .command = "c",
				       .labels = "",
				       .start = 1000000};
	const struct film_event event = event_from(EVENT_REQUESTS, "sockets");
	const struct film_process process = {
		.pid = 7, .comm = "p", .command = "", .exe = "", .cgroup = "", .container = ""};
	struct film_writer *w;
	char name[32];

	assert_int_equal(film_create(path, &info, &w, NULL), 0);
	assert_int_equal(film_add_event(w, &event), 1);
	assert_int_equal(film_add_process(w, &process), 1);
	for (uint32_t tid = 7; tid < 9; tid++) {
		const struct film_thread thread = {.process = 1, .tid = tid, .comm = "t"};

		assert_int_equal(film_add_thread(w, &thread), tid - 6);
	}
	for (int i = 1; i <= 4; i++) {
		snprintf(name, sizeof(name), "GET /%d", i);
		assert_int_equal(film_mark(w, name), i);
	}
	for (uint64_t i = 0; i < requests; i++) {
		const struct film_request request = request_number(i);

		film_request(w, 1, &request);
	}
	assert_int_equal(film_close(w, 1000000 + requests * 1000, NULL), 0);
}

struct seen {
	uint64_t next;
};

static int take(void *context, const struct request *request)
{
	struct seen *seen = context;
	struct film_request row = request_number(seen->next);
	char endpoint[32], number[32], peer[64];

	/* what is behind its last member is padding */
	assert_memory_equal(&request->row, &row,
			    offsetof(struct film_request, id_kind) + sizeof(row.id_kind));
	snprintf(endpoint, sizeof(endpoint), "GET /%u", row.endpoint);
	assert_string_equal(request->endpoint, endpoint);
	assert_int_equal(strlen(request->path), seen->next % 7 ? seen->next % 7 : 64);
	snprintf(number, sizeof(number), "%016llx", (unsigned long long)row.number);
	assert_true(request_has_id(request, request->id));
	assert_true(request_has_id(request, number));
	assert_false(request_has_id(request, ""));
	assert_false(request_has_id(request, "id"));
	snprintf(number, sizeof(number), "10.0.0.7:%u", row.peer_port);
	assert_string_equal(request_peer(request, peer, sizeof(peer)), number);
	seen->next++;
	return 0;
}

static void test_requests(void **state)
{
	char path[] = "/tmp/stackcam-test-requests-XXXXXX";
	int fd = mkstemp(path);
	struct seen seen = {0};
	struct film *film;
	uint64_t count, total, sum = 0;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	write_film(path, REQUESTS);
	assert_int_equal(film_open(path, &film, NULL), 0);
	assert_int_equal(requests_event(film), 1);
	assert_int_equal(requests_each(film, 0, UINT64_MAX, take, &seen, NULL), 0);
	assert_int_equal(seen.next, REQUESTS);
	/* from the 500th on */
	seen.next = 500;
	assert_int_equal(requests_each(film, 1500000, UINT64_MAX, take, &seen, NULL), 0);
	assert_int_equal(seen.next, REQUESTS);
	/* to those who know nothing else they are samples */
	for (uint64_t i = 0; i < REQUESTS; i++)
		sum += request_number(i).duration;
	film_event_total(film, 1, &count, &total);
	assert_int_equal(count, REQUESTS);
	assert_int_equal(total, sum);
	film_free(film);
	unlink(path);
}

/* A flood between two commits takes no more memory than that; what has no room is counted. */
static void test_a_flood_is_bounded(void **state)
{
	char path[] = "/tmp/stackcam-test-requests-XXXXXX";
	const uint64_t flood = 300000, room = (48u << 20) / sizeof(struct film_request);
	uint64_t count, total, lost = 0;
	int fd = mkstemp(path);
	struct film *film;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	write_film(path, flood);
	assert_int_equal(film_open(path, &film, NULL), 0);
	film_event_total(film, 1, &count, &total);
	for (size_t i = 0; i < film->loss_count; i++)
		if (!strcmp(film->losses[i].reason,
			    "film: no room for another request before the next commit"))
			lost += film->losses[i].count;
	assert_true(count >= room && count <= room + 1);
	assert_int_equal(count + lost, flood);
	film_free(film);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_requests),
					   cmocka_unit_test(test_a_flood_is_bounded)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
