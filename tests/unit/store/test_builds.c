// SPDX-License-Identifier: Apache-2.0
/*
 * A program whose file is replaced while it is filmed: each process keeps the version that it ran.
 */
#include "../prelude.h"

#include <string.h>
#include <unistd.h>

#include "film/merge.h"
#include "made_store.h"
#include "store/index_builds.h"
#include "store/marks.h"

#define OLD "abcd"
#define NEW "accd"

enum {
	FILMS = 3
};

static void replace_file(struct film_build *b)
{
	memset(b->images, 0, sizeof(b->images));
	b->build = 0xac;
}

/* The process of that number once more: it has executed its own file again. */
static uint32_t thread_again(struct film_build *b, uint32_t pid)
{
	for (int i = 0; b->processes[i].id; i++)
		if (b->processes[i].pid == pid)
			b->processes[i].pid = UINT32_MAX;
	return film_build_thread(b, pid, "web", pid, "web");
}

static struct made_film closed(struct film_build *b)
{
	struct made_film made = {0};
	struct fail why = {0};

	assert_int_equal(film_close(b->w, b->end, &why), 0);
	memcpy(made.path, b->path, sizeof(made.path));
	assert_int_equal(film_open(made.path, &made.film, &why), 0);
	return made;
}

/*
 * The old build has 10 and 1 000 000, the new one 100 and 10 000, and of 1000, in the kernel alone,
 * the build is not known.
 */
static struct made_film replaced_film(void)
{
	struct film_build b;
	uint32_t old, again, young, kernel;

	film_build_begin(&b, "on-cpu", "ns");
	old = film_build_thread(&b, 10, "web", 10, "web");
	again = film_build_thread(&b, 11, "web", 11, "web");
	kernel = film_build_thread(&b, 12, "web", 12, "web");
	film_build_sample(&b, 0, old, "k!sys_exec", 4);
	film_build_sample(&b, 1000, old, "libc!start;main", 3);
	film_build_sample(&b, 2000, again, "main;work", 1000000);
	replace_file(&b);
	young = film_build_thread(&b, 13, "web", 13, "web");
	film_build_sample(&b, 3000, young, "main;work;k!sys_read", 100);
	film_build_sample(&b, 4000, thread_again(&b, 11), "main", 10000);
	film_build_sample(&b, 5000, old, "libc!other", 3);
	film_build_sample(&b, 6000, kernel, "k!sys_exec", 1000);
	return closed(&b);
}

/* The next one, in which only the new build is seen, of the process that executed it last. */
static struct made_film later_film(void)
{
	struct film_build b;

	film_build_begin(&b, "on-cpu", "ns");
	replace_file(&b);
	film_build_sample(&b, 120000, film_build_thread(&b, 11, "web", 11, "web"), "main",
			  100000000);
	return closed(&b);
}

static struct made_film merged_film(const struct made_film *first, const struct made_film *second)
{
	struct made_film made = {.path = "/tmp/stackcam-test-XXXXXX"};
	const char *paths[] = {first->path, second->path};
	struct fail why = {0};
	size_t bad;
	int fd = mkstemp(made.path);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(film_merge_files(paths, 2, made.path, true, &bad, &why), 0);
	assert_int_equal(film_open(made.path, &made.film, &why), 0);
	return made;
}

static void check_series(struct index *index, const struct question *question, const char *version,
			 uint64_t total)
{
	struct store_ask ask = {
		.from = START, .to = LATER, .version = version, .question = question};
	struct store_series_list list;
	struct fail why = {0};

	assert_int_equal(store_series(made_store(index), &ask, 100, &list, &why), 0);
	assert_int_equal(list.sum.by_films, question != NULL);
	assert_int_equal(list.count, 1);
	assert_string_equal(list.at[0].version, version);
	assert_int_equal(list.at[0].total, total);
	assert_int_equal(list.sum.total, total);
	store_series_free(&list);
}

/* By the index and by the films, before and after the hour is packed. */
static void check_versions(const struct made_film *film, uint64_t old, uint64_t young)
{
	/* which the index does not tell apart */
	static const struct question native = {.shape.native = true};
	struct index *index = made_index(NULL);
	struct fail why = {0};

	made_add(index, film, "alpha");
	for (int i = 0; i < 2; i++) {
		const struct question *question = NULL;

		for (int by_films = 0; by_films < 2; by_films++, question = &native) {
			check_series(index, question, OLD, old);
			check_series(index, question, NEW, young);
			check_series(index, question, "", 1000);
		}
		assert_int_equal(index_compact(index, LATER, &why), 0);
	}
	index_free(index);
}

static void test_replaced(void **state)
{
	struct made_film films[FILMS] = {replaced_film(), later_film()};

	(void)state;
	films[2] = merged_film(&films[0], &films[1]);
	check_versions(&films[0], 1000010, 10100);
	check_versions(&films[2], 1000010, 100010100);
	for (int i = 0; i < FILMS; i++)
		made_film_free(&films[i]);
}

