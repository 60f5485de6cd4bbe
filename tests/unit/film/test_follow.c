// SPDX-License-Identifier: Apache-2.0
/* A film that is followed while it grows is at each time what it is to who opens it then. */
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "make.h"

#define SECONDS 12

static void same_text(const char *a, const char *b)
{
	assert_string_equal(a, b);
}

static void same_info(const struct film *a, const struct film *b)
{
	const struct film_info *x = &a->info, *y = &b->info;

	same_text(x->version, y->version);
	same_text(x->hostname, y->hostname);
	same_text(x->kernel, y->kernel);
	same_text(x->arch, y->arch);
	same_text(x->command, y->command);
	same_text(x->labels, y->labels);
	assert_int_equal(x->cpus, y->cpus);
	assert_int_equal(x->start, y->start);
	assert_int_equal(x->end, y->end);
	assert_int_equal(x->wall_offset, y->wall_offset);
	assert_int_equal(a->settled, b->settled);
	assert_int_equal(film_block_count(a), film_block_count(b));
	assert_int_equal(film_settled_count(a), film_settled_count(b));
	assert_int_equal(film_settled_until(a), film_settled_until(b));
}

static void same_who(const struct film *a, const struct film *b)
{
	assert_int_equal(a->event_count, b->event_count);
	for (uint32_t i = 0; i < a->event_count; i++)
		same_text(a->events[i].name, b->events[i].name);
	assert_int_equal(a->process_count, b->process_count);
	for (uint32_t i = 0; i < a->process_count; i++) {
		const struct film_process *x = &a->processes[i], *y = &b->processes[i];

		assert_int_equal(x->pid, y->pid);
		assert_int_equal(x->end, y->end);
		same_text(x->comm, y->comm);
		same_text(x->exe, y->exe);
	}
	assert_int_equal(a->thread_count, b->thread_count);
	for (uint32_t i = 0; i < a->thread_count; i++) {
		assert_int_equal(a->threads[i].tid, b->threads[i].tid);
		same_text(a->threads[i].comm, b->threads[i].comm);
	}
	assert_int_equal(a->loss_count, b->loss_count);
	for (size_t i = 0; i < a->loss_count; i++) {
		same_text(a->losses[i].reason, b->losses[i].reason);
		assert_int_equal(a->losses[i].count, b->losses[i].count);
	}
}

static void same_code(const struct film *a, const struct film *b)
{
	assert_int_equal(a->image_count, b->image_count);
	for (uint32_t i = 0; i < a->image_count; i++)
		same_text(a->images[i].path, b->images[i].path);
	assert_int_equal(a->function_count, b->function_count);
	for (uint32_t i = 0; i < a->function_count; i++)
		same_text(a->functions[i].name, b->functions[i].name);
	assert_int_equal(a->frame_count, b->frame_count);
	for (uint32_t i = 0; i < a->frame_count; i++) {
		const struct film_frame *x = &a->frames[i], *y = &b->frames[i];

		assert_int_equal(x->image, y->image);
		assert_int_equal(x->kind, y->kind);
		assert_int_equal(x->address, y->address);
		assert_int_equal(x->start, y->start);
		assert_int_equal(x->function, y->function);
		same_text(x->file, y->file);
		assert_int_equal(x->line, y->line);
	}
	assert_int_equal(a->inline_count, b->inline_count);
	for (size_t i = 0; i < a->inline_count; i++) {
		const struct film_inline *x = &a->inlines[i], *y = &b->inlines[i];

		assert_int_equal(x->frame, y->frame);
		assert_int_equal(x->depth, y->depth);
		assert_int_equal(x->function, y->function);
		same_text(x->file, y->file);
		assert_int_equal(x->line, y->line);
	}
	assert_int_equal(a->stack_count, b->stack_count);
	for (uint32_t i = 0; i < a->stack_count; i++) {
		assert_int_equal(a->stacks[i].parent, b->stacks[i].parent);
		assert_int_equal(a->stacks[i].frame, b->stacks[i].frame);
		assert_int_equal(a->stacks[i].how, b->stacks[i].how);
	}
}

static void same_films(struct film *followed, const char *path)
{
	struct film *film = open_film(path);
	struct sum followed_sum = sum_of(followed, 1), sum = sum_of(film, 1);

	same_info(followed, film);
	same_who(followed, film);
	same_code(followed, film);
	assert_int_equal(followed_sum.count, sum.count);
	assert_int_equal(followed_sum.total, sum.total);
	assert_int_equal(followed_sum.blocks, sum.blocks);
	check_promises(followed);
	film_free(film);
}

