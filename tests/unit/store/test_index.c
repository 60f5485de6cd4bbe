// SPDX-License-Identifier: Apache-2.0
/*
 * What the index answers is what the films say: added at once or as they grow, packed or not,
 * merged or not.
 */
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answers.h"
#include "made_store.h"
#include "store/index_private.h"

static void test_as_report(void **state)
{
	struct question by_image = {.shape.by_image = true}, plain = {0};
	struct made_film made = made_film(1, 6000, 100);
	struct index *index = made_index(NULL);
	struct store_ask ask = {0};
	struct store_answer answer;

	(void)state;
	made_add(index, &made, "alpha");
	answer = made_flame(index, &ask);
	assert_int_equal(answer.sum.lost, 9);
	made_same_as_report(&answer, made.film, &plain);
	store_answer_free(&answer);
	ask.question = &by_image;
	answer = made_flame(index, &ask);
	assert_false(answer.sum.by_films);
	made_same_as_report(&answer, made.film, &by_image);
	store_answer_free(&answer);
	index_free(index);
	made_film_free(&made);
}

static void test_packed(void **state)
{
	struct made_film films[] = {made_film(2, 3000, 200), made_film(3, 2500, 130),
				    made_film(4, 100, 1)};
	struct index *index = made_index(NULL);
	struct fail why = {0};

	(void)state;
	made_add(index, &films[0], "alpha");
	made_add(index, &films[1], "beta");
	made_check_by_films(index);
	assert_int_equal(index_compact(index, START + 90 * MINUTE, &why), 0);
	made_check_by_films(index);
	assert_int_equal(index_compact(index, LATER, &why), 0);
	made_check_by_films(index);
	/* late, into hours that were packed */
	made_add(index, &films[2], "beta");
	made_check_by_films(index);
	assert_int_equal(index_compact(index, LATER, &why), 0);
	made_check_by_films(index);
	index_free(index);
	for (int i = 0; i < 3; i++)
		made_film_free(&films[i]);
}

/* On disk, opened again: nothing is added twice. */
static void test_again(void **state)
{
	struct made_film made = made_film(5, 5000, 100);
	char path[] = "/tmp/stackcam-index-XXXXXX";
	struct store_ask ask = {.from = START, .to = LATER};
	struct question plain = {0};
	struct store_answer answer;
	struct index *index;
	struct fail why = {0};

	(void)state;
	close(mkstemp(path));
	for (int i = 0; i < 4; i++) {
		index = made_index(path);
		made_add(index, &made, "alpha");
		if (i == 2)
			assert_int_equal(index_compact(index, LATER, &why), 0);
		answer = made_flame(index, &ask);
		made_same_as_report(&answer, made.film, &plain);
		store_answer_free(&answer);
		index_free(index);
	}
	unlink(path);
	made_film_free(&made);
}

static uint64_t minute_of_end(const struct film *film)
{
	return (film->info.end + (uint64_t)film->info.wall_offset - START) / MINUTE;
}

/* Each minute has what was lost in it, and no more. */
static void check_lost(struct index *index, const unsigned int *lost, unsigned int minutes)
{
	for (unsigned int i = 0; i < minutes; i++) {
		struct store_ask ask = {.from = START + i * MINUTE, .to = START + (i + 1) * MINUTE};
		struct store_answer answer = made_flame(index, &ask);

		assert_int_equal(answer.sum.lost, lost[i]);
		assert_int_equal(answer.sum.lost_samples, lost[i]);
		store_answer_free(&answer);
	}
}

static void test_grows(void **state)
{
	unsigned int lost[6] = {0};
	struct store_ask ask = {.from = START, .to = LATER};
	struct question plain = {0};
	struct index *index = made_index(NULL);
	struct made_film made = {0};
	struct store_answer answer;
	struct fail why = {0};
	struct film_build b;
	uint32_t thread;

	(void)state;
	film_build_begin(&b, "on-cpu", "ns");
	thread = film_build_thread(&b, 10, "web", 10, "web");
	memcpy(made.path, b.path, sizeof(made.path));
	for (unsigned int i = 0; i < 30; i++) {
		char stack[64];

		snprintf(stack, sizeof(stack), "main;f%u;g%u", i % 4, i);
		/* some come late */
		film_build_sample(&b, i * 7000 - (i % 5 ? 0 : i * 900), thread, stack, 10 + i);
		film_loss(b.w, b.event, "ring full", i);
		assert_int_equal(film_commit(b.w, b.end, true, &why), 0);
		assert_int_equal(film_open(made.path, &made.film, &why), 0);
		made_add(index, &made, "alpha");
		answer = made_flame(index, &ask);
		assert_int_equal(answer.sum.lost, i);
		assert_int_equal(answer.sum.lost_samples, i);
		lost[minute_of_end(made.film)] += i > 0;
		made_same_as_report(&answer, made.film, &plain);
		store_answer_free(&answer);
		film_free(made.film);
	}
	assert_true(lost[0] && lost[1] && lost[2]);
	check_lost(index, lost, 6);
	assert_int_equal(index_compact(index, LATER, &why), 0);
	check_lost(index, lost, 6);
	assert_int_equal(film_close(b.w, b.end, &why), 0);
	unlink(made.path);
	index_free(index);
}

