// SPDX-License-Identifier: Apache-2.0
/* Names of pods are labels of series: the index and the films say the same of them. */
#include "../prelude.h"

#include <string.h>

#include "film/container.h"
#include "made_store.h"

#define ID "4f5e6d7c8b9a0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796"

static void test_labels(void **state)
{
	static const struct {
		const char *container, *labels, *expected;
	} examples[] = {
		{"", "", ""},
		{ID, "env=prod", "env=prod"},
		{ID " shop/web-1/app", "env=prod",
		 "container=app,env=prod,namespace=shop,pod=web-1"},
		{ID " shop/web-1/", "", "namespace=shop,pod=web-1"},
		{ID " //", "", ""},
		{ID " ", "a=b", "a=b"},
		/* what a user gave stays */
		{ID " shop/web-1/app", "pod=mine", "container=app,namespace=shop,pod=mine"},
		/* a film can be made by anyone */
		{ID " a,b=c/web\n/app/more/and", "", "container=app"},
		{" shop", "", "namespace=shop"},
	};
	char labels[FILM_LABELS_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		film_container_labels(examples[i].container, examples[i].labels, labels);
		assert_string_equal(labels, examples[i].expected);
	}
	assert_int_equal(film_container_id(ID " shop/web"), 64);
	assert_true(film_container_has_key("pod=x") && film_container_has_key("namespace"));
	assert_false(film_container_has_key("po=x") || film_container_has_key("pods=x"));
}

/* Threads of a process in a container. */
static uint32_t thread_in(struct film_build *b, uint32_t pid, const char *container)
{
	struct film_process process = {.pid = pid,
				       .start = FILM_BUILD_START,
				       .comm = "web",
				       .command = "/usr/bin/server",
				       .exe = "/usr/bin/server",
				       .cgroup = "/kubepods/pod" ID,
				       .container = container};
	uint32_t id = film_add_process(b->w, &process);

	return film_add_thread(b->w, &(struct film_thread){id, pid, FILM_BUILD_START, "web"});
}

static struct made_film film_of_pods(void)
{
	struct made_film made = {0};
	struct film_build b;
	struct fail why = {0};

	film_build_begin(&b, "on-cpu", "ns");
	film_build_sample(&b, 0, thread_in(&b, 10, ID " shop/web-1/app"), "main", 1);
	film_build_sample(&b, 1000, thread_in(&b, 11, ID " shop/web-2/app"), "main", 10);
	film_build_sample(&b, 2000, thread_in(&b, 12, ID " other/web-1/app"), "main", 100);
	film_build_sample(&b, 3000, thread_in(&b, 13, ID), "main", 1000);
	assert_int_equal(film_close(b.w, b.end, &why), 0);
	memcpy(made.path, b.path, sizeof(made.path));
	assert_int_equal(film_open(made.path, &made.film, &why), 0);
	return made;
}

static void check_total(struct index *index, const struct question *question,
			const char *const *labels, size_t count, uint64_t total)
{
	struct store_ask ask = {.from = START,
				.to = LATER,
				.labels = labels,
				.label_count = count,
				.question = question};
	struct store_series_list list;
	struct fail why = {0};

	assert_int_equal(store_series(made_store(index), &ask, 100, &list, &why), 0);
	assert_int_equal(list.sum.by_films, question != NULL);
	assert_int_equal(list.sum.total, total);
	for (size_t i = 0; i < list.count; i++)
		assert_string_equal(list.at[i].service, "server");
	store_series_free(&list);
}

static void check_rows(struct index *index, const struct question *question)
{
	struct store_ask ask = {
		.from = START, .to = LATER, .by_label = "pod", .question = question};
	struct store_timeline timeline;
	struct fail why = {0};

	assert_int_equal(store_timeline(made_store(index), &ask, STORE_BY_LABEL, 10, 10, NULL,
					&timeline, &why),
			 0);
	assert_int_equal(timeline.sum.by_films, question != NULL);
	assert_int_equal(timeline.sum.total, 1111);
	for (size_t i = 0; i < timeline.rows; i++) {
		const struct store_timeline_row *row = &timeline.at[i];

		assert_int_equal(row->total, !strcmp(row->name, "web-1")   ? 101
					     : !strcmp(row->name, "web-2") ? 10
									   : 1000);
	}
	store_timeline_free(&timeline);
}

static void test_series(void **state)
{
	static const struct question native = {.shape.native = true};
	static const char *const labels[] = {"pod=web-1", "namespace=shop"};
	struct made_film film = film_of_pods();
	struct index *index = made_index(NULL);
	struct fail why = {0};

	(void)state;
	made_add(index, &film, "alpha");
	for (int i = 0; i < 2; i++) {
		const struct question *question = NULL;

		for (int k = 0; k < 2; k++, question = &native) {
			check_total(index, question, NULL, 0, 1111);
			check_total(index, question, labels, 1, 101);
			check_total(index, question, labels, 2, 1);
			check_total(index, question, labels + 1, 1, 11);
			check_rows(index, question);
		}
		assert_int_equal(index_compact(index, LATER, &why), 0);
	}
	index_free(index);
	made_film_free(&film);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_series),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
