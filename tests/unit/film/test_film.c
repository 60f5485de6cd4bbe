// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "film/frame_kinds.h"
#include "make.h"

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
	struct film_process process = {
		200,  100,	  UINT64_MAX,	      9, WEIRD, "a b c", "/x", "/c",
		"id", "www-data", "service.name=shop"};
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
	assert_string_equal(film->processes[2].user, "www-data");
	assert_string_equal(film->processes[2].resource, "service.name=shop");
	/* the first one was written without */
	assert_string_equal(film->processes[1].user, "");
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

static void test_interning(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create(path);
	struct film_name name = {"f", "a.c", 1};
	uint32_t frame, stack, i;
	struct film *film;

	(void)state;
	frame = native(w, 0x1000);
	assert_int_equal(native(w, 0x1000), frame);
	assert_int_not_equal(film_frame(w, 1, FILM_FRAME_JIT, 0x1000), frame);
	assert_int_not_equal(film_frame(w, 0, FILM_FRAME_NATIVE, 0x1000), frame);
	assert_int_equal(film_mark(w, "[cut]"), film_mark(w, "[cut]"));
	assert_int_not_equal(film_mark(w, "[cut]"), film_mark(w, "[lost]"));
	stack = film_stack(w, 0, frame, FILM_HOW_EXACT);
	assert_int_equal(film_stack(w, 0, frame, FILM_HOW_EXACT), stack);
	assert_int_not_equal(film_stack(w, 0, frame, FILM_HOW_FRAME_POINTER), stack);
	assert_int_not_equal(film_stack(w, stack, frame, FILM_HOW_EXACT), stack);
	/* many, so that hashes collide in their low bits; the same after a commit */
	for (i = 0; i < 50000; i++)
		film_stack(w, i % 100, native(w, 0x5000 + i), FILM_HOW_EXACT);
	commit(w, 6 * SECOND);
	for (i = 0; i < 50000; i++) {
		uint32_t f = native(w, 0x5000 + i);

		assert_int_equal(f, i + 6);
		assert_int_equal(film_stack(w, i % 100, f, FILM_HOW_EXACT), i + 4);
		name.line = i;
		film_name_frame(w, f, &name, 1);
	}
	close_film(w, 7 * SECOND);
	film = open_film(path);
	assert_int_equal(film->frame_count, 50006);
	assert_int_equal(film->stack_count, 50004);
	assert_int_equal(film->function_count, 4);
	for (i = 0; i < 50000; i++) {
		assert_int_equal(film->frames[i + 6].address, 0x5000 + i);
		assert_int_equal(film->frames[i + 6].line, i);
		assert_int_equal(film->stacks[i + 4].parent, i % 100);
	}
	film_free(film);
	remove_folder();
}

/* What makes no sense gives no id, breaks nothing and is counted. */
static void test_refused_ids(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create(path);
	struct film_thread thread = {.process = 9, .comm = "x"};
	uint32_t frame = native(w, 1), i;
	struct film *film;

	(void)state;
	assert_int_equal(film_frame(w, 7, FILM_FRAME_NATIVE, 1), 0);
	assert_int_equal(film_frame(w, 1, FILM_FRAME_MARK, 1), 0);
	assert_int_equal(film_stack(w, 5, frame, FILM_HOW_EXACT), 0);
	assert_int_equal(film_stack(w, 0, 0, FILM_HOW_EXACT), 0);
	assert_int_equal(film_stack(w, 0, 99, FILM_HOW_EXACT), 0);
	assert_int_equal(film_mark(w, ""), 0);
	assert_int_equal(film_add_thread(w, &thread), 0);
	film_set_thread(w, 1, &thread);
	film_set_process(w, 4, &(struct film_process){.comm = "x"});
	film_name_frame(w, 77, NULL, 0);
	film_sample(w, 0, SECOND, 1, 0, 1);
	film_sample(w, 2, SECOND, 1, 0, 1);
	film_sample(w, 1, SECOND, 2, 0, 1);
	film_sample(w, 1, SECOND, 1, 1, 1);
	for (i = 0; i < 300; i++)
		film_add_event(w, &(struct film_event){"e", "ns", "", 0});
	close_film(w, 6 * SECOND);
	film = open_film(path);
	check_promises(film);
	assert_int_equal(film->event_count, 256);
	assert_int_equal(sum_of(film, 1).count, 0);
	assert_int_equal(film->loss_count, 4);
	for (i = 0; i < film->loss_count; i++) {
		assert_int_equal(strncmp(film->losses[i].reason, "film: ", 6), 0);
		if (strstr(film->losses[i].reason, "sample"))
			assert_int_equal(film->losses[i].count, 4);
	}
	film_free(film);
	remove_folder();
}

