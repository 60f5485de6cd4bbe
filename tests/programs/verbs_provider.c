// SPDX-License-Identifier: Apache-2.0
/*
 * Stands for a provider of libibverbs, such as librxe-rdmav34.so: it exports nothing that
 * transfers, and is stripped. Each request is done two milliseconds after it was posted, but for
 * receives, of which one is done with each send.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "verbs.h"

#define EXPORTED   __attribute__((visibility("default"), used))

#define ENTRIES	   4096
#define SERVICE_NS 2000000
#define SIGNALED   2

struct entry {
	struct verbs_completion completion;
	uint64_t posted, due;
};

struct verbs_queue {
	struct entry entries[ENTRIES];
	uint32_t first, last;
	/* receives that wait */
	uint64_t receives[ENTRIES];
	uint32_t first_receive, last_receive;
};

static struct verbs_truth truth;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void put(struct verbs_pair *pair, uint64_t id, uint32_t opcode, uint64_t bytes,
		uint64_t posted)
{
	struct verbs_queue *queue = pair->sends;

	queue->entries[queue->last++ % ENTRIES] = (struct entry){
		.completion = {.id = id,
			       .opcode = opcode,
			       .bytes = (uint32_t)bytes,
			       .pair = pair->number},
		.posted = posted,
		.due = posted + SERVICE_NS,
	};
}

/* What the peer gets by a send comes back as a receive, half as long. */
static void start(struct verbs_pair *pair, uint64_t id, uint32_t opcode, uint64_t bytes)
{
	struct verbs_queue *queue = pair->sends;
	uint64_t posted = now();

	truth.operations[opcode]++;
	truth.bytes[opcode] += bytes;
	put(pair, id, opcode, bytes, posted);
	if (opcode != VERBS_SEND || queue->first_receive == queue->last_receive)
		return;
	truth.operations[VERBS_RECEIVES]++;
	truth.bytes[VERBS_RECEIVES] += bytes / 2;
	put(pair, queue->receives[queue->first_receive++ % ENTRIES], VERBS_RECEIVED, bytes / 2,
	    posted);
}

/* As others have it: a loop that writes completions as long as there are any. */
static int poll(struct verbs_queue *queue, int room, struct verbs_completion *to)
{
	uint64_t time = now();
	int found;

	for (found = 0; found < room; found++, to++) {
		const struct entry *entry = &queue->entries[queue->first % ENTRIES];

		if (queue->first == queue->last || entry->due > time)
			break;
		*to = entry->completion;
		if (to->opcode != VERBS_RECEIVED)
			truth.latency += time - entry->posted;
		queue->first++;
	}
	return found;
}

static uint64_t sum(const struct verbs_piece *pieces, uint64_t count)
{
	uint64_t bytes = 0;

	for (uint64_t i = 0; i < count; i++)
		bytes += pieces[i].bytes;
	return bytes;
}

static int post_send(struct verbs_pair *pair, struct verbs_request *request,
		     struct verbs_request **bad)
{
	(void)bad;
	for (; request; request = request->next)
		start(pair, request->id, request->opcode,
		      sum(request->pieces, (uint64_t)request->count));
	return 0;
}

static int post_receive(struct verbs_pair *pair, struct verbs_request *request,
			struct verbs_request **bad)
{
	struct verbs_queue *queue = pair->sends;

	(void)bad;
	for (; request; request = request->next)
		queue->receives[queue->last_receive++ % ENTRIES] = request->id;
	return 0;
}

static int post_shared(void *queue, struct verbs_request *request, struct verbs_request **bad)
{
	(void)queue, (void)request, (void)bad;
	return -1;
}

/* -- extended queue pairs ---------------------------------------------------------------------- */

static uint32_t begun;

static void begin_read(struct verbs_pair *pair, uint32_t key, uint64_t address)
{
	(void)pair, (void)key, (void)address;
	begun = VERBS_READ;
}

static void begin_write(struct verbs_pair *pair, uint32_t key, uint64_t address)
{
	(void)pair, (void)key, (void)address;
	begun = VERBS_WRITE;
}

static void begin_send(struct verbs_pair *pair)
{
	(void)pair;
	begun = VERBS_SEND;
}

static void set_inline(struct verbs_pair *pair, void *address, uint64_t bytes)
{
	(void)address;
	start(pair, pair->id, begun, bytes);
}

static void set_piece(struct verbs_pair *pair, uint32_t key, uint64_t address, uint32_t bytes)
{
	(void)key, (void)address;
	start(pair, pair->id, begun, bytes);
}

static void set_pieces(struct verbs_pair *pair, uint64_t count, const struct verbs_piece *pieces)
{
	start(pair, pair->id, begun, sum(pieces, count));
}

static void start_requests(struct verbs_pair *pair)
{
	pair->handle++;
}

static int complete(struct verbs_pair *pair)
{
	pair->handle++;
	return 0;
}

/* -- what the library calls -------------------------------------------------------------------- */

EXPORTED struct verbs_context *provider_open(void)
{
	struct verbs_context *context = calloc(1, sizeof(*context));

	if (!context)
		abort();
	context->device = context;
	context->poll = poll;
	context->post_shared = post_shared;
	context->post_send = post_send;
	context->post_receive = post_receive;
	memset(&context->abi, 0xff, sizeof(context->abi));
	return context;
}

EXPORTED struct verbs_queue *provider_queue(void)
{
	struct verbs_queue *queue = calloc(1, sizeof(*queue));

	if (!queue)
		abort();
	return queue;
}

EXPORTED struct verbs_pair *provider_pair(struct verbs_domain *domain, struct verbs_queue *queue)
{
	struct verbs_pair *pair = calloc(1, sizeof(*pair));

	if (!pair)
		abort();
	pair->context = domain->context;
	pair->sends = pair->receives = queue;
	pair->number = 17;
	pair->read = begin_read;
	pair->write = begin_write;
	pair->send = begin_send;
	pair->set_inline = set_inline;
	pair->set_piece = set_piece;
	pair->set_pieces = set_pieces;
	pair->start = start_requests;
	pair->complete = complete;
	return pair;
}

EXPORTED const struct verbs_truth *provider_truth(void)
{
	return &truth;
}
