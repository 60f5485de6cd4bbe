// SPDX-License-Identifier: Apache-2.0
/*
 * Which calls are samples, and what the library itself may take (GPU_BUDGET_VARIABLE). It measures the CPU time of what it does
 * at samples of calls, with records, and with samples of instructions. Where that is more than the
 * budget in a period, there are half as many samples of calls from then on, or half as many windows
 * of instructions, by turns; where it is much less, more again in the reverse order. Kernels and
 * copies stay complete: what records of them take cannot be made less.
 *
 * Calls that are no samples cost an addition each, which is not measured; nor is what the profiling
 * library takes.
 */
#include "gpu.h"

extern char *getenv(const char *name) __attribute__((weak));

#define PERIOD_NS	   100000000u
#define CLOCK_THREAD_TIME_ 3 /* CLOCK_THREAD_CPUTIME_ID */
#define NS_PER_MS	   1000000u

/* Samples of a window of time: where there are more, only each n-th call on average is one. */
#define WINDOW_NS   100000000u
#define WINDOW_MOST 100u

/* How often samples and windows are halved, together. */
#define STEPS_MAX 12u

static uint64_t percent; /* 0: no budget */
static uint64_t since, own_ns;
static uint32_t steps;
static bool has_windows;

static uint64_t thread_time(void)
{
	return gpu_clock(CLOCK_THREAD_TIME_);
}

uint64_t gpu_budget_begin(void)
{
	return percent ? thread_time() : 0;
}

/* One thread of those that come at the end of a period. */
static void end_period(uint64_t time, uint64_t elapsed)
{
	uint64_t own = __atomic_exchange_n(&own_ns, 0, __ATOMIC_RELAXED);
	uint32_t before = __atomic_load_n(&steps, __ATOMIC_RELAXED), step = has_windows ? 1 : 2;
	uint32_t after = before;

	__atomic_store_n(&since, time, __ATOMIC_RELAXED);
	if (own * 100 > percent * elapsed && before < STEPS_MAX)
		after += step;
	else if (own * 400 < percent * elapsed && before)
		after -= step;
	else if (own * 100 > percent * elapsed)
		gpu_report_state(GPU_STATE_OVER_BUDGET, elapsed / NS_PER_MS);
	__atomic_store_n(&steps, after, __ATOMIC_RELAXED);
	if (before)
		gpu_report_state(GPU_STATE_FEWER, elapsed / NS_PER_MS);
}

void gpu_budget_end(uint64_t begin)
{
	uint64_t time, last;
	static int turn;

	if (!percent)
		return;
	__atomic_fetch_add(&own_ns, thread_time() - begin, __ATOMIC_RELAXED);
	time = gpu_now();
	last = __atomic_load_n(&since, __ATOMIC_RELAXED);
	if (time - last < PERIOD_NS || __atomic_exchange_n(&turn, 1, __ATOMIC_ACQUIRE))
		return;
	last = __atomic_load_n(&since, __ATOMIC_RELAXED);
	if (time > last && time - last >= PERIOD_NS)
		end_period(time, time - last);
	__atomic_store_n(&turn, 0, __ATOMIC_RELEASE);
}

/* Samples are halved first, and with windows only at each second step. */
static uint32_t samples_most(void)
{
	uint32_t left = WINDOW_MOST >> (__atomic_load_n(&steps, __ATOMIC_RELAXED) + 1) / 2;

	return left ? left : 1;
}

void gpu_sampler_plan(struct gpu_sampler *sampler, uint64_t count)
{
	uint64_t weight = 1 + __atomic_load_n(&sampler->weight, __ATOMIC_RELAXED);
	uint64_t most = __atomic_add_fetch(&sampler->taken, weight, __ATOMIC_RELAXED);
	uint64_t time = gpu_now(), random = time;
	uint64_t elapsed = time - __atomic_load_n(&sampler->window, __ATOMIC_RELAXED);
	uint64_t mean = __atomic_load_n(&sampler->every, __ATOMIC_RELAXED);
	uint32_t limit = samples_most();

	if (most >= limit && elapsed <= WINDOW_NS && mean < 1u << 20)
		mean *= 2;
	else if (elapsed > WINDOW_NS && 2 * most * WINDOW_NS < limit * elapsed && mean > 1)
		mean /= 2;
	if (elapsed > WINDOW_NS || most >= limit) {
		__atomic_store_n(&sampler->every, mean, __ATOMIC_RELAXED);
		__atomic_store_n(&sampler->window, time, __ATOMIC_RELAXED);
		__atomic_store_n(&sampler->taken, 0, __ATOMIC_RELAXED);
	}
	/* the finaliser of splitmix64: no rhythm of a program is in step with it */
	random = (random ^ random >> 30) * 0xbf58476d1ce4e5b9u;
	random = (random ^ random >> 27) * 0x94d049bb133111ebu;
	__atomic_store_n(&sampler->due, count + 1 + (random >> 33) % (2 * mean - 1),
			 __ATOMIC_RELAXED);
}

uint64_t gpu_budget_pause(uint64_t usual)
{
	return usual << __atomic_load_n(&steps, __ATOMIC_RELAXED) / 2;
}

void gpu_budget_start(bool instructions)
{
	const char *digits = getenv ? getenv(GPU_BUDGET_VARIABLE) : NULL;

	percent = gpu_is_late() ? gpu_injection.budget : 0;
	if (gpu_is_late())
		digits = NULL;
	for (; digits && *digits >= '0' && *digits <= '9' && percent <= 100; digits++)
		percent = percent * 10 + (uint64_t)(*digits - '0');
	has_windows = instructions;
	since = gpu_now();
}
