// SPDX-License-Identifier: Apache-2.0
/* Lost samples are not added to other losses, neither by the index nor by the films. */
#include "../prelude.h"

#include <string.h>

#include "made_store.h"

static void test_samples_apart(void **state)
{
	static const struct question native = {.shape.native = true};
	struct index *index = made_index(NULL);
	struct made_film made = {0};
	struct film_build b;
	struct fail why = {0};
	uint32_t other;

	(void)state;
	film_build_begin(&b, "on-cpu", "ns");
	other = film_add_event(b.w, &(struct film_event){"off-cpu", "ns", "", 0});
	film_build_sample(&b, 1000, film_build_thread(&b, 10, "web", 10, "web"), "main", 1);
	film_loss(b.w, b.event, "ring full: the recorder could not keep up", 1);
	film_loss(b.w, b.event, "call lost: too many open calls in one thread", 10);
	film_loss(b.w, b.event, "stack cut: no room to hand it over for completion", 100);
	film_loss(b.w, 0, "python frame without a name: the process had ended", 1000);
	film_loss(b.w, other, "ring full: the recorder could not keep up", 10000);
	film_loss(b.w, other, "stack cut: no room to hand it over for completion", 100000);
	assert_int_equal(film_close(b.w, b.end, &why), 0);
	memcpy(made.path, b.path, sizeof(made.path));
	assert_int_equal(film_open(made.path, &made.film, &why), 0);
	made_add(index, &made, "alpha");
	for (int i = 0; i < 4; i++) {
		struct store_ask ask = {.event = i & 1 ? "off-cpu" : "on-cpu",
					.from = START,
					.to = START + MINUTE,
					.question = i & 2 ? &native : NULL};
		struct store_answer answer = made_flame(index, &ask);

		assert_int_equal(answer.sum.by_films, (i & 2) != 0);
		assert_int_equal(answer.sum.lost_samples, i & 1 ? 10000 : 11);
		assert_int_equal(answer.sum.lost, i & 1 ? 111000 : 1111);
		store_answer_free(&answer);
	}
	index_free(index);
	made_film_free(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
