// SPDX-License-Identifier: Apache-2.0
/* Spans that clients send: found by trace and by process, bounded, there after a restart. */
#include "../prelude.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "kept_store.h"
#include "store/spans.h"

#define PUSH	10000 /* as many as a request has at most */

#define HOSTILE "%41 a%b \xc3\xbc\xff \"<'\\"

static struct span made(uint8_t trace, uint32_t id, uint64_t start, uint64_t end, uint32_t pid)
{
	struct span span = {
		.trace = {trace},
		.start = start,
		.end = end,
		.pid = pid,
		.host = pid ? "web-1" : "",
		.service = HOSTILE,
		.name = HOSTILE,
	};

	memcpy(span.id, &id, sizeof(id));
	return span;
}

static size_t count(struct store *store, struct spans_wanted wanted, bool is_cut)
{
	struct spans_found found;
	struct fail why = {0};
	size_t count;

	if (!wanted.limit)
		wanted.limit = 100;
	if (!wanted.to)
		wanted.to = INT64_MAX;
	assert_int_equal(store_spans_find(store, &wanted, &found, &why), 0);
	count = found.count;
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(found.at[i].name, HOSTILE);
		assert_true(!i || found.at[i].start >= found.at[i - 1].start);
	}
	assert_int_equal(found.is_cut, is_cut);
	spans_found_free(&found);
	return count;
}

static void test_they_are_found(void **state)
{
	struct store *store = open_store(0, 0);
	uint64_t now = clock_wall();
	struct span spans[] = {
		made(1, 1, now, now + 100, 7),	   made(1, 2, now + 10, now + 20, 7),
		made(1, 3, now + 30, now + 40, 8), made(2, 1, now + 50, now + 60, 0),
		made(1, 2, now + 10, now + 20, 7),
	};
	const uint32_t pids[] = {7, 8};
	const uint8_t trace[SPAN_TRACE] = {1}, none[SPAN_TRACE] = {9};
	struct store_spans_status status;
	struct spans_added added;
	struct fail why = {0};

	(void)state;
	assert_int_equal(count(store, (struct spans_wanted){.trace = trace}, false), 0);
	spans[2].service = "shop-cart";
	assert_int_equal(store_spans_add(store, spans, 5, &added, &why), 0);
	assert_int_equal(added.kept, 4);
	assert_int_equal(added.again, 1);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(count(store, (struct spans_wanted){.trace = trace}, false), 3);
		assert_int_equal(count(store, (struct spans_wanted){.trace = none}, false), 0);
		assert_int_equal(
			count(store, (struct spans_wanted){.trace = trace, .limit = 2}, true), 2);
		/* those of other services before it take no room */
		assert_int_equal(count(store,
				       (struct spans_wanted){.trace = trace,
							     .services = "cart,shop-*",
							     .limit = 1},
				       false),
				 1);
		assert_int_equal(
			count(store, (struct spans_wanted){.services = "[!s]*", .limit = 2}, true),
			2);
		/* by process, and by time: [from, to) that it has a part in */
		assert_int_equal(
			count(store, (struct spans_wanted){.pids = pids, .pid_count = 1}, false),
			2);
		assert_int_equal(
			count(store, (struct spans_wanted){.pids = pids, .pid_count = 2}, false),
			3);
		assert_int_equal(count(store, (struct spans_wanted){.host = "web-1"}, false), 4);
		assert_int_equal(count(store, (struct spans_wanted){.host = "web-2"}, false), 1);
		assert_int_equal(count(store,
				       (struct spans_wanted){.from = now + 25, .to = now + 30},
				       false),
				 1);
		assert_int_equal(count(store, (struct spans_wanted){.from = now + 60}, false), 2);
		store_free(store);
		store = open_store(0, 0);
	}
	assert_int_equal(count(store, (struct spans_wanted){.trace = trace}, false), 3);
	store_spans_status(store, &status);
	assert_int_equal(status.spans, 4);
	store_free(store);
}

static void test_the_oldest_are_dropped(void **state)
{
	struct store *store = open_store(0, 0);
	static struct span spans[PUSH];
	struct store_spans_status status;
	struct spans_added added = {0};
	struct fail why = {0};
	uint64_t now = clock_wall();
	uint32_t number = 0;
	const uint8_t trace[SPAN_TRACE] = {1};

	(void)state;
	while (!added.dropped) {
		for (size_t i = 0; i < PUSH; i++, number++)
			spans[i] = made(1, number, now + number, now + number, 7);
		assert_int_equal(store_spans_add(store, spans, PUSH, &added, &why), 0);
		assert_int_equal(added.kept, PUSH);
		assert_true(number <= SPANS_MAX + PUSH);
	}
	store_spans_status(store, &status);
	assert_int_equal(status.spans, SPANS_MAX - SPANS_MAX / 10);
	assert_int_equal(status.spans + status.dropped, number);
	/* the first are gone */
	assert_int_equal(count(store,
			       (struct spans_wanted){.trace = trace, .to = now + status.dropped},
			       false),
			 0);
	assert_int_equal(
		count(store, (struct spans_wanted){.trace = trace, .to = now + status.dropped + 5},
		      false),
		5);
	store_free(store);
}

static void test_a_damaged_file_is_moved_aside(void **state)
{
	const uint8_t trace[SPAN_TRACE] = {1};
	struct store *store = open_store(0, 0);
	struct span span = made(1, 1, clock_wall(), clock_wall(), 7);
	struct spans_added added;
	struct fail why = {0};
	char path[4096];
	int fd;

	(void)state;
	assert_int_equal(store_spans_add(store, &span, 1, &added, &why), 0);
	store_free(store);
	snprintf(path, sizeof(path), "%s/spans.db", store_path);
	fd = open(path, O_WRONLY | O_TRUNC);
	assert_true(fd >= 0 && write(fd, "this is a text", 14) == 14);
	close(fd);
	store = open_store(0, 0);
	assert_int_equal(count(store, (struct spans_wanted){.trace = trace}, false), 0);
	assert_int_equal(store_spans_add(store, &span, 1, &added, &why), 0);
	assert_int_equal(count(store, (struct spans_wanted){.trace = trace}, false), 1);
	store_free(store);
	snprintf(path, sizeof(path), "%s/aside/spans.db", store_path);
	assert_int_equal(access(path, F_OK), 0);
}

static void test_they_go_by_age(void **state)
{
	uint64_t now = clock_wall();
	const struct span spans[] = {made(1, 1, now - 7200 * SECOND, now - 7100 * SECOND, 7),
				     made(1, 2, now, now, 7)};
	struct store *store = open_store(0, 3600 * SECOND);
	const uint8_t trace[SPAN_TRACE] = {1};
	struct store_spans_status status;
	struct spans_added added;
	struct fail why = {0};

	(void)state;
	assert_int_equal(store_spans_add(store, spans, 2, &added, &why), 0);
	tick(store, now / SECOND);
	assert_int_equal(count(store, (struct spans_wanted){.trace = trace}, false), 1);
	store_spans_status(store, &status);
	assert_int_equal(status.removed, 1);
	assert_int_equal(status.spans, 1);
	store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KEPT_TEST(test_they_are_found),
		KEPT_TEST(test_the_oldest_are_dropped),
		KEPT_TEST(test_a_damaged_file_is_moved_aside),
		KEPT_TEST(test_they_go_by_age),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
