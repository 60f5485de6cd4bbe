// SPDX-License-Identifier: Apache-2.0
/*
 * Stands for libibverbs.so.1: what it exports makes objects, by its provider; posting and polling
 * pass it by.
 */
#include <stdlib.h>

#include "verbs.h"

#define EXPORTED __attribute__((visibility("default"), used))

EXPORTED struct verbs_context *ibv_open_device(void *device)
{
	struct verbs_context *context = provider_open();

	(void)device;
	context->command_fd = 3;
	return context;
}

EXPORTED struct verbs_domain *ibv_alloc_pd(struct verbs_context *context)
{
	struct verbs_domain *domain = calloc(1, sizeof(*domain));

	if (!domain)
		abort();
	domain->context = context;
	return domain;
}

EXPORTED struct verbs_queue *ibv_create_cq(struct verbs_context *context, int entries)
{
	struct verbs_queue *queue = provider_queue();

	(void)context, (void)entries;
	__asm__ volatile("" ::: "memory");
	return queue;
}

EXPORTED struct verbs_pair *ibv_create_qp(struct verbs_domain *domain, struct verbs_queue *queue)
{
	struct verbs_pair *pair = provider_pair(domain, queue);

	pair->domain = domain;
	return pair;
}

EXPORTED int ibv_modify_qp(struct verbs_pair *pair, const uint32_t *attributes, int mask)
{
	if (mask & 1)
		pair->state = attributes[0];
	return 0;
}

EXPORTED struct verbs_pair *ibv_qp_to_qp_ex(struct verbs_pair *pair)
{
	return pair;
}

EXPORTED struct verbs_region *ibv_reg_mr(struct verbs_domain *domain, void *address, uint64_t bytes,
					 int access)
{
	struct verbs_region *region = calloc(1, sizeof(*region));

	(void)domain, (void)access;
	if (!region)
		abort();
	region->address = address;
	region->bytes = bytes;
	return region;
}

EXPORTED int ibv_dereg_mr(struct verbs_region *region)
{
	free(region);
	return 0;
}