static int count_merges(void *context, const char *into, uint64_t inode)
{
	assert_string_equal(into, "films/14.film");
	assert_int_equal(inode, 4711);
	++*(int *)context;
	return 0;
}

static void test_merge(void **state)
{
	struct made_film films[] = {made_film(6, 500, 1), made_film(7, 400, 1)};
	struct index_film into = {.name = "films/14.film", .host = "alpha"};
	const char *parts[] = {films[0].path, films[1].path};
	struct index *index = made_index(NULL);
	struct store_ask ask = {.from = START, .to = LATER};
	struct store_answer before, after;
	struct index_status status;
	struct fail why = {0};
	int merges = 0;

	(void)state;
	made_add(index, &films[0], "alpha");
	made_add(index, &films[1], "alpha");
	before = made_flame(index, &ask);
	assert_int_equal(index_merge_begin(index, &into, 4711, parts, 2, &why), 0);
	assert_int_equal(index_each_merge(index, count_merges, &merges, &why), 0);
	assert_int_equal(merges, 1);
	assert_int_equal(index_merge_drop(index, into.name, &why), 0);
	assert_int_equal(index_merge_begin(index, &into, 4711, parts, 2, &why), 0);
	/* any film stands for the merged one */
	assert_int_equal(index_merge_end(index, into.name, films[0].film, &why), 0);
	assert_int_equal(index_each_merge(index, count_merges, &merges, &why), 0);
	assert_int_equal(merges, 1);
	index_status(index, &status);
	assert_int_equal(status.films, 1);
	assert_int_equal(index_add(index, &into, films[0].film, &why), 0);
	after = made_flame(index, &ask);
	made_same(&before, &after);
	assert_int_equal(before.sum.lost, after.sum.lost);
	store_answer_free(&before);
	store_answer_free(&after);
	index_free(index);
	made_film_free(&films[0]);
	made_film_free(&films[1]);
}

static void test_forget(void **state)
{
	struct made_film films[] = {made_film(8, 4000, 100), made_film(9, 3000, 100),
				    made_film(10, 500, 10)};
	struct index *index = made_index(NULL);
	struct store_ask ask = {.from = START, .to = LATER};
	struct question plain = {0};
	struct store_answer answer;
	struct fail why = {0};

	(void)state;
	made_add(index, &films[0], "alpha");
	made_add(index, &films[1], "beta");
	made_add(index, &films[2], "beta");
	assert_int_equal(index_compact(index, START + 80 * MINUTE, &why), 0);
	/* told twice, it is one gap */
	for (int i = 0; i < 2; i++) {
		const struct index_gap gap = {films[1].path, "1.0_beta", "beta", START, LATER};

		assert_int_equal(index_forget_damaged(index, &gap, &why), 0);
	}
	/* the hours in which another film of the host has a part stay */
	answer = made_flame(index, &ask);
	assert_true(answer.sum.samples > 4500);
	assert_true(answer.sum.samples < 7500);
	assert_int_equal(answer.sum.films_damaged, 1);
	store_answer_free(&answer);
	assert_int_equal(index_forget(index, films[2].path, &why), 0);
	assert_int_equal(index_forget(index, "never seen", &why), 0);
	answer = made_flame(index, &ask);
	assert_int_equal(answer.sum.lost, 9);
	made_same_as_report(&answer, films[0].film, &plain);
	store_answer_free(&answer);
	index_free(index);
	for (int i = 0; i < 3; i++)
		made_film_free(&films[i]);
}

