// SPDX-License-Identifier: Apache-2.0
/*
 * Names that are found later: what lines they come in, once a build, and in answers that are old.
 */
#include "../prelude.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/database.h"
#include "base/regex.h"
#include "made_store.h"
#include "store/build_names.h"

/* Of each host one: more than are read where the index has an answer. */
#define FILMS 17

static const uint8_t a_build[] = {1, 2, 3}, another[] = {1, 2, 4};
static char path[] = "/tmp/test-build-names-XXXXXX";

static int set_up(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	made_names = build_names_new(path);
	return fd < 0 || close(fd) || unlink(path) || !made_names;
}

static int tear_down(void **state)
{
	(void)state;
	build_names_free(made_names);
	made_names = NULL;
	strcpy(path + strlen(path) - 6, "XXXXXX");
	return database_remove(path);
}

static int add(const void *id, size_t id_size, const char *text, struct build_names_added *added)
{
	struct build_names_build build = {.id = id, .id_size = id_size, .file = "lib'x"};
	struct fail why = {0};
	int err;

	build.lines = tmpfile();
	assert_non_null(build.lines);
	assert_int_equal(fwrite(text, 1, strlen(text), build.lines), strlen(text));
	rewind(build.lines);
	err = build_names_add(made_names, &build, added, &why);
	assert_int_equal(why.err, err);
	fclose(build.lines);
	return err;
}

static const char *find(const void *id, uint32_t size, uint64_t address)
{
	static char name[BUILD_NAME_SIZE];
	struct film_image image = {.build_id_size = size};

	memcpy(image.build_id, id, size);
	return build_names_find(made_names, &image, address, name) ? name : "";
}

static void test_once_a_build(void **state)
{
	struct build_names_added added;

	(void)state;
	assert_string_equal(find(a_build, 3, 0x1000), "");
	assert_int_equal(add(a_build, 3,
			     "1000 10 f(int, char)\n1010 8 g\n1010 1 other\nFF00 1 h\xff", &added),
			 0);
	assert_int_equal(added.functions, 3);
	assert_false(added.again);
	assert_string_equal(find(a_build, 3, 0xfff), "");
	assert_string_equal(find(a_build, 3, 0x1000), "f(int, char)");
	assert_string_equal(find(a_build, 3, 0x100f), "f(int, char)");
	assert_string_equal(find(a_build, 3, 0x1017), "g");
	assert_string_equal(find(a_build, 3, 0x1018), "");
	assert_string_equal(find(a_build, 3, 0xff00), "h\xff");
	assert_string_equal(find(a_build, 3, UINT64_MAX), "");
	assert_string_equal(find(a_build, 2, 0x1000), "");
	assert_string_equal(find(another, 3, 0x1000), "");
	assert_int_equal(add(another, 3, "1 1 x\n1 1 y\n1 1 z\n", &added), 0);
	assert_int_equal(added.functions, 1);
	assert_int_equal(add(another, 3, "1 1 y\n1 1 x\n1 1 z\n", &added), 0);
	assert_true(added.again);
	assert_string_equal(find(another, 3, 1), "x");
	/* what is there stays, unless more of them come */
	assert_int_equal(add(a_build, 3, "1000 10 evil\n2000 1 i\n", &added), 0);
	assert_true(added.again);
	assert_string_equal(find(a_build, 3, 0x1000), "f(int, char)");
	assert_int_equal(add(a_build, 3, "0 1 a\n1 1 b\n2 1 c\n3 1 d\n4 1 e\n", &added), 0);
	assert_int_equal(added.functions, 5);
	assert_string_equal(find(a_build, 3, 0x1000), "");
	assert_string_equal(find(a_build, 3, 3), "d");
	/* after a restart, too */
	build_names_close(made_names);
	assert_string_equal(find(a_build, 3, 3), "d");
	assert_int_equal(add(a_build, 3, "0 1 a\n", &added), 0);
	assert_true(added.again);
}

