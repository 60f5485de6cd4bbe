// SPDX-License-Identifier: Apache-2.0
/* Kernels and copies that are reported in sums: those of a buffer of records, by what they are of. */
#include "gpu.h"

/* How many places one has in the table: a framework has hundreds of kernels. */
#define PLACES 8

/* There is one such place: it must not be copied into its callers. */
__attribute__((noinline)) void gpu_report_rest(const struct gpu_ran *sum, uint64_t count)
{
	register uint64_t r8 __asm__("r8") = (uint64_t)sum->site << 32 | sum->number;
	register uint64_t r9 __asm__("r9") = sum->bytes;

	__asm__ volatile(".globl stackcam_gpu_rest\n\t"
			 ".hidden stackcam_gpu_rest\n"
			 "stackcam_gpu_rest: nop"
			 :
			 : "D"(sum->work), "S"(sum->ns), "d"(count), "c"(sum->end), "r"(r8), "r"(r9)
			 : "memory");
}

static void report(struct gpu_sum *sum)
{
	gpu_report_rest(&sum->of, sum->count);
	sum->of.ns = sum->count = sum->of.bytes = 0;
}

void gpu_sums_begin(struct gpu_sums *sums)
{
	for (size_t i = 0; i < GPU_SUMS; i++)
		sums->at[i].count = sums->at[i].of.ns = sums->at[i].of.bytes = 0;
}

static bool is_of(const struct gpu_ran *sum, const struct gpu_ran *ran)
{
	return sum->work == ran->work && sum->number == ran->number && sum->site == ran->site;
}

/* The sum of what it is of, or the place for one: another one there is reported first. */
static struct gpu_sum *sum_of(struct gpu_sums *sums, const struct gpu_ran *ran)
{
	uint64_t first = ran->work / 2 + ran->number + ran->site;
	struct gpu_sum *sum = &sums->at[first % GPU_SUMS];

	for (uint64_t i = 0; i < PLACES; i++) {
		struct gpu_sum *next = &sums->at[(first + i) % GPU_SUMS];

		if (!next->count || is_of(&next->of, ran))
			return next;
	}
	report(sum);
	return sum;
}

void gpu_sums_add(struct gpu_sums *sums, const struct gpu_ran *ran)
{
	struct gpu_sum *sum = sum_of(sums, ran);

	sum->of.work = ran->work;
	sum->of.number = ran->number;
	sum->of.site = ran->site;
	sum->of.ns += ran->ns;
	sum->of.end = ran->end;
	sum->of.bytes += ran->bytes;
	sum->count++;
}

void gpu_sums_report(struct gpu_sums *sums)
{
	for (size_t i = 0; i < GPU_SUMS; i++)
		if (sums->at[i].count)
			report(&sums->at[i]);
}
