// SPDX-License-Identifier: Apache-2.0
/* Which requests threads worked on, and that what is seen of them adds up. */
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "film/events.h"
#include "film/writer.h"
#include "film_build.h"
#include "query/served.h"
#include "query/view.h"

/* Frames of the endpoints, in the order in which they are marked. */
enum {
	ORDERS = 1,
	USERS
};

/* Two threads; the second one answers what the first one has received. */
static const struct film_request requests[] = {
	{.end = 2000, .duration = 1000, .number = 1, .thread = 1, .endpoint = ORDERS},
	{.end = 3000, .duration = 500, .number = 2, .thread = 1, .endpoint = ORDERS},
	/* two of one endpoint at once, and one of another */
	{.end = 5500, .duration = 1500, .number = 3, .thread = 1, .endpoint = ORDERS},
	{.end = 6000, .duration = 1000, .number = 4, .thread = 1, .endpoint = ORDERS},
	{.end = 6500, .duration = 700, .number = 5, .thread = 1, .endpoint = USERS},
	/* handed on: the thread answered the first one before it began with the second one */
	{.end = 8000, .duration = 1000, .number = 6, .thread = 1, .answerer = 2, .endpoint = USERS},
	{.end = 9000,
	 .duration = 1900,
	 .number = 7,
	 .thread = 1,
	 .answerer = 2,
	 .endpoint = ORDERS},
};

static void fill_film(struct film_writer *w)
{
	const struct film_event events[] = {event_from(EVENT_REQUESTS, "sockets"),
					    event_from(EVENT_OFF_CPU, "sched")};
	const struct film_process process = {
		.pid = 7, .comm = "p", .command = "", .exe = "", .cgroup = "", .container = ""};

	assert_int_equal(film_add_event(w, &events[0]), 1);
	assert_int_equal(film_add_event(w, &events[1]), 2);
	assert_int_equal(film_add_process(w, &process), 1);
	for (uint32_t tid = 7; tid < 9; tid++)
		assert_int_equal(
			film_add_thread(
				w, &(struct film_thread){.process = 1, .tid = tid, .comm = "t"}),
			tid - 6);
	assert_int_equal(film_mark(w, "GET /orders"), ORDERS);
	assert_int_equal(film_mark(w, "GET /users"), USERS);
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		struct film_request request = requests[i];

		request.role = FILM_REQUEST_SERVED;
		film_request(w, 1, &request);
	}
	/* from 500 to 4500, over two requests; and a sum of several waits */
	film_wait(w, 2,
		  &(struct film_wait){.end = 4500, .duration = 4000, .count = 1, .thread = 1});
	film_wait(w, 2,
		  &(struct film_wait){.end = 6600,
				      .duration = 300,
				      .count = 3,
				      .thread = 1,
				      .flags = FILM_WAIT_SAMPLED});
}

static struct film *open_film(void)
{
	struct film_build b;

	film_build_empty(&b, 0);
	fill_film(b.w);
	b.end = 10000;
	return film_build_open(&b);
}

static uint32_t at(const struct served *served, uint32_t thread, uint64_t time)
{
	return served_part(served, thread, time, time).endpoint;
}

static void test_endpoints(void **state)
{
	struct film *film = open_film();
	struct served served;
	struct served_part part;

	(void)state;
	assert_int_equal(served_load(&served, film, NULL, NULL), 0);
	assert_int_equal(served.requests, 7);
	assert_int_equal(at(&served, 1, 999), SERVED_NONE);
	assert_int_equal(at(&served, 1, 1000), ORDERS);
	assert_int_equal(at(&served, 1, 2000), SERVED_NONE);
	assert_int_equal(at(&served, 1, 2500), ORDERS);
	assert_int_equal(at(&served, 1, 5200), ORDERS);
	assert_int_equal(at(&served, 1, 5900), SERVED_SEVERAL);
	assert_int_equal(at(&served, 1, 6400), USERS);
	assert_int_equal(at(&served, 1, 7500), SERVED_NONE);
	assert_int_equal(at(&served, 2, 6999), SERVED_NONE);
	assert_int_equal(at(&served, 2, 7500), USERS);
	assert_int_equal(at(&served, 2, 8000), ORDERS);
	assert_int_equal(at(&served, 2, 9000), SERVED_NONE);
	part = served_part(&served, 1, 500, 4500);
	assert_int_equal(part.to, 1000);
	assert_int_equal(part.endpoint, SERVED_NONE);
	part = served_part(&served, 1, 6500, 9000);
	assert_int_equal(part.to, 9000);
	served_free(&served);
	film_free(film);
}