/*
 * What a recorder does, and then again with other words: a process executes another file, frames
 * get better names.
 */
static void put_changes(struct film_writer *w, uint64_t second)
{
	char name[32], file[32];
	struct film_process process = {
		.pid = 7, .comm = name, .command = "", .exe = file, .cgroup = "", .container = ""};
	struct film_thread thread = {.process = 1, .tid = 7, .comm = name};
	struct film_image image = {.kind = FILM_IMAGE_FILE, .path = file};
	struct film_name names[2] = {{.function = name, .file = file, .line = (uint32_t)second},
				     {.function = "caller", .file = "", .line = 1}};
	uint64_t i;

	put_second(w, second);
	snprintf(name, sizeof(name), "name%u", (unsigned int)second);
	snprintf(file, sizeof(file), "/file%u", (unsigned int)second / 3);
	film_set_process(w, 1, &process);
	film_set_thread(w, 1, &thread);
	process.pid = 100 + (uint32_t)second;
	thread.process = film_add_process(w, &process);
	film_add_thread(w, &thread);
	film_add_image(w, &image);
	/* some for the first time, some again: with an inlined call now, or without any more */
	for (i = 0; i < 50; i++)
		film_name_frame(w, native(w, 0x3000 + second * 60 + i), names,
				1 + (i + second) % 2);
	if (second % 3)
		film_names_settled(w);
	film_loss(w, 1, "made up", second);
	film_loss(w, 0, second % 2 ? "odd" : "even", second);
}

static void test_grows(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create(path);
	struct film *film;
	struct fail why = {0};

	(void)state;
	film_names_follow(w);
	commit(w, test_info.start + 1);
	assert_int_equal(film_follow(path, &film, &why), 0);
	same_films(film, path);
	for (uint64_t second = 0; second < SECONDS; second++) {
		put_changes(w, second);
		commit(w, test_info.start + (second + 1) * SECOND);
		/* nothing of what is new shows before */
		assert_int_equal(sum_of(film, 1).count, second * 100);
		assert_int_equal(film_catch_up(film, &why), 0);
		same_films(film, path);
	}
	/* nothing came since */
	assert_int_equal(film_catch_up(film, &why), 0);
	same_films(film, path);
	put_changes(w, SECONDS);
	close_film(w, test_info.start + (SECONDS + 1) * SECOND);
	assert_int_equal(film_catch_up(film, &why), 0);
	same_films(film, path);
	assert_int_equal(sum_of(film, 1).count, (SECONDS + 1) * 100);
	film_free(film);
	remove_folder();
}

static void test_another_film(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create(path);
	char aside[256];
	struct film *film;
	struct fail why = {0};

	(void)state;
	put_second(w, 0);
	commit(w, test_info.start + SECOND);
	assert_int_equal(film_follow(path, &film, &why), 0);
	close_film(w, test_info.start + SECOND);
	snprintf(aside, sizeof(aside), "%s.aside", path);
	assert_int_equal(rename(path, aside), 0);
	write_seconds(path, 3);
	assert_int_equal(film_catch_up(film, &why), -ESTALE);
	film_free(film);
	remove_folder();
}

/*
 * What was damaged meanwhile is reported as by opening the film, and nothing is left in pieces.
 */
static void test_damage(void **state)
{
	static const char *const damage[] = {
		"INSERT INTO stack VALUES((SELECT sum(n) FROM stack) + 1, 1, x'00')",
		"INSERT INTO frame VALUES(4000000000, 1, x'00')",
		"INSERT INTO name(n, data) VALUES(1, x'00')",
		"UPDATE block SET t0 = t1 + 1 WHERE id = (SELECT max(id) FROM block)",
		"UPDATE process SET comm = x'05'",
		"DELETE FROM meta WHERE name = 'end'",
		"DROP TABLE image",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
		const char *path = new_path();
		struct film_writer *w = create(path);
		struct film *film;
		struct fail why = {0};

		put_changes(w, 0);
		commit(w, test_info.start + SECOND);
		assert_int_equal(film_follow(path, &film, &why), 0);
		put_changes(w, 1);
		close_film(w, test_info.start + 2 * SECOND);
		change_film(path, damage[i]);
		assert_int_equal(film_catch_up(film, &why), -EBADMSG);
		assert_non_null(strstr(why.what, "damaged"));
		film_free(film);
		remove_folder();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grows),
		cmocka_unit_test(test_another_film),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