static void test_senders(void **state)
{
	struct made_film made = made_film(11, 10, 1);
	struct store_sender sender = {"alpha", "a-1", 5};
	struct index_film of = {.name = made.path, .host = "alpha", .sender = &sender};
	struct index *index = made_index(NULL);
	struct fail why = {0};
	uint64_t number;

	(void)state;
	assert_int_equal(index_sender(index, "a-1", &number, &why), 0);
	assert_int_equal(number, 0);
	assert_int_equal(index_add(index, &of, made.film, &why), 0);
	sender.number = 3;
	assert_int_equal(index_add(index, &of, made.film, &why), 0);
	assert_int_equal(index_sender(index, "a-1", &number, &why), 0);
	assert_int_equal(number, 5);
	index_free(index);
	made_film_free(&made);
}

static void test_events(void **state)
{
	struct made_film made = made_film(12, 10, 1);
	struct index *index = made_index(NULL);
	struct store_ask ask = {.event = "off-cpu"};
	struct store_answer answer;
	struct fail why = {0};

	(void)state;
	/* nothing is there yet: no event is wrong */
	answer = made_flame(index, &ask);
	assert_int_equal(answer.flame.count, 1);
	store_answer_free(&answer);
	made_add(index, &made, "alpha");
	assert_int_equal(store_flame(made_store(index), &ask, &answer, &why), -ENOENT);
	assert_non_null(strstr(why.what, "only on-cpu"));
	store_answer_free(&answer);
	ask = (struct store_ask){.from = LATER, .to = START};
	assert_int_equal(store_flame(made_store(index), &ask, &answer, &why), -EINVAL);
	store_answer_free(&answer);
	index_free(index);
	made_film_free(&made);
}

static void test_series(void **state)
{
	struct made_film films[] = {made_film(13, 2000, 100), made_film(14, 3000, 100)};
	struct index *index = made_index(NULL);
	struct store_ask ask = {.from = START, .to = LATER};
	struct store_series_list all, some;
	struct fail why = {0};
	uint64_t total = 0;

	(void)state;
	made_add(index, &films[0], "alpha");
	made_add(index, &films[1], "beta");
	assert_int_equal(index_compact(index, LATER, &why), 0);
	assert_int_equal(store_series(made_store(index), &ask, 100, &all, &why), 0);
	assert_int_equal(all.count, 2);
	assert_int_equal(all.others, 0);
	assert_int_equal(all.sum.samples, 5000);
	for (size_t i = 0; i < all.count; i++) {
		assert_string_equal(all.at[i].service, "server");
		assert_string_equal(all.at[i].version, "abcd");
		total += all.at[i].total;
	}
	assert_int_equal(all.sum.total, total);
	assert_int_equal(store_series(made_store(index), &ask, 1, &some, &why), 0);
	assert_int_equal(some.count, 1);
	assert_int_equal(some.others, all.at[1].total);
	store_series_free(&some);
	store_series_free(&all);
	index_free(index);
	for (int i = 0; i < 2; i++)
		made_film_free(&films[i]);
}

static uint64_t timeline_total(struct index *index, const struct store_ask *ask, enum store_by by,
			       size_t steps, const char *function, bool films)
{
	struct store_timeline timeline;
	struct fail why = {0};
	uint64_t total = 0;

	assert_int_equal(
		store_timeline(made_store(index), ask, by, steps, 10, function, &timeline, &why),
		0);
	assert_int_equal(timeline.sum.by_films, films);
	assert_true(timeline.steps <= steps);
	assert_true(timeline.sum.from + timeline.steps * timeline.step >= ask->to);
	for (size_t i = 0; i < timeline.rows; i++) {
		uint64_t row = 0;

		for (size_t k = 0; k < timeline.steps; k++)
			row += timeline.at[i].values[k];
		assert_int_equal(row, timeline.at[i].total);
		total += row;
	}
	if (!function)
		assert_int_equal(total, timeline.sum.total);
	store_timeline_free(&timeline);
	return total;
}

