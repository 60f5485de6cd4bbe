/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_PROGRAMS_VERBS_H
#define TESTS_PROGRAMS_VERBS_H

/*
 * What stands for libibverbs and a provider, where there is no device for RDMA: the structures have
 * the layout of rdma-core's verbs.h, as far as it is used, and programs post and poll by the
 * functions in them, as its inline functions do.
 */
#include <stddef.h>
#include <stdint.h>

struct verbs_queue;
struct verbs_pair;
struct verbs_completion;
struct verbs_request;

struct verbs_context {
	void *device;
	void *before_poll[11];
	int (*poll)(struct verbs_queue *queue, int room, struct verbs_completion *to); /* 96 */
	void *behind_poll[8];
	int (*post_shared)(void *queue, struct verbs_request *first,
			   struct verbs_request **bad); /* 168 */
	void *before_post[4];
	int (*post_send)(struct verbs_pair *pair, struct verbs_request *first,
			 struct verbs_request **bad); /* 208 */
	int (*post_receive)(struct verbs_pair *pair, struct verbs_request *first,
			    struct verbs_request **bad); /* 216 */
	void *behind_post[5];
	int command_fd, async_fd; /* 264 */
	int vectors;
	char mutex[40]; /* 280 */
	void *abi;	/* 320: all bits */
};

struct verbs_domain {
	struct verbs_context *context;
};

struct verbs_piece {
	uint64_t address;
	uint32_t bytes, key;
};

struct verbs_request {
	uint64_t id;
	struct verbs_request *next;
	struct verbs_piece *pieces;
	int count;
	uint32_t opcode, flags, immediate; /* of sends */
	uint64_t remote[6];
};

struct verbs_completion {
	uint64_t id;
	uint32_t status, opcode, vendor, bytes, immediate, pair, source, flags;
	uint64_t rest;
};

/* An extended queue pair; others have the first part. */
struct verbs_pair {
	struct verbs_context *context;
	void *owner;
	struct verbs_domain *domain;
	struct verbs_queue *sends, *receives;
	void *shared;
	uint32_t handle, number; /* 48 */
	uint32_t state, type;
	char lock[96];
	uint64_t features; /* 160 */
	uint64_t id;
	uint32_t flags;
	void *before_read[4]; /* 184 */
	void (*read)(struct verbs_pair *pair, uint32_t key, uint64_t address);
	void (*write)(struct verbs_pair *pair, uint32_t key, uint64_t address);
	void *behind_write;
	void (*send)(struct verbs_pair *pair);
	void *behind_send[5];
	void (*set_inline)(struct verbs_pair *pair, void *address, uint64_t bytes);
	void *inlines;
	void (*set_piece)(struct verbs_pair *pair, uint32_t key, uint64_t address, uint32_t bytes);
	void (*set_pieces)(struct verbs_pair *pair, uint64_t count,
			   const struct verbs_piece *pieces);
	void (*start)(struct verbs_pair *pair);
	int (*complete)(struct verbs_pair *pair);
};

_Static_assert(offsetof(struct verbs_context, post_send) == 208 &&
		       offsetof(struct verbs_context, abi) == 320 &&
		       offsetof(struct verbs_pair, number) == 52 &&
		       offsetof(struct verbs_pair, complete) == 328,
	       "it is laid out as in verbs.h of rdma-core");

struct verbs_region {
	void *address;
	uint64_t bytes;
};

/* By opcode: writes, sends, reads, and receives. */
enum {
	VERBS_WRITE,
	VERBS_SEND = 2,
	VERBS_READ = 4,
	VERBS_RECEIVED = 0x80,
	VERBS_KINDS = 5,
	VERBS_RECEIVES = VERBS_KINDS,
};

/* What the provider has been asked for, and how long from then until it said that it was done. */
struct verbs_truth {
	uint64_t operations[VERBS_KINDS + 1], bytes[VERBS_KINDS + 1];
	uint64_t latency; /* ns, of all but receives */
};

struct verbs_context *ibv_open_device(void *device);
struct verbs_domain *ibv_alloc_pd(struct verbs_context *context);
struct verbs_queue *ibv_create_cq(struct verbs_context *context, int entries);
struct verbs_pair *ibv_create_qp(struct verbs_domain *domain, struct verbs_queue *queue);
int ibv_modify_qp(struct verbs_pair *pair, const uint32_t *attributes, int mask);
struct verbs_pair *ibv_qp_to_qp_ex(struct verbs_pair *pair);
struct verbs_region *ibv_reg_mr(struct verbs_domain *domain, void *address, uint64_t bytes,
				int access);
int ibv_dereg_mr(struct verbs_region *region);

/* The provider's. */
struct verbs_context *provider_open(void);
struct verbs_queue *provider_queue(void);
struct verbs_pair *provider_pair(struct verbs_domain *domain, struct verbs_queue *queue);
const struct verbs_truth *provider_truth(void);

#endif
