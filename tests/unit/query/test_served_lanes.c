// SPDX-License-Identifier: Apache-2.0
/* Requests of a program in Go belong to the goroutine that answered, whichever threads ran it. */
#include "../prelude.h"

#include <string.h>

#include "film/events.h"
#include "film/writer.h"
#include "film_build.h"
#include "query/served.h"
#include "query/unlinked.h"
#include "query/view.h"

/* Threads of the kernel, then goroutines. */
enum {
	M1 = 1,
	M2,
	G1,
	G2
};

enum {
	ORDERS = 1,
	USERS
};

/*
 * Two goroutines on two threads: G1 runs on M1 over [1000, 2000), waits, and on M2 over
 * [3000, 4000). G2 runs on M2 over [1000, 3000), and on M1 over [3000, 4000).
 */
static const struct film_turn turns[] = {
	{.end = 3000, .ran = 1000, .waited = 1000, .thread = G1, .on = M1, .state = 'G'},
	{.end = 3000, .ran = 2000, .thread = G2, .on = M2, .state = FILM_WAIT_READY},
	{.end = 4000, .ran = 1000, .thread = G1, .on = M2},
	{.end = 4000, .ran = 1000, .thread = G2, .on = M1},
};

/* M1 received the first one, and M2 answered it. The last ones are not of one goroutine. */
static const struct film_request requests[] = {
	{.end = 3900,
	 .duration = 2700,
	 .first = 2600,
	 .number = 1,
	 .thread = M1,
	 .answerer = M2,
	 .endpoint = ORDERS,
	 .protocol = FILM_PROTOCOL_HTTP},
	{.end = 3950,
	 .duration = 2450,
	 .first = 2400,
	 .number = 2,
	 .thread = M2,
	 .answerer = M1,
	 .endpoint = USERS,
	 .protocol = FILM_PROTOCOL_HTTP},
	{.end = 5000,
	 .duration = 500,
	 .first = 400,
	 .number = 3,
	 .thread = M1,
	 .answerer = M1,
	 .endpoint = USERS,
	 .protocol = FILM_PROTOCOL_HTTP},
	{.end = 7000,
	 .duration = 5000,
	 .first = 1500,
	 .number = 4,
	 .thread = M1,
	 .answerer = M1,
	 .endpoint = USERS,
	 .protocol = FILM_PROTOCOL_HTTP2},
	/* the goroutine that handled its stream is known */
	{.end = 1190,
	 .duration = 150,
	 .first = 100,
	 .number = 5,
	 .goroutine = G1 + 6,
	 .thread = M1,
	 .answerer = M1,
	 .endpoint = ORDERS,
	 .protocol = FILM_PROTOCOL_GRPC},
};

static void fill_film(struct film_writer *w, size_t count)
{
	const struct film_event events[] = {event_from(EVENT_REQUESTS, "sockets"),
					    event_from(EVENT_GO_LANES, "uprobes"),
					    event_from(EVENT_ON_CPU, "cpu-clock")};
	const struct film_process process = {
		.pid = 7, .comm = "p", .command = "", .exe = "", .cgroup = "", .container = ""};

	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(film_add_event(w, &events[i]), i + 1);
	assert_int_equal(film_add_process(w, &process), 1);
	for (uint32_t thread = M1; thread <= G2; thread++)
		assert_int_equal(film_add_thread(w, &(struct film_thread){.process = 1,
									  .tid = thread + 6,
									  .comm = "t"}),
				 thread);
	assert_int_equal(film_mark(w, "GET /orders"), ORDERS);
	assert_int_equal(film_mark(w, "GET /users"), USERS);
	for (size_t i = 0; i < count; i++) {
		struct film_request request = requests[i];

		request.role = FILM_REQUEST_SERVED;
		film_request(w, 1, &request);
	}
	for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++)
		film_turn(w, 2, &turns[i]);
	/* each thread is seen all 100 ns */
	for (uint64_t time = 1050; time < 5000; time += 100)
		for (uint32_t thread = M1; thread <= M2; thread++)
			film_sample(w, 3, time, thread, 0, 1);
}

