// SPDX-License-Identifier: Apache-2.0
/* The budget of libstackcam-gpu.so, by clocks of the test: what it costs, and what it leaves. */
#include "../prelude.h"

#include <stdlib.h>

#include "../../../inject/gpu.h"

#define SECOND	1000000000u
#define CALL_NS 1000u
#define RECORDS 1000u /* calls for each buffer of records */

static uint64_t now_ns = SECOND, cpu_ns;
static uint64_t fewer_ms, over_ms;

struct gpu_injection gpu_injection;

bool gpu_is_late(void)
{
	return false;
}

uint64_t gpu_now(void)
{
	return now_ns;
}

uint64_t gpu_clock(int clock)
{
	(void)clock;
	return cpu_ns;
}

void gpu_report_state(enum gpu_state state, uint64_t number)
{
	fewer_ms += state == GPU_STATE_FEWER ? number : 0;
	over_ms += state == GPU_STATE_OVER_BUDGET ? number : 0;
}

static void work(uint64_t ns)
{
	uint64_t begin = gpu_budget_begin();

	now_ns += ns;
	cpu_ns += ns;
	gpu_budget_end(begin);
}

struct run {
	uint64_t samples, own_ns, ns, fewer_ms, over_ms;
};

/* Calls for some seconds, of which the samples and the records cost that much. */
static struct run run(struct gpu_sampler *sampler, uint64_t seconds, uint64_t sample_ns,
		      uint64_t records_ns)
{
	struct run run = {.ns = now_ns, .own_ns = cpu_ns};

	fewer_ms = over_ms = 0;
	while (now_ns - run.ns < seconds * SECOND) {
		uint64_t count = sampler->calls++;

		now_ns += CALL_NS;
		if (count % RECORDS == 0)
			work(records_ns);
		if (count < sampler->due)
			continue;
		run.samples++;
		gpu_sampler_plan(sampler, count);
		work(sample_ns);
	}
	run.ns = now_ns - run.ns;
	run.own_ns = cpu_ns - run.own_ns;
	run.fewer_ms = fewer_ms;
	run.over_ms = over_ms;
	return run;
}

static void samples_become_fewer_and_more_again(void **state)
{
	struct gpu_sampler sampler = {.every = 1};
	struct run whole, begin, kept, again, over;

	(void)state;
	unsetenv(GPU_BUDGET_VARIABLE);
	gpu_budget_start(false);
	run(&sampler, 5, 50000, 0);
	whole = run(&sampler, 10, 50000, 0);
	/* about a hundred in a tenth of a second */
	assert_in_range(whole.samples, 5000, 15000);
	assert_int_equal(whole.fewer_ms + whole.over_ms, 0);
	/* a hundredth of a CPU, which these samples exceed by far */
	setenv(GPU_BUDGET_VARIABLE, "1", 1);
	gpu_budget_start(false);
	begin = run(&sampler, 5, 50000, 0);
	assert_true(begin.fewer_ms > 0);
	kept = run(&sampler, 10, 50000, 0);
	assert_in_range(kept.samples, 1, whole.samples / 4);
	assert_true(kept.own_ns * 100 <= kept.ns);
	assert_in_range(kept.fewer_ms, 9000, 11000);
	assert_int_equal(kept.over_ms, 0);
	/* samples that cost little: as many as without a budget */
	run(&sampler, 5, 100, 0);
	again = run(&sampler, 10, 100, 0);
	assert_in_range(again.samples, whole.samples / 2, 2 * whole.samples);
	assert_int_equal(again.fewer_ms, 0);
	/* what records alone take is above it: that is reported, and a few samples remain */
	run(&sampler, 5, 100, CALL_NS * RECORDS / 20);
	over = run(&sampler, 10, 100, CALL_NS * RECORDS / 20);
	assert_in_range(over.samples, 1, again.samples / 16);
	assert_in_range(over.over_ms, 9000, 11000);
	assert_in_range(over.fewer_ms, 9000, 11000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_become_fewer_and_more_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
