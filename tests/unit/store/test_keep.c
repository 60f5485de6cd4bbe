// SPDX-License-Identifier: Apache-2.0
/* Films that were in memory become one film of the store. */
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sqlite3.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "film/event_list.h"
#include "film/labels.h"
#include "film/reader.h"
#include "film/writer.h"
#include "kept_store.h"
#include "store/keep.h"
#include "store/ask.h"
#include "store/marks.h"

#define HOST "here"

/*
 * A film in memory of some seconds of one thread, that begins that many seconds after BEGIN, and
 * whose wall clock was set forward by that many.
 */
static struct film_bytes make_set(uint64_t second, unsigned int seconds, const char *labels,
				  int set)
{
	const struct film_info info = {
		.version = "1",
		.hostname = HOST,
		.kernel = "6",
		.arch = "x86_64",
		.command = "",
		.cpus = 1,
		.start = (100 + second) * SECOND,
		.wall_offset = (int64_t)((BEGIN - 100) * SECOND) + set * (int64_t)SECOND,
		.labels = labels,
	};
	const struct film_event event = {"threads", "ns", "sched", 0};
	const struct film_process process = {10, 1, 1, 0, "server", "server", "/server", "", ""};
	const struct film_thread thread = {1, 11, 1, "worker"};
	struct film_turn turn = {.thread = 1, .ran = SECOND / 4, .waited = 3 * SECOND / 4};
	struct film_bytes bytes;
	struct film_writer *w;

	assert_int_equal(film_create_in_memory(&info, &w, NULL), 0);
	assert_int_equal(film_add_event(w, &event), 1);
	assert_int_equal(film_add_process(w, &process), 1);
	assert_int_equal(film_add_thread(w, &thread), 1);
	for (unsigned int i = 1; i <= seconds; i++) {
		turn.end = info.start + i * SECOND;
		film_turn(w, 1, &turn);
		assert_int_equal(film_commit(w, turn.end, true, NULL), 0);
		assert_true(film_size(w) > 0);
	}
	assert_int_equal(film_close_in_memory(w, turn.end, &bytes, NULL), 0);
	assert_true(bytes.size > 1024);
	return bytes;
}

static struct film_bytes make(uint64_t second, unsigned int seconds, const char *labels)
{
	return make_set(second, seconds, labels, 0);
}

static int add_turns(void *context, const struct film_turns *turns)
{
	uint64_t *sum = context;

	for (size_t i = 0; i < turns->count; i++)
		*sum += turns->ran[i] + turns->waited[i] + turns->ready[i] + turns->unseen[i];
	return 0;
}

static int take_mark(void *context, const struct store_mark *mark)
{
	snprintf(context, 1024, "%s", mark->text);
	return 0;
}

static bool is_there(const char *name)
{
	char path[160];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", store_path, name);
	return !stat(path, &st);
}

/*
 * What looks into the store meanwhile finds the film complete, or does not find it: the names of
 * the folder change once, when the complete film moves there.
 */
static void test_appears_complete(void **state)
{
	struct store *store = open_store(0, 0);
	struct film_bytes before[] = {make(0, 5, NULL)}, films[] = {make(5, 5, NULL)};
	struct store_keep keep = {
		.films = before, .count = 1, .host = HOST, .reason = "x", .start = BEGIN * SECOND};
	char path[4096], events[4096] __attribute__((aligned(8)));
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), moved = 0;
	ssize_t size;

	(void)state;
	/* which makes the folder */
	assert_int_equal(store_keep(store, &keep, path, sizeof(path), NULL), 0);
	*strrchr(path, '/') = 0;
	assert_true(inotify_add_watch(watch, path, IN_CREATE | IN_MODIFY | IN_MOVED_TO) >= 0);
	keep.films = films;
	assert_int_equal(store_keep(store, &keep, path, sizeof(path), NULL), 0);
	size = read(watch, events, sizeof(events));
	assert_true(size > 0);
	for (ssize_t at = 0; at < size;) {
		const struct inotify_event *event = (const void *)(events + at);

		assert_int_equal(event->mask, IN_MOVED_TO);
		assert_string_equal(event->name, strrchr(path, '/') + 1);
		moved++;
		at += (ssize_t)sizeof(*event) + event->len;
	}
	assert_int_equal(moved, 1);
	assert_false(is_there("keeping"));
	close(watch);
	store_free(store);
}

