// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <string.h>

#include "film/events.h"
#include "film_build.h"
#include "query/lanes.h"

#define US   1000ull
#define FROM FILM_BUILD_START

/* linux/unistd.h of x86-64 */
#define FUTEX 202

static struct film_build build;
static uint32_t first, second;

static void begin(void)
{
	build = (struct film_build){0};
	film_build_begin(&build, event_type(EVENT_THREADS)->name, "ns");
	first = film_build_thread(&build, 10, "web", 10, "web");
	second = film_build_thread(&build, 10, "web", 11, "worker");
}

/* In us: a turn that ran, waited for a lock, and was ready. */
static uint64_t put(uint32_t thread, uint64_t start, uint64_t ran, uint64_t waited, uint64_t ready)
{
	struct film_turn turn = {
		.end = FROM + (start + ran + waited + ready) * US,
		.ran = ran * US,
		.waited = waited * US,
		.ready = ready * US,
		.thread = thread,
		.call = FUTEX + 1,
		.state = waited ? FILM_WAIT_SLEEPS : FILM_WAIT_READY,
		.flags = start ? 0 : FILM_TURN_BEGINS,
	};

	film_turn(build.w, build.event, &turn);
	build.end = turn.end > build.end ? turn.end : build.end;
	return start + ran + waited + ready;
}

static void ask(struct lanes *lanes, struct film *film, uint64_t from, uint64_t to)
{
	const struct filter all = {0};
	struct fail why = {0};

	lanes->from = FROM + (uint64_t)film->info.wall_offset + from * US;
	lanes->to = FROM + (uint64_t)film->info.wall_offset + to * US;
	assert_int_equal(lanes_add(lanes, film, slices_event(film), "here", &all, FROM + from * US,
				   FROM + to * US, &why),
			 0);
	assert_int_equal(lanes_end(lanes), 0);
}

static const struct lane *lane_of(const struct lanes *lanes, uint32_t tid)
{
	vec_foreach (&lanes->all, lane)
		if (lane->tid == tid)
			return lane;
	fail_msg("there is no lane of thread %u", tid);
	return NULL;
}

/* Two lives of 1000 us: of short turns, and of long ones with a hole of 200 us. */
static struct film *film_of_two(void)
{
	uint64_t at = 0;

	begin();
	for (int i = 0; i < 100; i++)
		at = put(first, at, 2, 7, 1);
	put(second, 0, 300, 400, 0);
	put(second, 900, 100, 0, 0);
	return film_build_open(&build);
}

static void test_sums_are_the_range(void **state)
{
	static const struct {
		uint64_t from, to;
	} ranges[] = {{0, 1000}, {5, 995}, {333, 334}, {650, 950}, {0, 1}, {999, 1000}};
	struct film *film = film_of_two();

	(void)state;
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		uint64_t length = (ranges[i].to - ranges[i].from) * US, states = 0;
		struct lanes lanes = {.wants_states = true, .pixel = 40 * US, .steps = 3};

		ask(&lanes, film, ranges[i].from, ranges[i].to);
		assert_int_equal(lanes.all.count, 2);
		vec_foreach (&lanes.all, lane) {
			uint64_t sum = 0, runs = 0, slices = 0, counted = 0;

			for (unsigned int kind = 0; kind < SLICE_KINDS; kind++) {
				sum += lane->ns[kind];
				slices += lane->slices[kind];
			}
			vec_foreach (&lane->runs.all, run) {
				runs += run->end - run->start;
				counted += run->count;
				assert_true(run->dominant <= run->end - run->start);
			}
			assert_int_equal(sum, length);
			assert_int_equal(runs, length);
			assert_int_equal(counted, slices);
		}
		for (unsigned int kind = 0; kind < SLICE_KINDS; kind++)
			states += lanes.states[kind].sum;
		assert_int_equal(states, 2 * length);
		lanes_free(&lanes);
	}
	film_free(film);
}

