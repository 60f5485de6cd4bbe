// SPDX-License-Identifier: Apache-2.0
#include "sources/rdma/queues.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"

/* The most queues, and requests that wait in one and in all. */
#define QUEUES_MAX   65536
#define QUEUE_MAX    32768
#define REQUESTS_MAX (1u << 18)

struct queue {
	uint32_t pid;
	bool is_whole;	  /* it was followed from its beginning */
	bool repeats;	  /* two requests in a row have one id */
	uint64_t last_id; /* of what was posted */
	bool was_posted;
	size_t first; /* those before it are taken */
	vec(struct rdma_waiting) requests;
};

struct rdma_queues {
	struct map by_name; /* a name's key to its queue */
	size_t waiting;
	struct rdma_queues_counts counts;
};

/* Numbers have 24 bits and pids 22; a number of more is of no queue (as a program may say it). */
static uint64_t key_of(struct rdma_queue_name name)
{
	return (uint64_t)name.pid << 34 | (uint64_t)name.number << 2 | (uint64_t)name.kind;
}

static struct queue *find(const struct rdma_queues *queues, struct rdma_queue_name name)
{
	const uint64_t *at = map_get(&queues->by_name, key_of(name));

	return at ? (struct queue *)(uintptr_t)*at : NULL;
}

static struct queue *add(struct rdma_queues *queues, struct rdma_queue_name name)
{
	struct queue *queue;

	if (queues->by_name.count >= QUEUES_MAX)
		return NULL;
	queue = calloc(1, sizeof(*queue));
	if (queue && map_put(&queues->by_name, key_of(name), (uint64_t)(uintptr_t)queue)) {
		queue->pid = name.pid;
		return queue;
	}
	free(queue);
	return NULL;
}

static void free_queue(struct rdma_queues *queues, struct queue *queue)
{
	queues->waiting -= queue->requests.count - queue->first;
	vec_free(&queue->requests);
	free(queue);
}

int rdma_queues_new(struct rdma_queues **queues)
{
	*queues = calloc(1, sizeof(**queues));
	return *queues ? 0 : -ENOMEM;
}

void rdma_queues_empty(struct rdma_queues *queues)
{
	uint64_t key, at;

	for (size_t i = 0; map_next(&queues->by_name, &i, &key, &at);)
		free_queue(queues, (struct queue *)(uintptr_t)at);
	map_free(&queues->by_name);
}

void rdma_queues_free(struct rdma_queues *queues)
{
	if (queues)
		rdma_queues_empty(queues);
	free(queues);
}

/* Moves what waits to the beginning once as much before it is taken. */
static void compact(struct queue *queue)
{
	size_t left = queue->requests.count - queue->first;

	if (queue->first < 64 || queue->first < left)
		return;
	memmove(queue->requests.at, queue->requests.at + queue->first,
		left * sizeof(*queue->requests.at));
	queue->requests.count = left;
	queue->first = 0;
}

/* Empties a queue. */
static void clear(struct rdma_queues *queues, struct queue *queue)
{
	queues->waiting -= queue->requests.count - queue->first;
	queue->requests.count = queue->first = 0;
}

void rdma_queues_open(struct rdma_queues *queues, uint32_t pid, uint32_t number)
{
	static const enum rdma_queue_kind kinds[] = {RDMA_QUEUE_SEND, RDMA_QUEUE_RECEIVE};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct rdma_queue_name name = {pid, number, kinds[i]};
		struct queue *queue = find(queues, name);

		if (!queue)
			queue = add(queues, name);
		if (!queue)
			continue;
		clear(queues, queue);
		queue->is_whole = true;
		queue->was_posted = queue->repeats = false;
	}
}

void rdma_queues_doubt(struct rdma_queues *queues, uint32_t pid)
{
	uint64_t key, at;

	for (size_t i = 0; map_next(&queues->by_name, &i, &key, &at);) {
		struct queue *queue = (struct queue *)(uintptr_t)at;

		if (queue->pid == pid) {
			clear(queues, queue);
			queue->is_whole = false;
		}
	}
}

/* Where a queue is full, its oldest request makes room. */
void rdma_queues_post(struct rdma_queues *queues, struct rdma_queue_name name,
		      const struct rdma_waiting *request)
{
	struct queue *queue = find(queues, name);

	if (!queue)
		queue = add(queues, name);
	if (queue && queue->requests.count - queue->first >= QUEUE_MAX) {
		queue->first++;
		queues->waiting--;
		queues->counts.refused++;
	}
	if (queue) {
		compact(queue);
		queue->repeats |= queue->was_posted && queue->last_id == request->id;
		queue->last_id = request->id;
		queue->was_posted = true;
	}
	if (queue && queues->waiting < REQUESTS_MAX && vec_push(&queue->requests, *request))
		queues->waiting++;
	else
		queues->counts.refused++;
}

/* The oldest with that id that asks for a completion; else the oldest with that id. */
static size_t find_request(const struct queue *queue, uint64_t id)
{
	size_t found = queue->requests.count;

	for (size_t i = queue->first; i < queue->requests.count; i++) {
		if (queue->requests.at[i].id != id)
			continue;
		if (queue->requests.at[i].is_signaled)
			return i;
		if (found == queue->requests.count)
			found = i;
	}
	return found;
}

bool rdma_queues_complete(struct rdma_queues *queues, struct rdma_queue_name name, uint64_t id,
			  struct rdma_waiting *request)
{
	struct queue *queue = find(queues, name);
	size_t at = queue ? find_request(queue, id) : 0;

	if (!queue || at == queue->requests.count)
		return false;
	*request = queue->requests.at[at];
	request->is_certain = queue->is_whole || !queue->repeats;
	if (name.kind == RDMA_QUEUE_SHARED) {
		memmove(&queue->requests.at[queue->first + 1], &queue->requests.at[queue->first],
			(at - queue->first) * sizeof(*request));
		at = queue->first;
	}
	queues->counts.silent += at - queue->first;
	queues->waiting -= at + 1 - queue->first;
	queue->first = at + 1;
	return true;
}

void rdma_queues_forget(struct rdma_queues *queues, uint32_t pid)
{
	vec(uint64_t) keys = {0};
	uint64_t key, at;

	for (size_t i = 0; map_next(&queues->by_name, &i, &key, &at);) {
		struct queue *queue = (struct queue *)(uintptr_t)at;

		/* without memory it stays until the film ends */
		if (queue->pid == pid && vec_push(&keys, key))
			free_queue(queues, queue);
	}
	vec_foreach (&keys, gone)
		map_remove(&queues->by_name, *gone);
	vec_free(&keys);
}

struct rdma_queues_counts rdma_queues_counts(const struct rdma_queues *queues)
{
	return queues->counts;
}
