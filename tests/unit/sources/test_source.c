// SPDX-License-Identifier: Apache-2.0
/* What the tables of a source say: its events, which films get, and the kinds of its records. */
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "film/reader.h"
#include "sources/source.h"

enum {
	WHOLE = CAPTURE_KIND(CAPTURE_SOURCE_ON_CPU, 1),
	SMALL,
	UNKNOWN,
};

struct small {
	struct capture_head head;
	uint64_t value;
};

struct seen {
	uint64_t value;
	uint64_t stacks;
};

static void handle_small(struct source *source, const void *of)
{
	const struct small *small = of;
	struct seen *seen = source->state;

	seen->value = small->value;
}

static void handle_stack(struct source *source, const struct capture_record *record,
			 const struct capture_handover *handover)
{
	struct seen *seen = source->state;

	assert_null(handover);
	seen->stacks += record->identity.value;
}

static const struct source_record records[] = {
	SOURCE_RECORD(SMALL, small, handle_small),
	SOURCE_RECORD_WITH_STACK(WHOLE, handle_stack),
	{0},
};

static const struct source_event events[] = {
	{EVENT_OFF_CPU, "test"},
	{EVENT_IDLE, "test"},
	{EVENT_LOCK, "test"},
	{0},
};

static void handle(struct source *source, uint32_t kind, uint32_t size, uint64_t time,
		   uint64_t value)
{
	struct small small = {{kind, size, time}, value};

	source_handle(source, &small.head, NULL);
}

static void a_record_that_is_too_short_is_damaged(void **state)
{
	static const struct source_type type = {.records = records}, without = {0};
	struct capture_record record = {.head = {WHOLE, sizeof(record), 9}, .identity.value = 4};
	struct seen seen = {0};
	struct source source = {.type = &type, .state = &seen};

	(void)state;
	handle(&source, SMALL, sizeof(struct small), 5, 7);
	assert_int_equal(seen.value, 7);
	assert_int_equal(source.last, 5);
	handle(&source, SMALL, sizeof(struct small) - 1, 6, 8);
	assert_int_equal(seen.value, 7);
	assert_int_equal(source.damaged, 1);
	handle(&source, WHOLE, sizeof(struct small), 7, 8);
	handle(&source, UNKNOWN, sizeof(struct small), 8, 8);
	assert_int_equal(seen.stacks, 0);
	assert_int_equal(source.damaged, 3);
	source_handle(&source, &record.head, NULL);
	assert_int_equal(seen.stacks, 4);
	assert_int_equal(source.last, 9);
	/* one that expects none */
	source.type = &without;
	handle(&source, SMALL, sizeof(struct small), 10, 7);
	assert_int_equal(source.damaged, 4);
}

static bool has_event(const struct source *source, unsigned int event)
{
	return source_wants(source, event) && event != 1;
}

static void describe(const struct source *source, struct film_event *event)
{
	(void)source;
	event->frequency = 99;
}

static void a_film_has_the_events_that_were_requested(void **state)
{
	static const struct film_info info = {"", "", "", "", "", 1, 1, 1, 0};
	static const struct source_type type = {
		.events = events, .has_event = has_event, .describe = describe};
	struct source_settings settings = {.events = 1u << 1 | 1u << 2};
	struct source_host host = {0};
	struct source source = {.type = &type, .host = &host, .settings = &settings};
	char path[] = "/tmp/stackcam-source-XXXXXX";
	struct film *film;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(film_create(path, &info, &host.film, NULL), 0);
	source.events[0] = 77; /* of the film before */
	source_add_events(&source);
	assert_int_equal(source.events[0], 0);
	assert_int_equal(source.events[1], 0);
	assert_int_equal(source.event, source.events[2]);
	assert_int_equal(film_close(host.film, 2, NULL), 0);
	assert_int_equal(film_open(path, &film, NULL), 0);
	/* row 0 stands for none */
	assert_int_equal(film->event_count, 2);
	assert_string_equal(film->events[source.event].name, "lock");
	assert_string_equal(film->events[source.event].source, "test");
	assert_int_equal(film->events[source.event].frequency, 99);
	film_free(film);
	remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_that_is_too_short_is_damaged),
		cmocka_unit_test(a_film_has_the_events_that_were_requested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
