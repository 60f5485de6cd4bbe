// SPDX-License-Identifier: Apache-2.0
/* Gauges of the machine, and lines of logs. */
#include "../prelude.h"

#include <string.h>

/* first: cmocka has a macro fail() */
#include "film/kinds.h"
#include "film/reader.h"
#include "make.h"

#define GAUGES	20000 /* more than a block holds */
#define LINES	3000
#define THREADS 5
#define STACKS	9
#define STEP	100003ull

static struct film_gauge gauge_number(uint64_t i)
{
	return (struct film_gauge){
		.end = test_info.start + i * STEP,
		.duration = i % 7 * 1000,
		.value = i * 31,
		.count = i % 50,
		.time = i * 3,
		.longest = i * 2,
		.object = (uint32_t)(i % 3),
		.thread = (uint32_t)(i % THREADS),
		.kind = (uint16_t)(i % FILM_GAUGE_KINDS),
	};
}

/* How many parts line i has. */
static size_t parts_of(uint64_t i)
{
	return i % 5 + 1;
}

static struct film_log part_number(uint64_t i, size_t part)
{
	struct film_log log = {
		.time = test_info.start + i * STEP,
		.number = i + 1000,
		.thread = (uint32_t)(i % THREADS),
		.stream = (uint32_t)(i % 3),
		.size = (uint32_t)(parts_of(i) - 1) * FILM_LOG_TEXT + 9,
		.part = (uint16_t)part,
		.bytes = part + 1 < parts_of(i) ? FILM_LOG_TEXT : 9,
		.kind = (uint8_t)(i % FILM_LOG_KINDS),
		.level = (uint8_t)(i % 9),
		.flags = (uint8_t)(i % 4),
	};

	for (size_t k = 0; k < log.bytes; k++)
		log.text[k] = (char)(i * 7 + part * 3 + k);
	return log;
}

struct seen {
	uint64_t next, parts;
};

static int is_next(void *context, const struct film_gauges *gauges)
{
	struct seen *seen = context;

	for (size_t i = 0; i < gauges->count; i++, seen->next++) {
		struct film_gauge gauge = gauge_number(seen->next);

		assert_int_equal(gauges->end[i], gauge.end);
		assert_int_equal(gauges->duration[i], gauge.duration);
		assert_int_equal(gauges->value[i], gauge.value);
		assert_int_equal(gauges->count_of[i], gauge.count);
		assert_int_equal(gauges->time[i], gauge.time);
		assert_int_equal(gauges->longest[i], gauge.longest);
		assert_int_equal(gauges->object[i], gauge.object);
		assert_int_equal(gauges->thread[i], gauge.thread);
		assert_int_equal(gauges->kind[i], gauge.kind);
	}
	return 0;
}

static int is_a_part(void *context, const struct film_logs *logs)
{
	struct seen *seen = context;

	for (size_t i = 0; i < logs->count; i++, seen->parts++) {
		struct film_log log = part_number(logs->number[i] - 1000, logs->part[i]);

		assert_int_equal(logs->time[i], log.time);
		assert_int_equal(logs->thread[i], log.thread);
		assert_int_equal(logs->stream[i], log.stream);
		assert_int_equal(logs->size[i], log.size);
		assert_int_equal(logs->bytes[i], log.bytes);
		assert_int_equal(logs->kind[i], log.kind);
		assert_int_equal(logs->level[i], log.level);
		assert_int_equal(logs->flags[i], log.flags);
		for (size_t k = 0; k < FILM_LOG_TEXT / 8; k++)
			assert_memory_equal(&logs->text[k][i], log.text + k * 8, 8);
	}
	return 0;
}

static void write_film(const char *path)
{
	struct film_writer *w = create_with(path, THREADS, STACKS);

	for (uint64_t i = 0; i < GAUGES; i++) {
		struct film_gauge gauge = gauge_number(i ^ (i / 100 % 2));

		film_gauge(w, 1, &gauge);
	}
	for (uint64_t i = 0; i < LINES; i++) {
		struct film_log parts[5];

		for (size_t part = 0; part < parts_of(i); part++)
			parts[part] = part_number(i, part);
		film_log(w, 1, parts, parts_of(i));
		if (i == 999)
			commit(w, test_info.start + 1000 * STEP);
	}
	close_film(w, test_info.start + GAUGES * STEP);
}

static void check_film(struct film *film)
{
	struct seen seen = {0};
	uint64_t count, total, parts = 0;

	assert_int_equal(film->loss_count, 0);
	assert_true(film_has_gauges(film, 1));
	assert_true(film_has_logs(film, 1));
	assert_true(film_has_any(film, 1));
	assert_false(film_has_gauges(film, 0));
	assert_false(film_has_logs(film, 0));
	assert_int_equal(film_each_gauges(film, 1, 0, UINT64_MAX, is_next, &seen, NULL), 0);
	assert_int_equal(seen.next, GAUGES);
	assert_int_equal(film_each_logs(film, 1, 0, UINT64_MAX, is_a_part, &seen, NULL), 0);
	for (uint64_t i = 0; i < LINES; i++)
		parts += parts_of(i);
	assert_int_equal(seen.parts, parts);
	/* neither is a sample */
	film_event_total(film, 1, &count, &total);
	assert_int_equal(count, 0);
	check_promises(film);
}

static void test_rows_come_back(void **state)
{
	const char *path = new_path();
	struct film *film;

	(void)state;
	write_film(path);
	film = open_film(path);
	check_film(film);
	film_free(film);
	remove_folder();
}

static void test_rows_are_merged(void **state)
{
	const char *path = new_path();
	struct film *film;

	(void)state;
	write_film(path);
	film = merge_alone(path);
	check_film(film);
	film_free(film);
	remove_folder();
}

static void test_what_is_not_so_is_lost(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create_with(path, THREADS, STACKS);
	struct film_gauge gauge = gauge_number(1);
	struct film_log part = part_number(1, 0);
	struct film *film;

	(void)state;
	gauge.thread = THREADS + 1;
	film_gauge(w, 1, &gauge);
	gauge = gauge_number(1);
	gauge.duration = gauge.end + 1;
	film_gauge(w, 1, &gauge);
	part.stream = 1000;
	film_log(w, 1, &part, 1);
	close_film(w, test_info.start + STEP);
	film = open_film(path);
	assert_false(film_has_any(film, 1));
	assert_int_equal(film->loss_count, 2);
	for (size_t i = 0; i < film->loss_count; i++)
		assert_int_equal(film->losses[i].count,
				 strstr(film->losses[i].reason, "value") ? 2 : 1);
	film_free(film);
	remove_folder();
}

static void test_each_kind_has_words(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < FILM_GAUGE_KINDS; kind++) {
		const struct gauge_type *type = film_gauge_type(kind);

		assert_true(type && *type->group && *type->name && *type->title && *type->unit);
		for (unsigned int other = 0; other < kind; other++)
			assert_true(strcmp(type->group, film_gauge_type(other)->group) ||
				    strcmp(type->name, film_gauge_type(other)->name));
	}
	assert_null(film_gauge_type(FILM_GAUGE_KINDS));
	assert_string_equal(film_log_kind_name(FILM_LOG_SYSLOG), "syslog");
	assert_string_equal(film_log_kind_name(FILM_LOG_KINDS), "unknown");
	assert_string_equal(film_log_level_name(4), "error");
	assert_string_equal(film_log_level_name(9), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_come_back),
		cmocka_unit_test(test_rows_are_merged),
		cmocka_unit_test(test_what_is_not_so_is_lost),
		cmocka_unit_test(test_each_kind_has_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
