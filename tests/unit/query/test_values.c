// SPDX-License-Identifier: Apache-2.0
/* Values of calls come back from a film, and from one that was merged, as they were written. */
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "film/events.h"
#include "film/merge.h"
#include "film/writer.h"
#include "query/values.h"

#define CALLS 40000 /* with more rows than a block holds */
#define LONG  200   /* bytes of a text that takes several rows */

static char folder[] = "/tmp/stackcam-test-XXXXXX";

struct writing {
	struct film_writer *w;
	uint32_t thread[3], frame[2], name, member, type;
	uint64_t start; /* of its first calls */
};

static const char *path_of(const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static uint32_t add_frame(struct film_writer *w, uint64_t address, const char *function)
{
	const struct film_name name = {.function = function};
	uint32_t frame = film_frame(w, 1, FILM_FRAME_NATIVE, address);

	film_name_frame(w, frame, &name, 1);
	return frame;
}

static void begin(struct writing *writing, const char *path, uint64_t start)
{
	const struct film_info info = {.version = "1",
				       .hostname = "h",
				       .kernel = "6",
				       .arch = "x86_64",
				       .command = "c",
				       .labels = "",
				       .start = 1000000};
	const struct film_event event = event_from(EVENT_CALLS, "uprobes");
	const struct film_process process = {
		.pid = 7, .comm = "p", .command = "", .exe = "", .cgroup = "", .container = ""};
	const struct film_image image = {.kind = FILM_IMAGE_FILE, .path = "/bin/p"};

	writing->start = start;
	assert_int_equal(film_create(path, &info, &writing->w, NULL), 0);
	assert_int_equal(film_add_event(writing->w, &event), 1);
	assert_int_equal(film_add_process(writing->w, &process), 1);
	assert_int_equal(film_add_image(writing->w, &image), 1);
	for (uint32_t i = 0; i < 3; i++)
		writing->thread[i] = film_add_thread(
			writing->w, &(struct film_thread){.process = 1, .tid = 7 + i, .comm = "t"});
	writing->frame[0] = add_frame(writing->w, 0x1000, "handle");
	writing->frame[1] = add_frame(writing->w, 0x2000, "inner");
	writing->name = film_mark(writing->w, "order");
	writing->member = film_mark(writing->w, "id");
	writing->type = film_mark(writing->w, "struct order");
}

/* What call i is given: order={id=i, text}, and what it returns. */
static struct film_value row_of(const struct writing *writing, uint64_t i)
{
	return (struct film_value){
		/* three threads end at the same time */
		.end = writing->start + i / 3 * 1000,
		.duration = 10 + i % 7,
		.goroutine = i % 5,
		.thread = writing->thread[i % 3],
		.frame = writing->frame[i % 2],
		.flags = i % 11 ? 0 : FILM_CALL_OPEN,
	};
}

static size_t put_text(struct film_value *rows, size_t at, char letter, size_t size)
{
	rows[at].size = (uint32_t)size;
	rows[at].kind = SHOWN_TEXT;
	rows[at].length = size;
	for (size_t done = 0; done < size; done += FILM_VALUE_TEXT) {
		size_t part = size - done < FILM_VALUE_TEXT ? size - done : FILM_VALUE_TEXT;

		if (done)
			rows[++at].part = FILM_VALUE_MORE;
		memset(rows[at].text, letter, part);
	}
	return at + 1;
}

/* The rows of a call; returns how many. */
static size_t make(const struct writing *writing, uint64_t i, struct film_value rows[16])
{
	size_t count;

	for (size_t k = 0; k < 16; k++) {
		rows[k] = row_of(writing, i);
		rows[k].place = (uint32_t)k;
		rows[k].part = FILM_VALUE_ARGUMENT;
	}
	rows[0].kind = SHOWN_OBJECT;
	rows[0].name = writing->name;
	rows[0].type = writing->type;
	rows[0].children = 2;
	rows[1].kind = SHOWN_SIGNED;
	rows[1].name = writing->member;
	rows[1].number = i;
	count = put_text(rows, 2, (char)('a' + i % 26), i % LONG);
	rows[count].part = FILM_VALUE_RESULT;
	rows[count].kind = SHOWN_REAL;
	rows[count].status = SHOWN_MAY_BE_OLD;
	memcpy(&rows[count].number, &(double){(double)i / 4}, 8);
	return count + 1;
}

static void finish(struct writing *writing)
{
	assert_int_equal(film_close(writing->w, writing->start + CALLS * 1000, NULL), 0);
}

static void write_film(const char *path, uint64_t start)
{
	struct writing writing;
	struct film_value rows[16];

	begin(&writing, path, start);
	for (uint64_t i = 0; i < CALLS; i++) {
		/* the calls of a time in another order */
		uint64_t which = i / 3 * 3 + (i + 1) % 3;

		if (which >= CALLS)
			which = i;
		film_values(writing.w, 1, rows, make(&writing, which, rows));
		if (i == CALLS / 2)
			assert_int_equal(film_commit(writing.w, start, false, NULL), 0);
	}
	finish(&writing);
}

static int check_call(void *context, const struct valued_call *call)
{
	uint64_t *seen = context, i;
	const struct shown *nodes = call->arguments.nodes.at;

	assert_int_equal(call->arguments.nodes.count, 3);
	assert_int_equal(call->results.nodes.count, 1);
	assert_string_equal(nodes[0].name, "order");
	assert_string_equal(nodes[0].type, "struct order");
	assert_string_equal(nodes[1].name, "id");
	i = nodes[1].number;
	assert_true(i < CALLS);
	assert_int_equal(call->duration, 10 + i % 7);
	assert_int_equal(call->goroutine, i % 5);
	assert_int_equal(valued_call_has_end(call), i % 11 != 0);
	assert_int_equal(nodes[2].size, i % LONG);
	for (size_t k = 0; k < i % LONG; k++)
		assert_int_equal(nodes[2].text[k], 'a' + i % 26);
	assert_true(call->results.nodes.at[0].real == (double)i / 4);
	assert_int_equal(call->results.nodes.at[0].status, SHOWN_MAY_BE_OLD);
	++*seen;
	return 0;
}

static uint64_t count_of(const char *path, const struct question *q, uint64_t *broken)
{
	struct film *film;
	uint64_t seen = 0;

	assert_int_equal(film_open(path, &film, NULL), 0);
	assert_int_equal(values_event(film, NULL), 1);
	assert_int_equal(values_each(film, q, check_call, &seen, broken, NULL), 0);
	film_free(film);
	return seen;
}

static void test_values(void **state)
{
	const char *path = path_of("one");
	struct question q = {0};
	uint64_t broken;

	(void)state;
	write_film(path, 2000000);
	assert_int_equal(count_of(path, &q, &broken), CALLS);
	assert_int_equal(broken, 0);
	assert_true(vec_push(&q.filter.tids, 8));
	assert_int_equal(count_of(path, &q, &broken), (CALLS + 1) / 3);
	question_free(&q);
}

static void test_merged(void **state)
{
	char one[64], two[64], both[64];
	const char *paths[] = {one, two};
	uint64_t broken;
	size_t bad;

	(void)state;
	strcpy(one, path_of("one"));
	strcpy(two, path_of("two"));
	strcpy(both, path_of("merged"));
	/* they overlap */
	write_film(one, 2000000);
	write_film(two, 3000500);
	assert_int_equal(film_merge_files(paths, 2, both, true, &bad, NULL), 0);
	assert_int_equal(count_of(both, &(struct question){0}, &broken), 2 * CALLS);
	assert_int_equal(broken, 0);
}

static int count_call(void *context, const struct valued_call *call)
{
	uint64_t *seen = context;

	assert_true(call->arguments.nodes.count <= 3);
	++*seen;
	return 0;
}

/* Rows that are no trees are counted, and do no harm. */
static void test_damaged(void **state)
{
	const char *path = path_of("damaged");
	struct film_value rows[16], deep[100];
	struct writing writing;
	struct film *film;
	uint64_t broken, seen = 0;
	size_t count;

	(void)state;
	begin(&writing, path, 2000000);
	/* 30: one with enough text for several rows */
	for (unsigned int way = 0; way < 7; way++) {
		count = make(&writing, 3 * (100 + way), rows);
		switch (way) {
		case 0: /* more children than there are */
			rows[0].children = 50;
			break;
		case 1: /* a number with children */
			rows[1].children = 1;
			break;
		case 2: /* less text than it says */
			rows[2].size = UINT32_MAX;
			break;
		case 3: /* a row is missing */
			memmove(&rows[1], &rows[2], (--count - 1) * sizeof(rows[0]));
			break;
		case 4: /* kinds and parts of a later version */
			rows[1].part = 77;
			break;
		case 5: /* a kind of a later version has a status */
			rows[1].kind = 77;
			break;
		default: /* twice the same */
			film_values(writing.w, 1, rows, count);
		}
		film_values(writing.w, 1, rows, count);
	}
	for (uint32_t i = 0; i < 100; i++) {
		deep[i] = row_of(&writing, 3000);
		deep[i].place = i;
		deep[i].part = FILM_VALUE_ARGUMENT;
		deep[i].kind = i < 99 ? SHOWN_LIST : SHOWN_BOOL;
		deep[i].children = i < 99;
	}
	film_values(writing.w, 1, deep, 100);
	finish(&writing);
	assert_int_equal(film_open(path, &film, NULL), 0);
	assert_int_equal(values_each(film, &(struct question){0}, count_call, &seen, &broken, NULL),
			 0);
	assert_int_equal(seen, 1);
	assert_int_equal(broken, 7);
	film_free(film);
}

static int make_folder(void **state)
{
	(void)state;
	return !mkdtemp(folder);
}

static int remove_folder(void **state)
{
	static const char *const names[] = {"one", "two", "merged", "damaged"};

	(void)state;
	for (size_t i = 0; i < 4; i++)
		unlink(path_of(names[i]));
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_merged),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