static void test_kept(void **state)
{
	struct store *store = open_store(0, 0);
	struct film_bytes films[] = {make(0, 5, "env=test"), make(5, 7, "env=test")};
	const struct store_keep keep = {
		.films = films,
		.count = 2,
		.host = HOST,
		.labels = "env=test",
		.reason = "a,b \x01\xff \xc3\xbc",
		.start = BEGIN * SECOND,
		.time = (BEGIN + 11) * SECOND,
	};
	char path[4096], text[1024] = "", value[FILM_LABEL_VALUE_MAX + 1];
	struct film *film;
	uint64_t sum = 0;

	(void)state;
	assert_int_equal(store_keep(store, &keep, path, sizeof(path), NULL), 0);
	assert_null(films[0].at);
	assert_null(films[1].at);
	assert_false(is_there("keeping"));
	assert_int_equal(film_open(path, &film, NULL), 0);
	film_labels_value(film->info.labels, "kept", value);
	assert_string_equal(value, "a;b  ? \xc3\xbc");
	film_labels_value(film->info.labels, "env", value);
	assert_string_equal(value, "test");
	/* one thread, whose life has both */
	assert_int_equal(film->thread_count, 2);
	assert_int_equal(film_each_turns(film, 1, 0, UINT64_MAX, add_turns, &sum, NULL), 0);
	assert_int_equal(sum, 12 * SECOND);
	film_free(film);
	assert_int_equal(store_each_mark(store, 0, UINT64_MAX, take_mark, text), 0);
	assert_string_equal(text, "kept: a,b  \xff \xc3\xbc");
	store_free(store);
}

/* Of that event, in all films of the store that say to have it; and in the index. */
static struct store_sum sum_of(struct store *store, const char *event)
{
	const struct store_ask ask = {
		.event = event, .from = BEGIN * SECOND, .to = (BEGIN + 60) * SECOND};
	struct store_series_list series = {0};
	struct store_sum sum;

	assert_int_equal(store_series(store, &ask, 10, &series, NULL), 0);
	sum = series.sum;
	store_series_free(&series);
	return sum;
}

/* What the store records all the time counts once: in a kept film it does not. */
static void test_recorded_beside(void **state)
{
	struct event_list recorded = {0};

	(void)state;
	event_list_add(&recorded, EVENT_ON_CPU);
	/*
	 * first as the store's only film of that time, then as one more, at last beside more events
	 * than a label has room for
	 */
	for (int i = 0; i < 3; i++) {
		struct store *store = open_store(0, 0);
		struct film_bytes films[] = {make(0, 5, NULL), make(5, 7, NULL)};
		const struct store_keep keep = {
			.films = films,
			.count = 2,
			.host = HOST,
			.reason = "x",
			.start = BEGIN * SECOND,
			.time = (BEGIN + 11) * SECOND,
			.recorded = &recorded,
		};
		char path[4096];
		struct film *film;

		assert_int_equal(store_keep(store, &keep, path, sizeof(path), NULL), 0);
		tick(store, 10);
		assert_int_equal(sum_of(store, "threads").total, 9 * SECOND);
		assert_int_equal(sum_of(store, "threads").filmed, 12 * SECOND);
		/* the film itself is complete */
		assert_int_equal(film_open(path, &film, NULL), 0);
		assert_string_equal(film->events[1].name, "threads");
		assert_int_equal(film_block_count(film), 1);
		film_free(film);
		store_free(store);
		event_list_add(&recorded, EVENT_THREADS);
		for (int id = 0; i && id < EVENT_IDS; id++)
			event_list_add(&recorded, (enum event_id)id);
	}
}

