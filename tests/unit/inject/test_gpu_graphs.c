// SPDX-License-Identifier: Apache-2.0
/* Nodes of graphs in libstackcam-gpu.so: their sites, sums of what they ran, and bounds. */
#include "../prelude.h"

#include <pthread.h>
#include <string.h>

/* it has a struct of its own */
#define nanosleep gpu_nanosleep
#include "../../../inject/gpu.h"
#undef nanosleep

#define SECOND	1000000000u
#define MADE	13
#define ENDS	14
#define COPIED	20
#define NODES	65536u
#define AT_ONCE 32768u

static uint64_t now_ns = SECOND;
static uint64_t lost, unsampled, refused, enabled;
static struct {
	uint64_t ns, count, known_ns;
	uint32_t last_site;
} told;

uint64_t gpu_now(void)
{
	return now_ns;
}

uint64_t gpu_budget_begin(void)
{
	return 0;
}

void gpu_budget_end(uint64_t begin)
{
	(void)begin;
}

void gpu_report_state(enum gpu_state state, uint64_t number)
{
	lost += state == GPU_STATE_NODES_LOST ? number : 0;
	unsampled += state == GPU_STATE_NODES_UNSAMPLED ? number : 0;
	refused += state == GPU_STATE_NO_GRAPHS ? number + 1 : 0;
}

void gpu_report_rest(const struct gpu_ran *sum, uint64_t count)
{
	__atomic_fetch_add(&told.ns, sum->ns, __ATOMIC_RELAXED);
	__atomic_fetch_add(&told.count, count, __ATOMIC_RELAXED);
	if (sum->site > GPU_SITE_UNKNOWN)
		__atomic_fetch_add(&told.known_ns, sum->ns, __ATOMIC_RELAXED);
	told.last_site = sum->site;
}

static int id_of_node(void *node, uint64_t *id)
{
	*id = (uintptr_t)node;
	return 0;
}

bool gpu_find_functions(void *library, const char *const *of, void **functions, size_t count)
{
	assert_string_equal(of[0], "cuptiGetGraphNodeId");
	assert_int_equal(count, 1);
	*functions = (void *)id_of_node;
	return library;
}

static int enable(uint32_t on, void *subscriber, int domain, uint32_t id)
{
	(void)subscriber, (void)id;
	enabled += on && domain == GPU_DOMAIN_RESOURCE;
	return domain == GPU_DOMAIN_RESOURCE && refused > 1 ? 35 : 0;
}

static void happens(uint32_t callback, uint64_t node, uint64_t original)
{
	uint64_t described[7] = {0, 0, node, original}, data[3] = {0, 0, (uintptr_t)described};

	assert_true(gpu_graphs_resource(callback, (const uint8_t *)data));
}

static void runs(uint64_t node, uint64_t ns)
{
	const struct gpu_ran ran = {.work = 3, .ns = ns, .end = now_ns};

	if (!gpu_graphs_add(&ran, node))
		gpu_report_rest(&ran, 1);
}

static void copies_have_the_site_of_their_original(void **state)
{
	uint32_t site;
	struct gpu_ran other = {.work = 5, .ns = 1};

	(void)state;
	assert_false(gpu_graphs_resource(1, NULL));
	happens(MADE, 1, 0);
	happens(MADE, 2, 0);
	site = gpu_graphs_site(1);
	assert_true(site > GPU_SITE_UNKNOWN && gpu_graphs_site(2) > site);
	/* they are made inside of the call, and said to be copies then */
	gpu_graphs_copies(true);
	happens(MADE, 3, 0);
	assert_int_equal(gpu_graphs_site(3), GPU_SITE_UNKNOWN);
	happens(COPIED, 3, 1);
	/* of a node that was made before */
	happens(COPIED, 4, 900);
	gpu_graphs_copies(false);
	happens(COPIED, 5, 3);
	assert_int_equal(gpu_graphs_site(3), site);
	assert_int_equal(gpu_graphs_site(5), site);
	assert_int_equal(gpu_graphs_site(4), GPU_SITE_UNKNOWN);
	assert_int_equal(gpu_graphs_site(0), GPU_SITE_UNKNOWN);
	happens(MADE, 6, 0);
	assert_true(gpu_graphs_site(6) > site);
	/* records come after the end of their node */
	happens(ENDS, 5, 0);
	assert_int_equal(gpu_graphs_site(5), site);
	runs(5, 10);
	runs(5, 20);
	assert_false(gpu_graphs_add(&other, 5));
	gpu_graphs_report(true);
	assert_int_equal(told.ns, 30);
	assert_int_equal(told.count, 2);
	assert_int_equal(told.last_site, site);
	/* once a second, unless it must be now */
	runs(5, 10);
	gpu_graphs_report(false);
	assert_int_equal(told.ns, 30);
	now_ns += 2 * SECOND;
	gpu_graphs_report(false);
	assert_int_equal(told.ns, 40);
}

