// SPDX-License-Identifier: Apache-2.0
/*
 * Lists of code as JIT compilers keep them for debuggers, in a memory made by hand. The images are
 * copies of the vDSO: it is a whole one, with unwind information.
 */
#include "../prelude.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "plain_memory.h"
#include "unwind/jit_debug.h"

#define BASE	   0x10000ull
#define SIZE	   0x20000ull
#define DESCRIPTOR (BASE + 0x10)
#define ENTRY(n)   (BASE + 0x100 + (n)*32)
#define IMAGE	   (BASE + 0x4000)
#define VDSO_SIZE  8192

struct world {
	struct plain_memory memory;
	uint8_t bytes[SIZE];
	struct jit_debug jit, old;
};

static int read_world(void *context, void *to, size_t size, uint64_t address)
{
	const struct world *w = context;

	if (address < BASE || address > BASE + SIZE || size > BASE + SIZE - address)
		return -1;
	memcpy(to, w->bytes + (address - BASE), size);
	return 0;
}

static void put(struct world *w, uint64_t address, const void *what, size_t size)
{
	memcpy(w->bytes + (address - BASE), what, size);
}

static void put_entry(struct world *w, unsigned int n, uint64_t next, uint64_t image, uint64_t size)
{
	const uint64_t entry[4] = {next, 0, image, size};

	put(w, ENTRY(n), entry, sizeof(entry));
}

static void put_list(struct world *w, uint32_t version, uint64_t first)
{
	const uint32_t head[2] = {version, 1};

	put(w, DESCRIPTOR, head, sizeof(head));
	put(w, DESCRIPTOR + 16, &first, sizeof(first));
}

static bool look(struct world *w)
{
	bool changed = jit_debug_read(&w->jit, &w->old, read_world, w, DESCRIPTOR, w->memory.pool,
				      w->memory.rules);

	jit_debug_drop(&w->old, w->memory.pool);
	return changed;
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	*state = w;
	return w ? plain_memory_new(&w->memory, 4 << 20) : -1;
}

/* Nothing may be left in the pool. */
static int tear_down(void **state)
{
	struct world *w = *state;
	uint64_t bytes, used;

	jit_debug_drop(&w->jit, w->memory.pool);
	unwind_pool_settle(w->memory.pool);
	unwind_pool_usage(w->memory.pool, &bytes, &used);
	plain_memory_free(&w->memory);
	free(w);
	return used ? -1 : 0;
}

static void test_list(void **state)
{
	struct world *w = *state;
	const struct unwind_table *table;

	put_list(w, 1, 0);
	assert_false(look(w));
	assert_false(jit_debug_has_begun(&w->jit, read_world, w));
	put_list(w, 1, ENTRY(0));
	assert_true(jit_debug_has_begun(&w->jit, read_world, w));
	put_entry(w, 0, ENTRY(1), BASE + SIZE - 8, 4096); /* cannot be read */
	put_entry(w, 1, 0, IMAGE, VDSO_SIZE);
	put(w, IMAGE, (const void *)getauxval(AT_SYSINFO_EHDR), VDSO_SIZE);
	assert_true(look(w));
	assert_int_equal(w->jit.count, 1);
	assert_false(jit_debug_has_begun(&w->jit, read_world, w));
	table = jit_debug_table(&w->jit, 0, 4096);
	assert_ptr_equal(table, &w->jit.tables[0]);
	assert_true(table->fdes > 0);
	assert_null(jit_debug_table(&w->jit, 1ull << 40, (1ull << 40) + 4096));
	assert_false(look(w));
	assert_int_equal(w->jit.count, 1);
	put_list(w, 1, 0);
	assert_true(look(w));
	assert_int_equal(w->jit.count, 0);
}

static void test_hostile(void **state)
{
	struct world *w = *state;

	put_list(w, 2, ENTRY(0)); /* another version */
	put_entry(w, 0, ENTRY(0), IMAGE, VDSO_SIZE);
	put(w, IMAGE, (const void *)getauxval(AT_SYSINFO_EHDR), VDSO_SIZE);
	assert_false(look(w));
	put_list(w, 1, ENTRY(0)); /* its own successor */
	assert_true(look(w));
	assert_int_equal(w->jit.count, JIT_DEBUG_IMAGES_MAX);
	put_entry(w, 0, ENTRY(0), IMAGE, JIT_DEBUG_BYTES_MAX + 1);
	put_entry(w, 1, 3, IMAGE, 64); /* no image, and the next one cannot be read */
	put_list(w, 1, ENTRY(1));
	assert_true(look(w));
	assert_int_equal(w->jit.count, 0);
}

/* Each of them is too large: the list leads round, but the search ends. */
static void test_endless(void **state)
{
	struct world *w = *state;

	put_list(w, 1, ENTRY(0));
	put_entry(w, 0, ENTRY(0), IMAGE, JIT_DEBUG_BYTES_MAX + 1);
	assert_false(look(w));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_list, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_hostile, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_endless, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
