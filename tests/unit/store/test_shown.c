// SPDX-License-Identifier: Apache-2.0
/* Only what is shown of an answer is made, and what is shown is the same. */
#include "../prelude.h"

#include <stdlib.h>

#include "made_store.h"
#include "query/flame_prune.h"

static void same_shown(const struct store_answer *whole, const struct store_answer *shown,
		       uint32_t most)
{
	struct flame a, b;
	uint32_t hidden[2];

	assert_int_equal(flame_prune(&whole->flame, most, &a, &hidden[0]), 0);
	assert_int_equal(flame_prune(&shown->flame, most, &b, &hidden[1]), 0);
	assert_int_equal(hidden[0], hidden[1] + shown->flame.left_out);
	assert_int_equal(a.count, b.count);
	for (uint32_t i = 0; i < a.count; i++) {
		const struct flame_node *m = &a.nodes[i], *n = &b.nodes[i];

		assert_string_equal(m->name, n->name);
		assert_string_equal(m->image, n->image);
		assert_int_equal(m->parent, n->parent);
		assert_int_equal(m->first_child, n->first_child);
		assert_int_equal(m->next_sibling, n->next_sibling);
		assert_int_equal(m->kind, n->kind);
		assert_int_equal(m->guess, n->guess);
		assert_int_equal(m->inlined, n->inlined);
		assert_int_equal(m->self, n->self);
		assert_int_equal(m->total, n->total);
	}
	flame_free(&a);
	flame_free(&b);
}

static uint64_t self_of_all(const struct functions *functions)
{
	uint64_t sum = functions->left_out;

	for (size_t i = 0; i < functions->count; i++)
		sum += functions->at[i].self[TREE_NOW];
	return sum;
}

static void same_first(const struct functions *whole, const struct functions *shown, size_t most)
{
	assert_int_equal(self_of_all(whole), self_of_all(shown));
	for (enum function_order by = FUNCTIONS_BY_SELF; by <= FUNCTIONS_BY_TOTAL; by++) {
		size_t counts[] = {most, most};
		const struct function **a = functions_first(whole, by, &counts[0]);
		const struct function **b = functions_first(shown, by, &counts[1]);

		assert_non_null(a);
		assert_non_null(b);
		assert_int_equal(counts[0], counts[1]);
		for (size_t i = 0; i < counts[0]; i++) {
			assert_string_equal(a[i]->label->name, b[i]->label->name);
			assert_string_equal(a[i]->label->image, b[i]->label->image);
			assert_int_equal(a[i]->guess, b[i]->guess);
			assert_int_equal(a[i]->self[TREE_NOW], b[i]->self[TREE_NOW]);
			assert_int_equal(a[i]->total[TREE_NOW], b[i]->total[TREE_NOW]);
		}
		free(a);
		free(b);
	}
}

static void check_shown(struct index *index)
{
	static const struct made_ask asks[] = {{0, 1000, NULL, NULL},
					       {0, 1000, NULL, "server"},
					       {3, 9, "alpha", NULL},
					       {500, 600, NULL, NULL}};
	static const uint32_t nodes[] = {FLAME_PRUNE_MIN, 37, 150, 1000, 1u << 30};
	static const uint32_t functions[] = {1, 3, 20, 1u << 30, 7};

	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
		struct store_ask ask = {
			.from = START + asks[i].from * MINUTE,
			.to = START + asks[i].to * MINUTE,
			.host = asks[i].host,
			.service = asks[i].service,
		};
		struct store_answer whole = made_flame(index, &ask), shown;

		for (size_t k = 0; k < sizeof(nodes) / sizeof(nodes[0]); k++) {
			ask.nodes_max = nodes[k];
			ask.functions_max = functions[k];
			assert_int_equal(store_flame(made_store(index), &ask, &shown, NULL), 0);
			assert_int_equal(whole.sum.samples, shown.sum.samples);
			assert_true(shown.flame.count <= whole.flame.count);
			same_shown(&whole, &shown, nodes[k]);
			same_first(&whole.functions, &shown.functions, functions[k]);
			store_answer_free(&shown);
		}
		store_answer_free(&whole);
	}
}

/* Only what is shown is made, and what is shown is the same. */
static void test_shown(void **state)
{
	struct made_film films[] = {made_film(8, 3000, 200), made_film(9, 2500, 130)};
	struct index *index = made_index(NULL);
	struct fail why = {0};

	(void)state;
	check_shown(index);
	made_add(index, &films[0], "alpha");
	made_add(index, &films[1], "beta");
	check_shown(index);
	assert_int_equal(index_compact(index, LATER, &why), 0);
	check_shown(index);
	/* nothing is left of one answer in the next */
	made_check_by_films(index);
	index_free(index);
	for (int i = 0; i < 2; i++)
		made_film_free(&films[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