static void test_one_request(void **state)
{
	struct film *film = open_film();
	struct served served;
	struct fail why = {0};

	(void)state;
	assert_int_equal(served_load(&served, film, "0000000000000005", NULL), 0);
	assert_int_equal(served.requests, 1);
	/* one was open when it began; it began after the others, which had ended */
	assert_int_equal(served.others, 1);
	assert_int_equal(at(&served, 1, 5700), SERVED_NONE);
	assert_int_equal(at(&served, 1, 5900), USERS);
	served_free(&served);
	assert_int_equal(served_load(&served, film, "no", &why), -ENOENT);
	served_free(&served);
	film_free(film);
}

static uint64_t value_below(const struct view *view, const char *root)
{
	uint64_t value = 0;

	vec_foreach (&view->weights, weight) {
		uint32_t path = weight->stack;
		const char *mark;

		while (view->paths[path].parent)
			path = view->paths[path].parent;
		mark = view_mark(view, view->paths[path].frame);
		if (mark && !strcmp(mark, root))
			value += weight->value;
	}
	return value;
}

static void test_waits_are_cut(void **state)
{
	struct film *film = open_film();
	struct question q = {.event = "off-cpu", .shape.by_endpoint = true};
	struct view view;

	(void)state;
	assert_int_equal(view_open(film, &q, VIEW_WHOLE, &view, NULL), 0);
	assert_int_equal(view.total, 4300);
	assert_int_equal(value_below(&view, "GET /orders"), 1000 + 500 + 500);
	assert_int_equal(value_below(&view, "[no request]"), 500 + 500 + 1000);
	assert_int_equal(value_below(&view, "[waits summed up]"), 300);
	view_free(&view);
	q = (struct question){.event = "off-cpu", .filter.request = "0000000000000002"};
	assert_int_equal(view_open(film, &q, VIEW_WHOLE, &view, NULL), 0);
	assert_int_equal(view.total, 500);
	assert_int_equal(view.unplaced, 300);
	view_free(&view);
	film_free(film);
}

static void test_which_request_it_was(void **state)
{
	struct film *film = open_film();
	const struct {
		uint64_t time;
		uint32_t thread;
		const char *name, *endpoint;
	} expected[] = {
		{1500, 1, "1", "GET /orders"},
		{2200, 1, NULL, NULL},
		{2600, 1, "2", "GET /orders"},
		{4200, 1, "3", "GET /orders"},
		{5200, 1, NULL, NULL} /* several, although of one endpoint */,
		{6200, 1, "5", "GET /users"},
		{7500, 1, NULL, NULL},
		{7500, 2, "6", "GET /users"},
		{8500, 2, "7", "GET /orders"},
	};
	struct served served;

	(void)state;
	assert_int_equal(served_load_each(&served, film, NULL), 0);
	assert_int_equal(served.each.count, 7);
	assert_false(served.has_goroutines);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		const struct served_request *request =
			served_request_at(&served, expected[i].thread, expected[i].time);

		if (!expected[i].name) {
			assert_null(request);
			continue;
		}
		assert_non_null(request);
		assert_string_equal(request->endpoint, expected[i].endpoint);
		assert_int_equal(strtoul(request->name, NULL, 16),
				 strtoul(expected[i].name, NULL, 16));
	}
	served_free(&served);
	film_free(film);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_endpoints),
		cmocka_unit_test(test_one_request),
		cmocka_unit_test(test_waits_are_cut),
		cmocka_unit_test(test_which_request_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
