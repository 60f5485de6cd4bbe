// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* first: cmocka has a macro fail() */
#include "make.h"

#include <cmocka.h>

#define WEIRD "tab\t nl\n quote' \"; DROP TABLE frame; -- \xff\xfe \xc3\xa4 \x01"

static bool has_side_file(const char *path)
{
	char side[256];

	snprintf(side, sizeof(side), "%s-wal", path);
	if (!access(side, F_OK))
		return true;
	snprintf(side, sizeof(side), "%s-shm", path);
	if (!access(side, F_OK))
		return true;
	snprintf(side, sizeof(side), "%s-journal", path);
	return !access(side, F_OK);
}

static void test_everything_comes_back(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create(path);
	struct film_event event = {"mem-alloc", "bytes", WEIRD, 0};
	struct film_process process = {200, 100, UINT64_MAX, 9, WEIRD, "a b c", "/x", "/c", "id"};
	struct film_thread thread = {2, 201, 3, WEIRD};
	struct film_image image = {.kind = FILM_IMAGE_ANON, .path = WEIRD, .build_id_size = 20};
	struct film_name names[] = {{"inner<int>(char)", "/src/a.c", 10},
				    {"middle", NULL, 0},
				    {"outer", "/src/b.c", UINT32_MAX}};
	struct film *film;
	uint32_t f1, f2, mark, s1, s2;
	const struct film_inline *inlines;
	uint64_t samples, total;
	size_t count;

	(void)state;
	memset(image.build_id, 0xa5, 20);
	image.build_id[3] = 0;
	assert_int_equal(film_add_event(w, &event), 2);
	assert_int_equal(film_add_process(w, &process), 2);
	assert_int_equal(film_add_thread(w, &thread), 2);
	assert_int_equal(film_add_image(w, &image), 2);
	f1 = film_frame(w, 2, FILM_FRAME_JIT, 0x7fffffffffff);
	f2 = film_frame(w, 0, FILM_FRAME_KERNEL, 0xffffffff81000000);
	mark = film_mark(w, "[truncated: unreadable memory]");
	film_name_frame(w, f1, names, 3);
	s1 = film_stack(w, 0, mark, FILM_HOW_EXACT);
	s1 = film_stack(w, s1, f1, FILM_HOW_FRAME_POINTER);
	s2 = film_stack(w, s1, f2, FILM_HOW_EXACT);
	film_sample(w, 1, 7 * SECOND, 2, s2, 10101010);
	film_sample(w, 1, 6 * SECOND, 0, 0, 5);
	film_sample(w, 2, 6 * SECOND, 1, s1, UINT64_MAX);
	film_loss(w, 0, "ring full", 17);
	film_loss(w, 2, WEIRD, UINT64_MAX);
	commit(w, 8 * SECOND);
	process.end = 77;
	process.command = "executed another";
	film_set_process(w, 2, &process);
	film_loss(w, 0, "ring full", 18);
	assert_true(film_size(w) > 0);
	close_film(w, 9 * SECOND);
	assert_false(has_side_file(path));

	film = open_film(path);
	assert_string_equal(film->info.version, "0.1.0");
	assert_string_equal(film->info.hostname, test_info.hostname);
	assert_string_equal(film->info.command, test_info.command);
	assert_int_equal(film->info.cpus, 4);
	assert_int_equal(film->info.start, 5 * SECOND);
	assert_int_equal(film->info.end, 9 * SECOND);
	assert_int_equal(film->info.wall_offset, test_info.wall_offset);
	assert_int_equal(film->event_count, 3);
	assert_string_equal(film->events[0].name, "");
	assert_string_equal(film->events[2].source, WEIRD);
	assert_int_equal(film->events[1].frequency, 99);
	assert_int_equal(film_find_event(film, "mem-alloc"), 2);
	assert_int_equal(film_find_event(film, "calls"), 0);
	assert_int_equal(film->process_count, 3);
	assert_int_equal(film->processes[2].start, UINT64_MAX);
	assert_int_equal(film->processes[2].end, 77);
	assert_string_equal(film->processes[2].comm, WEIRD);
	assert_string_equal(film->processes[2].command, "executed another");
	assert_string_equal(film->processes[2].container, "id");
	assert_string_equal(film->processes[1].exe, "");
	assert_int_equal(film->threads[2].tid, 201);
	assert_string_equal(film->images[2].path, WEIRD);
	assert_int_equal(film->images[2].build_id_size, 20);
	assert_memory_equal(film->images[2].build_id, image.build_id, 20);
	assert_int_equal(film->images[1].build_id_size, 0);
	assert_int_equal(film->frame_count, 4);
	assert_int_equal(film->frames[f1].address, 0x7fffffffffff);
	assert_string_equal(film->frames[f1].file, "/src/a.c");
	assert_int_equal(film->frames[f1].line, 10);
	assert_string_equal(film->functions[film->frames[f1].function].name, "inner<int>(char)");
	assert_int_equal(film->functions[film->frames[f1].function].image, 2);
	assert_int_equal(film->frames[f2].address, 0xffffffff81000000);
	assert_int_equal(film->frames[f2].function, 0);
	assert_int_equal(film->frames[mark].kind, FILM_FRAME_MARK);
	assert_int_equal(film->frames[mark].address, 0);
	assert_string_equal(film->functions[film->frames[mark].function].name,
			    "[truncated: unreadable memory]");
	inlines = film_inlines_of(film, f1, &count);
	assert_int_equal(count, 2);
	assert_int_equal(inlines[0].depth, 1);
	assert_string_equal(film->functions[inlines[0].function].name, "middle");
	assert_string_equal(inlines[0].file, "");
	assert_string_equal(film->functions[inlines[1].function].name, "outer");
	assert_int_equal(inlines[1].line, UINT32_MAX);
	assert_null(film_inlines_of(film, f2, &count));
	assert_int_equal(film->stack_count, 4);
	assert_int_equal(film->stacks[s2].parent, s1);
	assert_int_equal(film->stacks[s1].how, FILM_HOW_FRAME_POINTER);
	assert_int_equal(film->loss_count, 2);
	assert_int_equal(film->losses[0].count, 18);
	assert_string_equal(film->losses[1].reason, WEIRD);
	assert_int_equal(film->losses[1].count, UINT64_MAX);
	film_event_total(film, 1, &samples, &total);
	assert_int_equal(samples, 2);
	assert_int_equal(total, 10101015);
	film_event_total(film, 2, &samples, &total);
	assert_int_equal(total, UINT64_MAX);
	/* given out of order, read in order, one block per second */
	assert_int_equal(sum_of(film, 1).count, 2);
	check_promises(film);
	film_free(film);
	remove_folder();
}

static void test_time_range(void **state)
{
	const char *path = new_path();
	struct film *film;
	struct sum sum = {0};

	(void)state;
	write_seconds(path, 5);
	film = open_film(path);
	check_seconds(film, 5);
	/* from sample 150 to before sample 350 */
	assert_int_equal(film_each_samples(film, 1, test_info.start + 3 * SECOND / 2,
					   test_info.start + 7 * SECOND / 2, add_up, &sum, NULL),
			 0);
	assert_int_equal(sum.count, 200);
	assert_int_equal(sum.blocks, 3);
	assert_int_equal(sum.total, (151 + 350) * 200 / 2);
	assert_int_equal(film_each_samples(film, 1, 0, 0, add_up, &sum, NULL), 0);
	assert_int_equal(film_each_samples(film, 9, 0, UINT64_MAX, add_up, &sum, NULL), 0);
	assert_int_equal(sum.count, 200);
	film_free(film);
	remove_folder();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything_comes_back),
		cmocka_unit_test(test_time_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