static struct film *open_film(size_t count)
{
	struct film_build b;

	film_build_empty(&b, 0);
	fill_film(b.w, count);
	b.end = 10000;
	return film_build_open(&b);
}

static uint32_t at(const struct served *served, uint32_t thread, uint64_t time)
{
	return served_part(served, thread, time, time).endpoint;
}

static void test_threads_work_for_whom_they_run(void **state)
{
	struct film *film = open_film(2);
	struct served served;

	(void)state;
	assert_int_equal(served_load(&served, film, NULL, NULL), 0);
	assert_int_equal(served.no_lane, 0);
	/* before its first bytes the thread ran the same goroutine, for something else */
	assert_int_equal(at(&served, M1, 1199), SERVED_NONE);
	assert_int_equal(at(&served, M1, 1200), ORDERS);
	assert_int_equal(at(&served, M1, 2000), SERVED_NONE);
	assert_int_equal(at(&served, M2, 3500), ORDERS);
	assert_int_equal(at(&served, M2, 3900), SERVED_NONE);
	assert_int_equal(at(&served, M2, 1500), USERS);
	assert_int_equal(at(&served, M1, 3500), USERS);
	/* the goroutine itself also while it waited */
	assert_int_equal(at(&served, G1, 2500), ORDERS);
	assert_int_equal(at(&served, G2, 1400), SERVED_NONE);
	assert_int_equal(at(&served, G2, 3949), USERS);
	served_free(&served);
	film_free(film);
}

static uint64_t total_of(struct film *film, const char *event, const char *request,
			 uint32_t *unlinked)
{
	const struct question q = {
		.event = event, .filter.request = request, .shape.by_wait = event[0] == 'g'};
	struct view view;
	uint64_t total;

	assert_int_equal(view_open(film, &q, VIEW_WHOLE, &view, NULL), 0);
	total = view.total;
	*unlinked = view.unlinked;
	assert_int_equal(view.others, 0);
	view_free(&view);
	return total;
}

static void test_sums(void **state)
{
	struct film *film = open_film(2);
	uint32_t unlinked;

	(void)state;
	/* on M1 over [1200, 2000), on M2 over [3000, 3900) */
	assert_int_equal(total_of(film, "on-cpu", "0000000000000001", &unlinked), 8 + 9);
	assert_int_equal(unlinked, 0);
	/* on M2 over [1500, 3000), on M1 over [3000, 3950): what is at its end is behind it */
	assert_int_equal(total_of(film, "on-cpu", "0000000000000002", &unlinked), 15 + 9);
	/* all of their time */
	assert_int_equal(total_of(film, "go-lanes", "0000000000000001", &unlinked), 2700);
	assert_int_equal(total_of(film, "go-lanes", "0000000000000002", &unlinked), 2450);
	assert_int_equal(unlinked, 0);
	film_free(film);
}

static void test_streams(void **state)
{
	struct film *film = open_film(5);
	uint32_t unlinked;

	(void)state;
	assert_int_equal(total_of(film, "go-lanes", "0000000000000005", &unlinked), 150);
	assert_int_equal(unlinked, 0);
	film_free(film);
}

static void test_lanes_that_are_not_known_are_said(void **state)
{
	struct film *film = open_film(4);
	struct question q = {.event = "on-cpu", .filter.request = "0000000000000003"};
	struct served served;
	struct view view;

	(void)state;
	assert_int_equal(served_load(&served, film, NULL, NULL), 0);
	assert_int_equal(served.no_lane, 2);
	served_free(&served);
	/* no goroutine is known to run then: what the thread did stands for it */
	assert_int_equal(view_open(film, &q, VIEW_WHOLE, &view, NULL), 0);
	assert_int_equal(view.total, 5);
	assert_int_equal(view.unlinked, 1u << FILM_TASKS_GO);
	view_free(&view);
	film_free(film);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads_work_for_whom_they_run),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_lanes_that_are_not_known_are_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
