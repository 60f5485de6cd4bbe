/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_RDMA_QUEUES_H
#define SOURCES_RDMA_QUEUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "resolve/samples.h"

/*
 * Requests that were posted and have no completion yet, by process and queue. Completions of a
 * queue come in the order of its requests, and those of shared receive queues in any order.
 */
struct rdma_queues;

enum rdma_queue_kind {
	RDMA_QUEUE_SEND,
	RDMA_QUEUE_RECEIVE,
	RDMA_QUEUE_SHARED, /* all of a process, with number 0 */
};

struct rdma_waiting {
	uint64_t id;   /* that the program gave it; several may have the same */
	uint64_t time; /* CLOCK_MONOTONIC, ns */
	uint64_t bytes;
	uint32_t opcode;
	bool is_signaled; /* it asks for a completion; others may have one nonetheless */
	/*
	 * With its completion: that is its own. Of requests that all have one id, that is known if
	 * the queue was followed from its beginning.
	 */
	bool is_certain;
	struct samples_place place;
};

struct rdma_queue_name {
	uint32_t pid, number;
	enum rdma_queue_kind kind;
};

/* Returns 0 or -ENOMEM. */
int rdma_queues_new(struct rdma_queues **queues);
void rdma_queues_free(struct rdma_queues *queues);

/* Nothing was posted to the queues of that number so far; from now on all is seen. */
void rdma_queues_open(struct rdma_queues *queues, uint32_t pid, uint32_t number);

/* Completions of a process were not seen, or will not be. */
void rdma_queues_doubt(struct rdma_queues *queues, uint32_t pid);

void rdma_queues_post(struct rdma_queues *queues, struct rdma_queue_name name,
		      const struct rdma_waiting *request);

/*
 * A completion: takes its request out, and, but for shared queues, those that were posted before
 * it, which have none of their own. False: no request of that id waits.
 */
bool rdma_queues_complete(struct rdma_queues *queues, struct rdma_queue_name name, uint64_t id,
			  struct rdma_waiting *request);

/* The process is gone. */
void rdma_queues_forget(struct rdma_queues *queues, uint32_t pid);
/* Their places were of a film that has ended. */
void rdma_queues_empty(struct rdma_queues *queues);

struct rdma_queues_counts {
	uint64_t silent;  /* requests without a completion of their own */
	uint64_t refused; /* not kept: too many wait, or there is no memory */
};
struct rdma_queues_counts rdma_queues_counts(const struct rdma_queues *queues);

#endif
