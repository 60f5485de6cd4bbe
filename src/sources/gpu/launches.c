// SPDX-License-Identifier: Apache-2.0
#include "sources/gpu/launches.h"

#include "base/vec.h"

/*
 * A launch of a graph has several kernels, and none is known to be the last one: those that come
 * later than this after another film has begun have no stack. Records come once a second. A launch
 * without a kernel has failed, or was captured, or its kernel has run for very long.
 */
#define MORE_KERNELS_NS 10000000000ull
#define FIRST_KERNEL_NS 600000000000ull

struct all {
	vec(struct waiting_half) halves;
};

void gpu_launches_count(void *context, struct waiting_half *half)
{
	struct gpu_losses *losses = context;

	losses->without_kernel += half->value == GPU_HAS_NO_KERNEL && !half->event;
	losses->without_end += half->event != 0;
}

static void add(void *context, const struct waiting_half *half)
{
	struct all *all = context;

	/* without memory it has no stack */
	(void)!vec_push(&all->halves, *half);
}

static void move(const struct gpu_launches_to *to, struct waiting_half *half, uint64_t now)
{
	const uint64_t age = now > half->time ? now - half->time : 0;

	if (half->value == GPU_HAS_KERNEL && age > MORE_KERNELS_NS)
		return;
	if (!half->event && age > FIRST_KERNEL_NS) {
		gpu_launches_count(to->losses, half);
		return;
	}
	if (half->event)
		half->event = to->event;
	kept_stacks_move(to->kept, to->samples, half->pid, &half->place);
	/* what is not known any more is counted with its kernel, which then has no stack */
	if (half->place.thread)
		waiting_put(to->waiting, half);
}

void gpu_launches_next_film(const struct gpu_launches_to *to, uint64_t now)
{
	struct all all = {0};

	waiting_empty(to->waiting, add, &all);
	kept_stacks_next_film(to->kept);
	vec_foreach (&all.halves, half)
		move(to, half, now);
	kept_stacks_film_begun(to->kept);
	vec_free(&all.halves);
}
