// SPDX-License-Identifier: Apache-2.0
/* A table is found again by what its file is, once, and those that are kept have a limit. */
#include "../prelude.h"

#include <stdlib.h>

#include "resolve/kept_tables.h"
#include "unwind/pool.h"

#define ROWS 1000

static void *make_chunk(void *context, uint32_t n, struct fail *why)
{
	(void)context;
	(void)n;
	(void)why;
	return calloc(1, UNWIND_CHUNK_BYTES);
}

static void drop_chunk(void *context, uint32_t n, void *chunk)
{
	(void)context;
	(void)n;
	free(chunk);
}

static struct unwind_pool *make_pool(void)
{
	static const struct unwind_pool_memory memory = {NULL, make_chunk, drop_chunk};
	struct unwind_pool *pool;

	assert_int_equal(unwind_pool_new(&memory, 8ull << 20, &pool), 0);
	return pool;
}

static uint64_t used(struct unwind_pool *pool)
{
	uint64_t chunks, bytes;

	unwind_pool_settle(pool);
	unwind_pool_usage(pool, &chunks, &bytes);
	return bytes;
}

/* Of one page. */
static struct image_table make_table(struct unwind_pool *pool, uint64_t jit_debug)
{
	struct image_table table = {.kind = UNWIND_MAPPING_TABLE, .jit_debug = jit_debug};
	uint32_t words = (uint32_t)(sizeof(struct unwind_page) / sizeof(uint32_t));
	struct unwind_page *page;

	table.table = (struct unwind_table){
		.directory = unwind_pool_get(pool, words), .pages = 1, .rows = ROWS};
	assert_int_not_equal(table.table.directory, 0);
	page = unwind_pool_at(pool, table.table.directory);
	page->count = ROWS;
	page->rows = unwind_pool_get(pool, ROWS);
	assert_int_not_equal(page->rows, 0);
	return table;
}

static struct image_identity file(uint64_t inode, uint64_t changed)
{
	return (struct image_identity){
		.device = 1, .inode = inode, .size = 100, .changed = changed, .modified = 5};
}

static void put(struct kept_tables *kept, struct unwind_pool *pool, uint64_t inode, uint64_t most)
{
	struct image_identity of = file(inode, 7);
	struct image_table table = make_table(pool, inode);

	kept_tables_put(kept, &of, &table, most, pool);
}

static bool take(struct kept_tables *kept, uint64_t inode, uint64_t changed,
		 struct image_table *table)
{
	struct image_identity of = file(inode, changed);

	return kept_tables_steal(kept, &of, table);
}

static void is_found_by_its_file(void **state)
{
	struct unwind_pool *pool = make_pool();
	struct kept_tables kept = {0};
	struct image_table table;

	(void)state;
	for (uint64_t inode = 1; inode <= 3; inode++)
		put(&kept, pool, inode, UINT64_MAX);
	/* it was written to since, or is another file in the same place */
	assert_false(take(&kept, 2, 8, &table));
	assert_true(take(&kept, 2, 7, &table));
	assert_int_equal(table.jit_debug, 2);
	assert_int_equal(table.kind, UNWIND_MAPPING_TABLE);
	assert_false(take(&kept, 2, 7, &(struct image_table){0}));
	unwind_table_drop(&table.table, pool);
	assert_true(take(&kept, 3, 7, &table));
	unwind_table_drop(&table.table, pool);
	assert_true(used(pool) > 0);
	kept_tables_drop(&kept, pool);
	assert_int_equal(used(pool), 0);
	assert_int_equal(kept.bytes, 0);
	unwind_pool_free(pool);
}

static void the_oldest_make_room(void **state)
{
	struct unwind_pool *pool = make_pool();
	struct kept_tables kept = {0};
	struct image_table table;
	uint64_t each;

	(void)state;
	put(&kept, pool, 1, UINT64_MAX);
	each = kept.bytes;
	assert_true(each >= ROWS * sizeof(struct unwind_row));
	for (uint64_t inode = 2; inode <= 9; inode++)
		put(&kept, pool, inode, 3 * each);
	assert_int_equal(kept.bytes, 3 * each);
	assert_false(take(&kept, 6, 7, &table));
	for (uint64_t inode = 7; inode <= 9; inode++) {
		assert_true(take(&kept, inode, 7, &table));
		unwind_table_drop(&table.table, pool);
	}
	/* one that is too large by itself is not kept either */
	put(&kept, pool, 10, each - 1);
	assert_false(take(&kept, 10, 7, &table));
	assert_int_equal(used(pool), 0);
	kept_tables_drop(&kept, pool);
	unwind_pool_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_found_by_its_file),
		cmocka_unit_test(the_oldest_make_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