static void test_states_and_load(void **state)
{
	struct film *film = film_of_two();
	struct lanes lanes = {.wants_states = true, .steps = 2};
	const struct lane_state *lock = &lanes.states[SLICE_WAIT + WAIT_LOCK];

	(void)state;
	ask(&lanes, film, 0, 1000);
	assert_int_equal(lock->count, 101);
	assert_int_equal(lock->sum, (700 + 400) * US);
	assert_int_equal(lock->longest, 400 * US);
	assert_in_range(latency_quantile(&lock->lengths, 500), 6800, 7200);
	assert_int_equal(lane_of(&lanes, 11)->ns[SLICE_HOLE], 200 * US);
	assert_string_equal(lane_of(&lanes, 11)->comm, "worker");
	assert_string_equal(lane_of(&lanes, 11)->host, "here");
	/* of each half: 100 us of the first; 300 and 100 of the second */
	assert_int_equal(lanes.running[0], (100 + 300) * US);
	assert_int_equal(lanes.running[1], (100 + 100) * US);
	assert_int_equal(lanes.ready[0], 50 * US);
	lanes_free(&lanes);
	film_free(film);
}

static void test_chosen_lanes(void **state)
{
	static const struct lane_id of[] = {{10, 11}, {11, 10}};
	struct film *film = film_of_two();
	struct lanes lanes = {.of = of, .of_count = 2};

	(void)state;
	ask(&lanes, film, 0, 1000);
	assert_int_equal(lanes.all.count, 1);
	assert_int_equal(lanes.all.at[0].tid, 11);
	lanes_free(&lanes);
	film_free(film);
}

/* What is a pixel or longer stands alone; what is shorter is merged, and nothing is dropped. */
static void test_runs(void **state)
{
	struct film *film = film_of_two();
	struct lanes lanes = {.pixel = 40 * US};
	const struct lane *lane;

	(void)state;
	ask(&lanes, film, 0, 1000);
	lane = lane_of(&lanes, 10);
	assert_in_range(lane->runs.all.count, 25, 50);
	vec_foreach (&lane->runs.all, run) {
		assert_int_equal(run->kind, SLICE_WAIT + WAIT_LOCK);
		assert_in_range(run->end - run->start, 1, 40 * US);
		assert_in_range(run->count, 1, 13);
	}
	lane = lane_of(&lanes, 11);
	assert_int_equal(lane->runs.all.count, 4);
	assert_int_equal(lane->runs.all.at[0].kind, SLICE_ON_CPU);
	assert_int_equal(lane->runs.all.at[2].kind, SLICE_HOLE);
	assert_int_equal(lane->runs.all.at[2].dominant, 200 * US);
	lanes_free(&lanes);
	/* each of its own, where a pixel is a ns */
	lanes = (struct lanes){.pixel = 1};
	ask(&lanes, film, 0, 1000);
	assert_int_equal(lane_of(&lanes, 10)->runs.all.count, 300);
	lanes_free(&lanes);
	film_free(film);
}

/* Processes by what their threads ran together, whichever thread ran longest. */
static void test_order(void **state)
{
	static const uint32_t expected[] = {12, 11, 10, 20};
	struct lanes lanes = {0};
	const struct lane **order;
	struct film *film;
	uint32_t third, other;

	(void)state;
	begin();
	third = film_build_thread(&build, 10, "web", 12, "third");
	other = film_build_thread(&build, 20, "other", 20, "other");
	put(first, 0, 100, 800, 0);
	put(second, 0, 200, 700, 0);
	put(third, 0, 300, 600, 0);
	put(other, 0, 500, 400, 0);
	film = film_build_open(&build);
	ask(&lanes, film, 0, 900);
	order = lanes_in_order(&lanes);
	assert_non_null(order);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(order[i]->tid, expected[i]);
	free(order);
	lanes_free(&lanes);
	film_free(film);
}

/*
 * 100 stays of 2 us, merged by pixel, and two long ones, which stand alone. (The film has both
 * threads on one CPU at the same time, which no machine does.)
 */
static void test_cpus(void **state)
{
	struct film *film = film_of_two();
	struct lanes lanes = {.cpus.pixel = 40 * US};
	uint64_t ran = 0, stays = 0, alone = 0;

	(void)state;
	ask(&lanes, film, 0, 1000);
	assert_false(lanes.cpus.is_cut);
	vec_foreach (&lanes.cpus.runs, run) {
		const struct lane *lane = &lanes.all.at[run->thread];

		assert_int_equal(run->cpu, 0);
		stays += run->count;
		if (run->count == 1) {
			assert_int_equal(lane->tid, 11);
			assert_int_equal(run->dominant, run->end - run->start);
			alone += run->dominant;
			continue;
		}
		assert_int_equal(lane->tid, 10);
		assert_true(run->end - run->start <= 40 * US);
		ran += run->dominant;
	}
	assert_int_equal(alone, 400 * US);
	assert_int_equal(ran, 200 * US);
	assert_int_equal(stays, 102);
	lanes_free(&lanes);
	film_free(film);
}