static void test_timeline(void **state)
{
	struct made_film films[] = {made_film(15, 2000, 150), made_film(16, 3000, 100)};
	struct index *index = made_index(NULL);
	struct store_ask ask = {.from = START, .to = START + 200 * MINUTE};
	const struct function *f;
	struct store_answer answer;
	struct fail why = {0};

	(void)state;
	made_add(index, &films[0], "alpha");
	made_add(index, &films[1], "beta");
	answer = made_flame(index, &ask);
	f = answer_function(&answer.functions, "f0");
	assert_non_null(f);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(timeline_total(index, &ask, STORE_BY_NOTHING, 100, NULL, false),
				 answer.sum.total);
		assert_int_equal(timeline_total(index, &ask, STORE_BY_SERVICE, 7, NULL, false),
				 answer.sum.total);
		assert_int_equal(timeline_total(index, &ask, STORE_BY_HOST, 2000, NULL, false),
				 answer.sum.total);
		/*
		 * functions of several images have that name: together they are at least the
		 * largest
		 */
		assert_true(timeline_total(index, &ask, STORE_BY_HOST, 50, "f0", false) >=
			    f->total[0]);
		assert_int_equal(index_compact(index, LATER, &why), 0);
	}
	store_answer_free(&answer);
	ask.to = START + 30 * MINUTE;
	answer = made_flame(index, &ask);
	assert_int_equal(timeline_total(index, &ask, STORE_BY_HOST, 900, NULL, true),
			 answer.sum.total);
	assert_int_equal(timeline_total(index, &ask, STORE_BY_HOST, 900, "f0", true),
			 timeline_total(index, &ask, STORE_BY_HOST, 30, "f0", false));
	store_answer_free(&answer);
	index_free(index);
	for (int i = 0; i < 2; i++)
		made_film_free(&films[i]);
}

static void test_diff(void **state)
{
	struct made_film films[] = {made_film(17, 2000, 150), made_film(18, 3000, 100)};
	struct index *index = made_index(NULL);
	struct store_ask now = {.from = START, .to = LATER, .host = "alpha"}, before = now;
	struct question question = {0};
	struct store_answer a, b;
	const char *all = "*";
	struct fail why = {0};

	(void)state;
	before.host = "beta";
	made_add(index, &films[0], "alpha");
	made_add(index, &films[1], "beta");
	assert_int_equal(store_diff(made_store(index), &before, &now, &a, &why), 0);
	question.filter.comms.at = &all;
	question.filter.comms.count = 1;
	now.question = before.question = &question;
	assert_int_equal(store_diff(made_store(index), &before, &now, &b, &why), 0);
	made_same(&a, &b);
	assert_int_equal(a.before.total, b.before.total);
	assert_int_equal(a.flame.nodes[0].before_total, a.sum.total);
	store_answer_free(&a);
	store_answer_free(&b);
	index_free(index);
	for (int i = 0; i < 2; i++)
		made_film_free(&films[i]);
}

/*
 * The minute in which one time ends and the other begins is counted once, whichever of them is the
 * earlier.
 */
static void test_diff_of_neighbours(void **state)
{
	struct made_film film = made_film(19, 3000, 100);
	struct index *index = made_index(NULL);
	const uint64_t border = START / MINUTE * MINUTE + 20 * MINUTE + MINUTE / 3;
	struct store_ask early = {.from = border - 10 * MINUTE, .to = border};
	struct store_ask late = {.from = border, .to = border + 10 * MINUTE};
	struct store_ask whole = {.from = early.from, .to = late.to};
	struct store_answer a, b, all;
	struct fail why = {0};

	(void)state;
	made_add(index, &film, "alpha");
	all = made_flame(index, &whole);
	assert_int_equal(store_diff(made_store(index), &early, &late, &a, &why), 0);
	assert_int_equal(store_diff(made_store(index), &late, &early, &b, &why), 0);
	assert_true(a.sum.samples > 0 && a.before.samples > 0);
	assert_int_equal(a.sum.samples + a.before.samples, all.sum.samples);
	assert_int_equal(a.before.to, a.sum.from);
	assert_true(a.before.complete_until <= a.before.to);
	assert_int_equal(a.sum.from, border / MINUTE * MINUTE);
	assert_int_equal(b.sum.samples, a.before.samples);
	assert_int_equal(b.before.samples, a.sum.samples);
	store_answer_free(&a);
	store_answer_free(&b);
	store_answer_free(&all);
	index_free(index);
	made_film_free(&film);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_report), cmocka_unit_test(test_packed),
		cmocka_unit_test(test_again),	  cmocka_unit_test(test_grows),
		cmocka_unit_test(test_merge),	  cmocka_unit_test(test_forget),
		cmocka_unit_test(test_senders),	  cmocka_unit_test(test_events),
		cmocka_unit_test(test_series),	  cmocka_unit_test(test_timeline),
		cmocka_unit_test(test_diff),	  cmocka_unit_test(test_diff_of_neighbours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