static void test_long_strings(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create(path);
	char *long_text = malloc(200001);
	struct film_process process = {.comm = long_text, .command = long_text, .exe = long_text};
	struct film_name name = {long_text, long_text, 1};
	struct film *film;
	uint32_t frame = native(w, 1);
	size_t size;

	(void)state;
	/* two bytes each: a cut must not part them */
	for (size = 0; size < 200000; size += 2)
		memcpy(long_text + size, "\u00e4", 2);
	long_text[200000] = 0;
	film_add_process(w, &process);
	film_name_frame(w, frame, &name, 1);
	film_loss(w, 0, long_text, 1);
	close_film(w, 6 * SECOND);
	film = open_film(path);
	size = strlen(film->processes[2].comm);
	assert_true(size > 65000 && size <= 65535);
	assert_string_equal(film->processes[2].comm + size - 5, "\u00e4\u2026");
	assert_string_equal(film->processes[2].exe, film->processes[2].comm);
	assert_string_equal(film->functions[1].name, film->processes[2].comm);
	assert_string_equal(film->frames[frame].file, film->processes[2].comm);
	film_free(film);
	free(long_text);
	remove_folder();
}

static void test_naming_again(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create(path);
	struct film_name three[] = {{"a", "a.c", 1}, {"b", "b.c", 2}, {"c", "c.c", 3}};
	struct film_name two[] = {{"x", NULL, 0}, {"b", "b.c", 4}};
	struct film *film;
	struct fail why = {0};
	uint32_t f1 = native(w, 1), f2 = native(w, 2), f3 = native(w, 3);
	size_t count;

	(void)state;
	film_name_frame(w, f1, three, 3);
	film_name_frame(w, f1, two, 2); /* again in one commit */
	film_name_frame(w, f2, three, 3);
	commit(w, 6 * SECOND);
	film_name_frame(w, f2, two, 1); /* again in a later one */
	close_film(w, 7 * SECOND);

	film = open_film(path);
	assert_string_equal(film->functions[film->frames[f1].function].name, "x");
	assert_int_equal(film_inlines_of(film, f1, &count)->line, 4);
	assert_int_equal(count, 1);
	assert_null(film_inlines_of(film, f2, &count));
	assert_int_equal(film->frames[f3].function, 0);
	film_free(film);

	assert_int_equal(film_open_for_naming(path, &w, &why), 0);
	assert_int_equal(native(w, 99), 0);
	assert_int_equal(film_stack(w, 0, f1, FILM_HOW_EXACT), 0);
	film_name_frame(w, f1, NULL, 0);
	film_name_frame(w, f2, three, 2);
	film_name_frame(w, f3, three, 1);
	close_film(w, 99 * SECOND);

	/* losses can be added, and are known again */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(film_open_for_naming(path, &w, &why), 0);
		film_loss(w, 0, "later", 3 + (uint64_t)i);
		close_film(w, 99 * SECOND);
	}

	film = open_film(path);
	assert_int_equal(film->info.end, 7 * SECOND);
	assert_int_equal(film->frames[f1].function, 0);
	assert_null(film_inlines_of(film, f1, &count));
	assert_string_equal(film->functions[film->frames[f2].function].name, "a");
	assert_int_equal(film_inlines_of(film, f2, &count)->line, 2);
	assert_int_equal(count, 1);
	assert_string_equal(film->frames[f3].file, "a.c");
	/* the names were there already */
	assert_int_equal(film->function_count, 5);
	assert_int_equal(film->loss_count, 1);
	assert_int_equal(film->losses[0].count, 4);
	film_free(film);
	remove_folder();
}