/* One second each. */
static int check_end(void *context, const struct film_turns *turns)
{
	unsigned int *count = context;

	for (size_t i = 0; i < turns->count; i++)
		assert_int_equal(turns->end[i], (101 + (*count)++) * SECOND);
	return 0;
}

/* A clock that is set while the films are made moves nothing. */
static void test_clock_is_set(void **state)
{
	struct store *store = open_store(0, 0);

	(void)state;
	for (int set = -7; set <= 7; set += 7) {
		struct film_bytes films[] = {make(0, 5, NULL), make_set(5, 7, NULL, set)};
		const struct store_keep keep = {
			.films = films,
			.count = 2,
			.host = HOST,
			.reason = "x",
			.start = BEGIN * SECOND,
			.time = (BEGIN + 11) * SECOND,
		};
		char path[4096];
		struct film *film;
		unsigned int turns = 0;

		assert_int_equal(store_keep(store, &keep, path, sizeof(path), NULL), 0);
		assert_int_equal(film_open(path, &film, NULL), 0);
		assert_int_equal(film->info.end - film->info.start, 12 * SECOND);
		assert_int_equal(film->thread_count, 2);
		assert_int_equal(film_each_turns(film, 1, 0, UINT64_MAX, check_end, &turns, NULL),
				 0);
		assert_int_equal(turns, 12);
		film_free(film);
	}
	store_free(store);
}

/* What is too long for a label is cut between two characters. */
static void test_long_reason(void **state)
{
	struct store *store = open_store(0, 0);
	struct film_bytes one = make(0, 1, NULL);
	char reason[2 * FILM_LABEL_VALUE_MAX + 1], path[4096];
	char value[FILM_LABEL_VALUE_MAX + 1];
	struct store_keep keep = {
		.films = &one,
		.count = 1,
		.host = HOST,
		.reason = reason,
		.start = BEGIN * SECOND,
		.time = BEGIN * SECOND,
	};
	struct film *film;

	(void)state;
	reason[0] = 'x';
	for (size_t i = 1; i + 1 < sizeof(reason); i += 2)
		memcpy(reason + i, "\xc3\xbc", 2);
	reason[sizeof(reason) - 2] = 0;
	assert_int_equal(store_keep(store, &keep, path, sizeof(path), NULL), 0);
	assert_int_equal(film_open(path, &film, NULL), 0);
	film_labels_value(film->info.labels, "kept", value);
	assert_int_equal(strlen(value), FILM_LABEL_VALUE_MAX - 1);
	film_free(film);
	store_free(store);
}

/* Nothing, and what is not a film: nothing is left of them. */
static void test_nothing_to_keep(void **state)
{
	struct store *store = open_store(0, 0);
	struct film_bytes films[] = {make(0, 1, NULL), {sqlite3_malloc(100), 100}};
	struct store_keep keep = {.films = films, .host = HOST, .reason = "x"};
	char path[4096];

	(void)state;
	memset(films[1].at, 'x', 100);
	assert_int_equal(store_keep(store, &keep, path, sizeof(path), NULL), -ENODATA);
	keep.count = 2;
	keep.start = keep.time = BEGIN * SECOND;
	assert_int_equal(store_keep(store, &keep, path, sizeof(path), NULL), -EBADMSG);
	assert_null(films[0].at);
	assert_false(is_there("keeping"));
	assert_int_equal(look().films, 0);
	store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KEPT_TEST(test_kept),
		KEPT_TEST(test_recorded_beside),
		KEPT_TEST(test_appears_complete),
		KEPT_TEST(test_clock_is_set),
		KEPT_TEST(test_long_reason),
		KEPT_TEST(test_nothing_to_keep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