/* Of a pixel that several threads share, the run is of the one that ran longest. */
static void test_cpu_of_several(void **state)
{
	struct lane_cpus cpus = {.from = 1000, .pixel = 100};
	const struct cpu_run *run;

	(void)state;
	/* in any order, as threads are walked */
	assert_true(lane_cpus_add(&cpus, 3, 7, 1260, 1290));
	assert_true(lane_cpus_add(&cpus, 3, 5, 1210, 1250));
	assert_true(lane_cpus_add(&cpus, 3, 7, 1200, 1205));
	assert_true(lane_cpus_add(&cpus, 1, 5, 1000, 1100));
	assert_true(lane_cpus_add(&cpus, 3, 7, 1295, 1390));
	assert_true(lane_cpus_end(&cpus));
	assert_int_equal(cpus.runs.count, 2);
	assert_int_equal(cpus.runs.at[0].cpu, 1);
	run = &cpus.runs.at[1];
	assert_int_equal(run->cpu, 3);
	assert_int_equal(run->start, 1200);
	assert_int_equal(run->end, 1390);
	assert_int_equal(run->count, 4);
	assert_int_equal(run->thread, 7);
	assert_int_equal(run->dominant, 130);
	lane_cpus_free(&cpus);
}

/* What has no room is said, and what is known is counted on. */
static void test_too_many_on_cpus(void **state)
{
	struct lane_cpus cpus = {.from = 0, .pixel = 10};

	(void)state;
	for (uint64_t i = 0; i <= LANE_CPUS_RUNS_MAX; i++)
		assert_true(lane_cpus_add(&cpus, 0, 1, i * 10, i * 10 + 10));
	assert_true(cpus.is_cut);
	assert_true(lane_cpus_end(&cpus));
	assert_int_equal(cpus.runs.count, LANE_CPUS_RUNS_MAX);
	lane_cpus_free(&cpus);
}

static void check_slice(struct film *film, uint64_t at, unsigned int kind, uint64_t start,
			uint64_t end)
{
	const struct lane_id lane = {10, 11};
	struct lane_slice found;
	struct fail why = {0};

	assert_int_equal(lanes_slice_at(film, slices_event(film), &lane, FROM + at, &found, &why),
			 0);
	assert_true(found.is_found);
	assert_int_equal(found.slice.kind, kind);
	assert_int_equal(found.slice.start, FROM + start * US);
	assert_int_equal(found.slice.end, FROM + end * US);
}

static void test_slice_at(void **state)
{
	struct film *film = film_of_two();
	const struct lane_id none = {10, 99};
	struct lane_slice found;
	struct fail why = {0};

	(void)state;
	check_slice(film, 0, SLICE_ON_CPU, 0, 300);
	check_slice(film, 300 * US - 1, SLICE_ON_CPU, 0, 300);
	check_slice(film, 300 * US, SLICE_WAIT + WAIT_LOCK, 300, 700);
	check_slice(film, 800 * US, SLICE_HOLE, 700, 900);
	assert_int_equal(lanes_slice_at(film, slices_event(film), &none, FROM, &found, &why), 0);
	assert_false(found.is_found);
	film_free(film);
}

/* A wait that is longer than any look around the moment at first. */
static void test_long_slice(void **state)
{
	struct film *film;

	(void)state;
	begin();
	put(second, 0, 10, 7000000, 5);
	film = film_build_open(&build);
	check_slice(film, 3000000 * US, SLICE_WAIT + WAIT_LOCK, 10, 7000010);
	film_free(film);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums_are_the_range),
		cmocka_unit_test(test_states_and_load),
		cmocka_unit_test(test_chosen_lanes),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_cpu_of_several),
		cmocka_unit_test(test_too_many_on_cpus),
		cmocka_unit_test(test_slice_at),
		cmocka_unit_test(test_long_slice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