static void stacks_are_limited(void **state)
{
	(void)state;
	now_ns += 1000ull * SECOND;
	happens(MADE, 7, 0);
	for (uint64_t i = 0; i < AT_ONCE + 100; i++)
		happens(MADE, 1000 + i % 100, 0);
	assert_int_equal(gpu_graphs_site(1000), GPU_SITE_UNKNOWN);
	gpu_graphs_report(true);
	assert_in_range(unsampled, 100, 101);
	now_ns += 2 * SECOND;
	happens(MADE, 1200, 0);
	happens(MADE, 1201, 0);
	assert_true(gpu_graphs_site(1201) > GPU_SITE_UNKNOWN);
	gpu_graphs_report(true);
	assert_in_range(unsampled, 100, 101);
	assert_int_equal(lost, 0);
}

static void what_has_no_room_is_counted(void **state)
{
	uint64_t known = 0, first = 1 << 20, count = 3 * NODES, before;

	(void)state;
	/* those that are gone make room */
	for (uint64_t i = 0; i < count; i++) {
		happens(COPIED, first + i, 1);
		happens(ENDS, first + i, 0);
	}
	gpu_graphs_report(true);
	assert_int_equal(lost, 0);
	memset(&told, 0, sizeof(told));
	first += count;
	for (uint64_t i = 0; i < count; i++) {
		/* of the one before, which is there for sure */
		happens(COPIED, first + i, i ? first + i - 1 : 6);
		runs(first + i, 7);
		before = told.count;
	}
	/* one that makes room had its sum reported */
	assert_true(before > 0);
	gpu_graphs_report(true);
	assert_int_equal(told.count, count);
	assert_int_equal(told.ns, 7 * count);
	for (uint64_t i = 0; i < count; i++)
		known += gpu_graphs_site(first + i) > GPU_SITE_UNKNOWN;
	assert_true(known <= NODES && known > NODES / 2);
	/* others of before were lost, too */
	assert_true(lost >= count - known && lost <= count - known + 1300);
}

/* Each thread has nodes of its own, and all share those of the first. */
static void *run_thread(void *argument)
{
	uint64_t first = (uintptr_t)argument;

	for (uint64_t i = 0; i < 20000; i++) {
		happens(COPIED, first + i, 6);
		runs(first + i, 2);
		runs((1 << 24) + i % 64, 1);
		if (i % 1000 == 0)
			gpu_graphs_report(true);
	}
	return NULL;
}

static void sums_are_kept_beside_threads(void **state)
{
	pthread_t threads[4];

	(void)state;
	memset(&told, 0, sizeof(told));
	for (uint64_t i = 0; i < 64; i++)
		happens(COPIED, (1 << 24) + i, 6);
	for (uintptr_t i = 0; i < 4; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, run_thread, (void *)((2 + i) << 24)), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	gpu_graphs_report(true);
	assert_int_equal(told.count, 4 * 40000);
	assert_int_equal(told.ns, 4 * 60000);
}

static void a_library_may_refuse(void **state)
{
	(void)state;
	gpu_graphs_start((void *)1, enable, NULL);
	assert_int_equal(refused, 0);
	assert_int_equal(enabled, 3);
	gpu_graphs_start(NULL, enable, NULL);
	assert_int_equal(refused, 1);
	refused = 2;
	gpu_graphs_start((void *)1, enable, NULL);
	assert_int_equal(refused, 2 + 36);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_library_may_refuse),
		cmocka_unit_test(copies_have_the_site_of_their_original),
		cmocka_unit_test(stacks_are_limited),
		cmocka_unit_test(what_has_no_room_is_counted),
		cmocka_unit_test(sums_are_kept_beside_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
