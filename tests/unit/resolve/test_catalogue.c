// SPDX-License-Identifier: Apache-2.0
/* Which rows of a film samples get: the same thing the same row, without memory that grows. */

#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resolve/catalogue.h"
#include "film/reader.h"

#define THREADS 100000

struct bench {
	char path[64];
	struct film_writer *writer;
	struct names *names;
	struct allowance allowance;
	struct catalogue *catalogue;
	struct mapping mapping;
	struct image image;
	struct process process;
	struct catalogue_process row;
};

static int set_up(void **state)
{
	static const struct film_info info = {"", "", "", "", "", 1, 1, 1, 0};
	static const struct symbol_options options = {0};
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	b->image = (struct image){.kind = IMAGE_FILE, .path = "/usr/bin/cc1", .root = "", .fd = -1};
	b->mapping = (struct mapping){0x1000, 0x9000, 0, 0, &b->image};
	b->process = (struct process){
		.pid = 7, .start = 5, .comm = "cc1", .mappings = &b->mapping, .mapping_count = 1};
	*state = b;
	strcpy(b->path, "/tmp/stackcam-catalogue-XXXXXX");
	allowance_begin(&b->allowance, 1000000000, 10, 1000000000, 0);
	if (mkstemp(b->path) < 0 || film_create(b->path, &info, &b->writer, NULL) ||
	    names_new(&options, b->writer, NULL, &b->allowance, &b->names))
		return -1;
	return catalogue_new(b->writer, b->names, &b->catalogue);
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	remove(b->path);
	free(b);
	return 0;
}

/* Ends the film and opens it. */
static struct film *film_of(struct bench *b)
{
	struct film *film = NULL;

	catalogue_free(b->catalogue);
	names_free(b->names);
	assert_int_equal(film_close(b->writer, 2, NULL), 0);
	assert_int_equal(film_open(b->path, &film, NULL), 0);
	return film;
}

static uint32_t thread(struct bench *b, uint32_t tid)
{
	struct capture_identity identity = {
		.pid = 7, .tid = tid, .thread_start = 6, .comm = "worker"};

	return catalogue_thread(b->catalogue, &b->row, &b->process, &identity);
}

/* A thread that runs has one row; those that came and went are not remembered. */
static void threads_that_come_and_go(void **state)
{
	struct bench *b = *state;
	uint32_t busy = thread(b, 1), gone = thread(b, 2), again;
	struct film *film;

	assert_int_equal(thread(b, 2), gone);
	for (uint32_t i = 0; i < THREADS; i++) {
		assert_int_equal(thread(b, 1), busy);
		thread(b, 10 + i);
	}
	again = thread(b, 2);
	assert_int_not_equal(again, gone);
	film = film_of(b);
	assert_int_equal(film->process_count, 2);
	assert_int_equal(film->thread_count, THREADS + 4);
	assert_int_equal(film->threads[again].tid, film->threads[gone].tid);
	assert_int_equal(film->threads[again].start, film->threads[gone].start);
	film_free(film);
}

static void names_of_threads(void **state)
{
	struct bench *b = *state;
	struct capture_identity identity = {
		.pid = 7, .tid = 3, .thread_start = 6, .comm = "before"};
	uint32_t row = catalogue_thread(b->catalogue, &b->row, &b->process, &identity);
	struct film *film;

	/* those that are kept when others are forgotten go on being renamed */
	for (uint32_t i = 0; i < THREADS; i++) {
		thread(b, 10 + i);
		snprintf(identity.comm, sizeof(identity.comm), "name %u", i / 1000);
		assert_int_equal(catalogue_thread(b->catalogue, &b->row, &b->process, &identity),
				 row);
	}
	film = film_of(b);
	assert_string_equal(film->threads[row].comm, "name 99");
	film_free(film);
}

/* A thread that is known as a holder or a waker before it has a record of its own is one thread. */
static void threads_without_a_start(void **state)
{
	struct bench *b = *state;
	const uint64_t tick = 10000000;
	struct capture_identity exact = {
		.pid = 7, .tid = 3, .thread_start = 100 * tick + 12345, .comm = "renamed"};
	struct capture_identity another = exact;
	uint32_t holder = catalogue_other_thread(b->catalogue, &b->row, &b->process, 3, 100 * tick,
						 (const char[16]){"holder"});
	uint32_t waker = catalogue_other_thread(b->catalogue, &b->row, &b->process, 4, 0,
						(const char[16]){"waker"});
	struct film *film;

	assert_int_equal(catalogue_thread(b->catalogue, &b->row, &b->process, &exact), holder);
	assert_int_equal(catalogue_other_thread(b->catalogue, &b->row, &b->process, 3, 0,
						(const char[16]){"x"}),
			 holder);
	/* a record that does not say when the thread began, as of a goroutine's wait */
	exact.thread_start = 0;
	memset(exact.comm, 0, sizeof(exact.comm));
	assert_int_equal(catalogue_thread(b->catalogue, &b->row, &b->process, &exact), holder);
	exact = another;
	assert_int_equal(catalogue_thread(b->catalogue, &b->row, &b->process, &exact), holder);
	/* a number that belongs to another thread by now */
	another.thread_start += tick;
	assert_int_not_equal(catalogue_thread(b->catalogue, &b->row, &b->process, &another),
			     holder);
	exact.tid = 4;
	assert_int_equal(catalogue_thread(b->catalogue, &b->row, &b->process, &exact), waker);
	film = film_of(b);
	assert_int_equal(film->threads[holder].start, exact.thread_start);
	assert_string_equal(film->threads[holder].comm, "renamed");
	assert_int_equal(film->threads[waker].start, exact.thread_start);
	assert_int_equal(film->thread_count, 4);
	film_free(film);
}

static uint32_t frame(struct bench *b)
{
	return catalogue_user_frame(b->catalogue, &b->row, &b->process, 0x2000);
}

/* A program that is started again some time after it ended is the same, if its build id says so. */
static void images_that_come_back(void **state)
{
	struct bench *b = *state;
	uint32_t with[3], without[2];
	struct film *film;

	without[0] = frame(b);
	catalogue_image_gone(b->catalogue, &b->image);
	without[1] = frame(b);
	catalogue_image_gone(b->catalogue, &b->image);
	b->image.build_id_size = 2;
	b->image.build_id[0] = 1;
	with[0] = frame(b);
	catalogue_image_gone(b->catalogue, &b->image);
	with[1] = frame(b);
	catalogue_image_gone(b->catalogue, &b->image);
	b->image.build_id[0] = 2;
	with[2] = frame(b);
	assert_int_not_equal(without[0], without[1]);
	assert_int_equal(with[0], with[1]);
	assert_int_not_equal(with[0], with[2]);
	film = film_of(b);
	assert_int_equal(film->image_count, 5);
	assert_int_equal(film->frame_count, 5);
	film_free(film);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(threads_that_come_and_go, set_up, tear_down),
		cmocka_unit_test_setup_teardown(names_of_threads, set_up, tear_down),
		cmocka_unit_test_setup_teardown(threads_without_a_start, set_up, tear_down),
		cmocka_unit_test_setup_teardown(images_that_come_back, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("camera-catalogue", tests, NULL, NULL);
}
