// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "bpf/unwind/abi.h"
#include "unwind/pool.h"

#define MIB (1u << 20)

/* Memory that knows which chunks exist, and can refuse. */
struct memory {
	void *chunks[UNWIND_CHUNKS_MAX];
	unsigned int made, dropped;
	bool refuse;
};

static void *make(void *context, uint32_t n, struct fail *why)
{
	struct memory *m = context;

	(void)why;
	if (m->refuse)
		return NULL;
	assert_null(m->chunks[n]);
	m->made++;
	return m->chunks[n] = calloc(1, UNWIND_CHUNK_BYTES);
}

static void drop(void *context, uint32_t n, void *chunk)
{
	struct memory *m = context;

	assert_ptr_equal(m->chunks[n], chunk);
	m->chunks[n] = NULL;
	m->dropped++;
	free(chunk);
}

static struct unwind_pool *new_pool(struct memory *m, uint64_t limit)
{
	const struct unwind_pool_memory memory = {m, make, drop};
	struct unwind_pool *pool;

	assert_int_equal(unwind_pool_new(&memory, limit, &pool), 0);
	return pool;
}

static void test_limits(void **state)
{
	struct memory m = {0};
	struct unwind_pool *pool = new_pool(&m, 2 * MIB);
	uint32_t a, b;
	uint64_t chunks, used;

	(void)state;
	assert_int_equal(unwind_pool_get(pool, 0), 0);
	assert_int_equal(unwind_pool_get(pool, UNWIND_CHUNK_WORDS + 1), 0);
	assert_int_equal(unwind_pool_get(pool, UINT32_MAX), 0);
	a = unwind_pool_get(pool, 1);
	assert_int_not_equal(a, 0);
	/* a whole chunk does not fit into the first one, where reference 0 is kept back */
	b = unwind_pool_get(pool, UNWIND_CHUNK_WORDS);
	assert_int_equal(b, 1u << UNWIND_CHUNK_SHIFT);
	assert_int_equal(unwind_pool_get(pool, UNWIND_CHUNK_WORDS), 0);
	unwind_pool_usage(pool, &chunks, &used);
	assert_int_equal(chunks, 2 * MIB);
	assert_int_equal(used, MIB + 8);
	assert_null(unwind_pool_at(pool, 0));
	assert_null(unwind_pool_at(pool, 5u << UNWIND_CHUNK_SHIFT));
	assert_null(unwind_pool_at(pool, UINT32_MAX));
	assert_ptr_equal(unwind_pool_at(pool, b), m.chunks[1]);
	unwind_pool_free(pool);
	assert_int_equal(m.made, m.dropped);
}

static void test_settle(void **state)
{
	struct memory m = {0};
	struct unwind_pool *pool = new_pool(&m, MIB);
	uint32_t words = UNWIND_CHUNK_WORDS / 2 + 2, a;
	uint64_t chunks, used;

	(void)state;
	a = unwind_pool_get(pool, words);
	assert_int_not_equal(a, 0);
	assert_false(unwind_pool_unsettled(pool));
	unwind_pool_put(pool, a, words);
	assert_true(unwind_pool_unsettled(pool));
	/* someone may still be reading it */
	assert_int_equal(unwind_pool_get(pool, words), 0);
	assert_non_null(unwind_pool_at(pool, a));
	unwind_pool_settle(pool);
	assert_false(unwind_pool_unsettled(pool));
	assert_int_equal(m.dropped, 1);
	unwind_pool_usage(pool, &chunks, &used);
	assert_int_equal(chunks, 0);
	assert_int_equal(used, 0);
	assert_int_equal(unwind_pool_get(pool, words), a);
	/* none is nothing to give */
	unwind_pool_put(pool, 0, 0);
	assert_false(unwind_pool_unsettled(pool));
	unwind_pool_free(pool);
}