static void test_lines_that_are_wrong(void **state)
{
	static const char *const bad[] = {
		"",
		"\n",
		"1000\n",
		"1000 10\n",
		"1000 10 \n",
		"1000  10 f\n",
		" 1000 10 f\n",
		"0x10 10 f\n",
		"1000 0 f\n",
		"1000 -1 f\n",
		"ffffffffffffffff 1 f\n",
		"7fffffffffffffff 1 f\n",
		"11111111111111111 1 f\n",
		"1000 ffffffffffffffff f\n",
		"1000 10 f\n\n",
		"1000 10 f\nx\n",
	};
	struct build_names_added added;
	char *longest = malloc(BUILD_NAME_SIZE + 20);

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(add(a_build, 3, bad[i], &added), -EINVAL);
	assert_string_equal(find(a_build, 3, 0x1000), "");
	assert_non_null(longest);
	strcpy(longest, "1000 10 ");
	memset(longest + 8, 'f', BUILD_NAME_SIZE);
	longest[8 + BUILD_NAME_SIZE] = 0;
	assert_int_equal(add(a_build, 3, longest, &added), -EINVAL);
	longest[8 + BUILD_NAME_SIZE - 1] = 0;
	assert_int_equal(add(a_build, 3, longest, &added), 0);
	assert_string_equal(find(a_build, 3, 0x1000), longest + 8);
	free(longest);
}