static void test_starts(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create(path);
	struct film_name name = {"f", "a.c", 1};
	uint32_t frame[8], mark = film_mark(w, "[cut]"), i;
	uint64_t high = film_frame(w, 1, FILM_FRAME_NATIVE, UINT64_MAX);
	struct film *film;
	struct fail why = {0};

	(void)state;
	for (i = 0; i < 8; i++)
		frame[i] = native(w, 0x1000 + i);
	film_start_frame(w, frame[7], 0x1007, 0x1001);
	film_start_frame(w, frame[0], 0x1000, 0x1000);
	film_start_frame(w, frame[1], 0x1001, 1);
	film_start_frame(w, frame[7], 0x1007, 0x1002); /* again */
	film_start_frame(w, frame[3], 0x1003, 0x1000); /* beside its name */
	film_name_frame(w, frame[3], &name, 1);
	film_start_frame(w, (uint32_t)high, UINT64_MAX, 1);
	/* not told, and what makes no sense */
	film_start_frame(w, frame[2], 0x1002, 0);
	film_start_frame(w, frame[2], 0x1002, 0x1003);
	film_start_frame(w, mark, 0, 0);
	film_start_frame(w, mark, 1, 1);
	film_start_frame(w, 0, 1, 1);
	film_start_frame(w, 99, 1, 1);
	commit(w, 6 * SECOND);
	film_start_frame(w, frame[4], 0x1004, 0x1000);
	film_start_frame(w, frame[0], 0x1000, 0x0fff); /* again in a later one */
	close_film(w, 7 * SECOND);

	film = open_film(path);
	check_promises(film);
	assert_int_equal(film->frames[frame[0]].start, 0x0fff);
	assert_int_equal(film->frames[frame[1]].start, 1);
	assert_int_equal(film->frames[frame[2]].start, 0);
	assert_int_equal(film->frames[frame[3]].start, 0x1000);
	assert_string_equal(film->functions[film->frames[frame[3]].function].name, "f");
	assert_int_equal(film->frames[frame[4]].start, 0x1000);
	assert_int_equal(film->frames[frame[5]].start, 0);
	assert_int_equal(film->frames[frame[7]].start, 0x1002);
	assert_int_equal(film->frames[frame[7]].address, 0x1007);
	assert_int_equal(film->frames[frame[7]].function, 0);
	assert_int_equal(film->frames[high].start, 1);
	assert_int_equal(film->frames[mark].start, 0);
	assert_int_equal(film->loss_count, 0);
	film_free(film);

	assert_int_equal(film_open_for_naming(path, &w, &why), 0);
	film_name_frame(w, frame[7], &name, 1);
	film_start_frame(w, frame[5], 0x1005, 0x1000);
	close_film(w, 99 * SECOND);

	film = open_film(path);
	assert_string_equal(film->functions[film->frames[frame[7]].function].name, "f");
	assert_int_equal(film->frames[frame[7]].start, 0x1002);
	assert_int_equal(film->frames[frame[5]].start, 0x1000);
	assert_int_equal(film->frames[frame[0]].start, 0x0fff);
	film_free(film);
	remove_folder();
}

/* More than one block of everything. */
static void test_large(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create(path);
	struct film_name names[3] = {{0}};
	char text[3][64];
	struct film *film;
	uint32_t i, n, stack = 0;
	struct sum sum;

	(void)state;
	for (i = 0; i < 200000; i++) {
		uint32_t frame = native(w, hash_u64(i));

		for (n = 0; n < 3; n++) {
			snprintf(text[n], sizeof(text[n]), "function %u of frame %u", n, i);
			names[n] = (struct film_name){text[n], i % 2 ? "a.c" : "b.c", n};
		}
		film_name_frame(w, frame, names, 1 + i % 3);
		film_start_frame(w, frame, hash_u64(i), (hash_u64(i) + 1) / 2);
		stack = film_stack(w, i % 5 ? stack : 0, frame, FILM_HOW_EXACT);
		film_sample(w, 1, 5 * SECOND + hash_u64(i) % SECOND, 1, stack, hash_u64(i));
	}
	close_film(w, 6 * SECOND);
	film = open_film(path);
	check_promises(film);
	sum = sum_of(film, 1);
	assert_int_equal(sum.count, 200000);
	assert_int_equal(sum.blocks, (200000 + 16383) / 16384);
	for (i = 0; i < 200000; i++) {
		size_t count;

		snprintf(text[0], sizeof(text[0]), "function 0 of frame %u", i);
		assert_string_equal(film->functions[film->frames[i + 1].function].name, text[0]);
		film_inlines_of(film, i + 1, &count);
		assert_int_equal(count, i % 3);
		assert_int_equal(film->frames[i + 1].start, (hash_u64(i) + 1) / 2);
		sum.total -= hash_u64(i);
	}
	assert_int_equal(sum.total, 0);
	film_free(film);
	remove_folder();
}

static void test_kinds_of_frames(void **state)
{
	(void)state;
	assert_string_equal(film_frame_kind_of(FILM_FRAME_KERNEL)->name, "kernel");
	assert_true(film_frame_kind_of(FILM_FRAME_JIT)->has_address);
	assert_true(film_frame_kind_of(FILM_FRAME_LUA)->is_language);
	assert_false(film_frame_kind_of(FILM_FRAME_LABEL)->is_language);
	assert_string_equal(film_frame_kind_of(0)->name, "unknown");
	assert_string_equal(film_frame_kind_of(1000)->name, "unknown");
	assert_false(film_frame_kind_of(1000)->has_address);
	assert_int_equal(film_frame_kind_of_file("/srv/app.py"), FILM_FRAME_PYTHON);
	assert_int_equal(film_frame_kind_of_file("app.mjs"), FILM_FRAME_JAVASCRIPT);
	assert_int_equal(film_frame_kind_of_file("main.c"), 0);
	assert_int_equal(film_frame_kind_of_file(".py"), 0);
	assert_int_equal(film_frame_kind_of_file(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything_comes_back),
		cmocka_unit_test(test_time_range),
		cmocka_unit_test(test_interning),
		cmocka_unit_test(test_refused_ids),
		cmocka_unit_test(test_long_strings),
		cmocka_unit_test(test_naming_again),
		cmocka_unit_test(test_starts),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_kinds_of_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