static void test_no_memory(void **state)
{
	struct memory m = {.refuse = true};
	struct unwind_pool *pool = new_pool(&m, 8 * MIB);

	(void)state;
	assert_int_equal(unwind_pool_get(pool, 10), 0);
	m.refuse = false;
	assert_int_not_equal(unwind_pool_get(pool, 10), 0);
	m.refuse = true;
	assert_int_not_equal(unwind_pool_get(pool, 10), 0);
	assert_int_equal(unwind_pool_get(pool, UNWIND_CHUNK_WORDS - 8), 0);
	unwind_pool_free(pool);
	assert_int_equal(m.made, 1);
	assert_int_equal(m.dropped, 1);
}

struct taken {
	uint32_t reference, words;
	bool given;
};

/* Each word holds its own reference, as long as its span is not settled. */
static void fill(struct unwind_pool *pool, const struct taken *t)
{
	uint32_t *at = unwind_pool_at(pool, t->reference), i;

	for (i = 0; i < t->words; i++)
		at[i] = t->reference;
}

static void check(struct unwind_pool *pool, const struct taken *t)
{
	const uint32_t *at = unwind_pool_at(pool, t->reference);
	uint32_t i;

	for (i = 0; i < t->words; i++)
		assert_int_equal(at[i], t->reference);
}

static uint32_t random_size(uint64_t r)
{
	if (r % 50 == 0)
		return (uint32_t)(r >> 8) % UNWIND_CHUNK_WORDS + 1;
	return (uint32_t)(r >> 8) % (r % 7 ? 700 : 20000) + 1;
}

/* Random taking, giving and settling: what is out is never handed out again or written over. */
static void test_model(void **state)
{
	struct memory m = {0};
	struct unwind_pool *pool = new_pool(&m, 12 * MIB);
	vec(struct taken) out = {0};
	uint64_t chunks, used, sum, refused = 0;
	uint32_t i;

	(void)state;
	for (i = 0; i < 30000; i++) {
		uint64_t r = hash_u64(i);
		bool grow = (i / 3000) % 2 == 0;

		if (r % 10 < (grow ? 7 : 4)) {
			struct taken t = {.words = random_size(hash_u64(r))};

			t.reference = unwind_pool_get(pool, t.words);
			if (!t.reference) {
				refused++;
				continue;
			}
			assert_int_equal(t.reference >> UNWIND_CHUNK_SHIFT,
					 (t.reference + t.words - 1) >> UNWIND_CHUNK_SHIFT);
			fill(pool, &t);
			assert_true(vec_push(&out, t));
		} else if (out.count) {
			struct taken *t = &out.at[hash_u64(r) % out.count];

			if (t->given)
				continue;
			check(pool, t);
			unwind_pool_put(pool, t->reference, t->words);
			t->given = true;
		}
		if (i % 100)
			continue;
		/* also what was given must stay as it was until now */
		sum = 0;
		vec_foreach (&out, t) {
			check(pool, t);
			sum += (t->words + 1) / 2 * 8;
		}
		unwind_pool_usage(pool, &chunks, &used);
		assert_int_equal(used, sum);
		assert_int_equal(chunks, (m.made - m.dropped) * (uint64_t)MIB);
		unwind_pool_settle(pool);
		for (size_t k = 0; k < out.count;) {
			if (out.at[k].given)
				out.at[k] = out.at[--out.count];
			else
				k++;
		}
	}
	assert_true(refused > 0);
	vec_foreach (&out, t) {
		check(pool, t);
		if (!t->given)
			unwind_pool_put(pool, t->reference, t->words);
	}
	unwind_pool_settle(pool);
	assert_int_equal(m.made, m.dropped);
	/* nothing is lost to cracks: the whole pool can be had in one piece again */
	assert_int_not_equal(unwind_pool_get(pool, UNWIND_CHUNK_WORDS - 2), 0);
	assert_int_not_equal(unwind_pool_get(pool, UNWIND_CHUNK_WORDS), 0);
	unwind_pool_free(pool);
	vec_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_settle),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
