// SPDX-License-Identifier: Apache-2.0
/*
 * Reports when each kernel and copy of a device ran. Each report is a hit of a probe, so it has
 * several of them: those of a buffer of records, GPU_WORKS at a time.
 */
#include "gpu.h"

extern char *getenv(const char *name) __attribute__((weak));

/* When the last buffer came. */
static uint64_t complete_before;

static __attribute__((noinline)) void report_works(const struct gpu_work *works)
{
	__asm__ volatile(".globl stackcam_gpu_works\n\t"
			 ".hidden stackcam_gpu_works\n"
			 "stackcam_gpu_works: nop"
			 :
			 : "D"(works)
			 : "memory");
}

bool gpu_lanes_wanted(void)
{
	const char *set = getenv ? getenv(GPU_LANES_VARIABLE) : NULL;

	complete_before = gpu_now();
	return gpu_is_late() ? gpu_injection.has_lanes : set && *set;
}

/* Before the context is the device, behind it the stream. */
void gpu_lanes_add(struct gpu_lanes *lanes, const uint8_t *record, const uint8_t *context,
		   uint64_t work, uint32_t number, uint32_t site)
{
	struct gpu_work *new = &lanes->works[lanes->count];

	__builtin_memcpy(&new->begin, record + RECORD_BEGIN, 16);
	/* when it ran is not known */
	if (!new->begin || new->end < new->begin)
		return;
	__builtin_memcpy(&new->device, context - 4, 4);
	__builtin_memcpy(&new->stream, context + 4, 4);
	new->work = work;
	new->bytes = 0;
	if (gpu_is_copy(work))
		__builtin_memcpy(&new->bytes, record + COPY_BYTES, 8);
	new->number = number;
	new->site = site;
	lanes->count++;
	if (lanes->count < GPU_WORKS)
		return;
	report_works(lanes->works);
	lanes->count = 0;
}

void gpu_lanes_end(struct gpu_lanes *lanes)
{
	const struct gpu_work none = {.end = 0};

	if (!lanes->count)
		return;
	for (uint32_t i = lanes->count; i < GPU_WORKS; i++)
		lanes->works[i] = none;
	report_works(lanes->works);
	lanes->count = 0;
}

void gpu_lanes_complete(uint64_t time, bool are_lost)
{
	uint64_t before = __atomic_exchange_n(&complete_before, time, __ATOMIC_RELAXED);

	if (are_lost)
		gpu_report_state(GPU_STATE_LOST_SINCE, before);
}