static void test_another_file(void **state)
{
	struct build_names_added added;
	FILE *file = fopen(path, "w");

	(void)state;
	assert_non_null(file);
	for (int i = 0; i < 1000; i++)
		fputs("this is not a database\n", file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(add(a_build, 3, "1000 10 f\n", &added), -EBADMSG);
	assert_string_equal(find(a_build, 3, 0x1000), "");
}

/* -- in answers -------------------------------------------------------------------------------- */

static struct made_film unnamed_film(void)
{
	struct made_film made = {0};
	struct film_build b;
	struct fail why = {0};
	uint32_t thread;

	film_build_begin(&b, "on-cpu", "ns");
	thread = film_build_thread(&b, 10, "web", 10, "web");
	film_build_sample(&b, 0, thread, "main;libc!+1010", 1);
	film_build_sample(&b, 1, thread, "main;?libc!+1020-1000;k!sys_read", 10);
	film_build_sample(&b, 2, thread, "main;libc!named", 100);
	film_build_sample(&b, 3, thread, "main;libc!+1030-1000;libc!+1014", 1000);
	film_build_sample(&b, 4, thread, "main;libc!+9000", 10000);
	b.build ^= 1;
	film_build_sample(&b, 5, thread, "main;other!+1010", 100000);
	assert_int_equal(film_close(b.w, b.end, &why), 0);
	memcpy(made.path, b.path, sizeof(made.path));
	assert_int_equal(film_open(made.path, &made.film, &why), 0);
	return made;
}

static const struct film_image *image_of(const struct film *film, const char *name)
{
	for (uint32_t i = 1; i < film->image_count; i++)
		if (strstr(film->images[i].path, name))
			return &film->images[i];
	return NULL;
}

/* Self and total of a function; how many rows and how many nodes have the name. */
static void has(const struct store_answer *answer, const char *name, uint64_t self, uint64_t total,
		unsigned int nodes)
{
	unsigned int rows = 0, found = 0;

	for (size_t i = 0; i < answer->functions.count; i++) {
		const struct function *f = &answer->functions.at[i];

		if (strcmp(f->label->name, name) != 0)
			continue;
		rows++;
		assert_int_equal(f->self[TREE_NOW], self);
		if (total)
			assert_int_equal(f->total[TREE_NOW], total);
	}
	for (uint32_t i = 1; i < answer->flame.count; i++)
		found += !strcmp(answer->flame.nodes[i].name, name);
	assert_int_equal(rows, nodes != 0);
	assert_int_equal(found, nodes);
}

static void check(struct index *index, bool by_films, uint32_t shown, bool is_named)
{
	const struct store_ask ask = {.nodes_max = shown, .functions_max = shown};
	struct store_answer answer =
		by_films ? made_by_films(index, &ask) : made_flame(index, &ask);

	/* of rows that were summed apart the total may have a recursion twice */
	has(&answer, "named", is_named ? 1101 : 100, by_films && is_named ? 1111 : 0,
	    is_named ? 2 : 1);
	has(&answer, "libc+0x1010", is_named ? 0 : 1, 0, !is_named);
	has(&answer, "libc+0x1000", 0, 0, is_named ? 0 : 1);
	has(&answer, "libc+0x9000", 10000, 10000, 1);
	has(&answer, "other+0x1010", 100000, 100000, 1);
	assert_int_equal(answer.flame.nodes[0].total, 111111);
	store_answer_free(&answer);
}

/* What is below a function, of all hosts. */
static uint64_t total_of(struct index *index, const char *focus, bool by_films)
{
	struct question question = {0};
	const struct store_ask ask = {.question = &question};
	struct store_answer answer;
	struct fail why = {0};
	uint64_t total;

	assert_int_equal(regex_compile(focus, &question.filter.focus, &why), 0);
	answer = by_films ? made_by_films(index, &ask) : made_flame(index, &ask);
	assert_int_equal(answer.sum.by_paths, !by_films);
	total = answer.sum.total;
	store_answer_free(&answer);
	regex_free(question.filter.focus);
	return total;
}

static uint64_t over_time(struct index *index, bool by_films)
{
	const char *all = "*";
	struct question question = {.filter.comms = {.at = &all, .count = 1}};
	const struct store_ask ask = {.question = by_films ? &question : NULL};
	struct store_timeline timeline;
	struct fail why = {0};
	uint64_t total;

	assert_int_equal(store_timeline(made_store(index), &ask, STORE_BY_NOTHING, 1, 1, "named",
					&timeline, &why),
			 0);
	total = timeline.rows ? timeline.at[0].total : 0;
	store_timeline_free(&timeline);
	return total;
}

static void test_by_names(void **state)
{
	struct index *index = made_index(NULL);
	struct made_film films[FILMS];
	struct build_names_added added;
	const struct film_image *libc;

	(void)state;
	for (unsigned int i = 0; i < FILMS; i++) {
		char host[16];

		snprintf(host, sizeof(host), "host%u", i);
		films[i] = unnamed_film();
		made_add(index, &films[i], host);
	}
	libc = image_of(films[0].film, "libc");
	for (unsigned int named = 0; named < 2; named++) {
		uint64_t total = FILMS * (named ? 1111 : 100);

		for (int by_films = 0; by_films < 2; by_films++) {
			assert_int_equal(total_of(index, "^named$", by_films), total);
			assert_int_equal(total_of(index, "0x9000", by_films), FILMS * 10000);
			assert_int_equal(over_time(index, by_films), total);
		}
		if (!named)
			assert_int_equal(add(libc->build_id, libc->build_id_size,
					     "1000 100 named\n", &added),
					 0);
	}
	index_free(index);
	for (unsigned int i = 0; i < FILMS; i++)
		made_film_free(&films[i]);
}

static void test_in_old_answers(void **state)
{
	struct made_film film = unnamed_film();
	const struct film_image *libc = image_of(film.film, "libc");
	struct index *index = made_index(NULL);
	struct build_names_added added;

	(void)state;
	made_add(index, &film, "host");
	assert_true(libc && libc->build_id_size);
	for (int named = 0; named < 2; named++) {
		check(index, false, 0, named);
		check(index, true, 0, named);
		check(index, false, 1000, named);
		if (!named)
			assert_int_equal(add(libc->build_id, libc->build_id_size,
					     "1000 100 named\n", &added),
					 0);
	}
	index_free(index);
	made_film_free(&film);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_once_a_build, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lines_that_are_wrong, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_another_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_by_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_in_old_answers, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