/* The first byte of the build of a process's program, with what is kept and without; 0: unknown. */
static void check_build(const struct film *film, const struct index_builds *kept,
			const struct index_builds *fresh, uint32_t pid, uint8_t expected)
{
	for (uint32_t i = 1; i < film->process_count; i++) {
		const struct film_process *process = &film->processes[i];
		uint32_t image = index_builds_image(kept, film, process);

		if (process->pid != pid)
			continue;
		assert_int_equal(image, index_builds_image(fresh, film, process));
		assert_int_equal(image ? film->images[image].build_id[0] : 0, expected);
		return;
	}
	assert_true(false);
}

/* Each look at a film that grows goes on from what the one before found, and finds the same. */
static void test_followed(void **state)
{
	enum {
		LOOKS = 3
	};
	static const uint32_t pids[] = {10, 12, 13};
	static const uint8_t expected[LOOKS][3] = {
		{0xab, 0xab, 0}, {0xab, 0, 0xac}, {0xab, 0xac, 0xac}};
	struct index_builds kept = {0};
	struct film *film = NULL;
	struct film_build b;
	struct fail why = {0};
	uint32_t kernel;

	(void)state;
	film_build_begin(&b, "on-cpu", "ns");
	film_build_sample(&b, 0, film_build_thread(&b, 10, "web", 10, "web"), "main", 1);
	kernel = film_build_thread(&b, 12, "web", 12, "web");
	film_build_sample(&b, 1, kernel, "k!sys_exec", 1);
	for (int look = 0; look < LOOKS; look++) {
		struct index_builds fresh = {0};

		assert_int_equal(film_commit(b.w, b.end, true, &why), 0);
		if (look)
			assert_int_equal(film_catch_up(film, &why), 0);
		else
			assert_int_equal(film_follow(b.path, &film, &why), 0);
		assert_int_equal(index_builds_find(&kept, film), 0);
		assert_int_equal(index_builds_find(&fresh, film), 0);
		for (int i = 0; i < 3; i++)
			if (expected[look][i] || look)
				check_build(film, &kept, &fresh, pids[i], expected[look][i]);
		/* what was walked through is not walked through again */
		assert_int_equal(kept.blocks, look ? film_block_count(film) : 0);
		index_builds_free(&fresh);
		if (look == 0) {
			replace_file(&b);
			film_build_sample(&b, 2000, film_build_thread(&b, 13, "web", 13, "web"),
					  "main", 1);
		} else {
			film_build_sample(&b, 4000, kernel, "main", 1);
		}
	}
	index_builds_free(&kept);
	assert_null(kept.of);
	film_free(film);
	assert_int_equal(film_close(b.w, b.end, &why), 0);
	unlink(b.path);
}

/* Of a packed hour into which later films come, too: each process goes on with its last row. */
static void test_merged_again(void **state)
{
	struct made_film films[FILMS] = {replaced_film(), later_film()}, both;

	(void)state;
	films[2] = merged_film(&films[0], &films[1]);
	both = merged_film(&films[2], &films[1]);
	check_versions(&both, 1000010, 200010100);
	made_film_free(&both);
	for (int i = 0; i < FILMS; i++)
		made_film_free(&films[i]);
}

/* Of a service that had a version before, the first minute of each other one. */
static void check_marks(struct index *index, uint64_t from, uint64_t to, const char *service,
			const char *version, unsigned int expected)
{
	struct store_ask ask = {.from = START + from * MINUTE,
				.to = START + to * MINUTE,
				.service = service,
				.version = version};
	struct store_mark_list list;
	struct fail why = {0};

	assert_int_equal(store_marks(made_store(index), &ask, 10, &list, &why), 0);
	assert_int_equal(list.others, 0);
	assert_int_equal(list.count, expected);
	for (size_t i = 0; i < list.count; i++) {
		assert_int_equal(list.at[i].time, START + 63 * MINUTE);
		assert_string_equal(list.at[i].service, "server");
		assert_string_equal(list.at[i].version, NEW);
		assert_true(list.at[i].is_derived);
	}
	store_marks_free(&list);
}

static void test_marks(void **state)
{
	struct index *index = made_index(NULL);
	struct made_film film;
	struct film_build b;
	struct fail why = {0};
	uint32_t old;

	(void)state;
	film_build_begin(&b, "on-cpu", "ns");
	old = film_build_thread(&b, 10, "web", 10, "web");
	for (unsigned int i = 0; i < 90; i++)
		film_build_sample(&b, i * 60000, old, "main", 1);
	replace_file(&b);
	film_build_sample(&b, 63 * 60000, film_build_thread(&b, 11, "web", 11, "web"), "main", 1);
	film_build_sample(&b, 80 * 60000, film_build_thread(&b, 12, "web", 12, "web"), "main", 1);
	film = closed(&b);
	made_add(index, &film, "alpha");
	made_add(index, &film, "beta");
	for (int i = 0; i < 2; i++) {
		check_marks(index, 0, 100, NULL, NULL, 1);
		check_marks(index, 63, 64, "server", NEW, 1);
		check_marks(index, 0, 100, "server", OLD, 0);
		check_marks(index, 0, 100, "other", NULL, 0);
		check_marks(index, 0, 63, NULL, NULL, 0);
		check_marks(index, 64, 100, NULL, NULL, 0);
		assert_int_equal(index_compact(index, LATER, &why), 0);
	}
	index_free(index);
	made_film_free(&film);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_merged_again),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
