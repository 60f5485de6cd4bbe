// SPDX-License-Identifier: Apache-2.0
/*
 * Transfers by what stands for a provider of RDMA (verbs_provider.c), and prints what that knows:
 * for each line that it reads, bytes of writes, sends, reads and receives, operations of all, and
 * ns that all but receives took.
 *
 *	rdma_transfers [ID]	ID: of all requests (default: each has another one)
 */
#include <stdio.h>
#include <stdlib.h>

#include "program.h"
#include "verbs.h"

#define ROUNDS 20

static struct verbs_pair *pair;
static struct verbs_queue *queue;
static char memory[1 << 20];
static uint64_t next_id, next_step = 1;

static uint64_t new_id(void)
{
	next_id += next_step;
	return next_id;
}

/* Polls as long as that many have not come. */
KEPT static void wait_for(int count)
{
	struct verbs_completion completions[4];

	while (count > 0)
		count -= pair->context->poll(queue, 4, completions);
	NO_TAIL_CALL();
}

KEPT static void receive(uint64_t bytes)
{
	struct verbs_piece piece = {(uint64_t)(uintptr_t)memory, (uint32_t)bytes, 1};
	struct verbs_request request = {.id = new_id(), .pieces = &piece, .count = 1}, *bad;

	pair->context->post_receive(pair, &request, &bad);
	NO_TAIL_CALL();
}

/* One request of three pieces. */
KEPT static void send_pieces(void)
{
	struct verbs_piece pieces[3] = {{1, 100, 1}, {2, 2000, 1}, {3, 30000, 1}};
	struct verbs_request request = {.id = new_id(),
					.pieces = pieces,
					.count = 3,
					.opcode = VERBS_SEND,
					.flags = 2},
			     *bad;

	pair->context->post_send(pair, &request, &bad);
	NO_TAIL_CALL();
}

/* Three requests in one call. */
KEPT static void write_chain(void)
{
	struct verbs_piece piece = {1, 4096, 1};
	struct verbs_request requests[3], *bad;

	for (int i = 0; i < 3; i++)
		requests[i] = (struct verbs_request){.id = new_id(),
						     .next = i < 2 ? &requests[i + 1] : NULL,
						     .pieces = &piece,
						     .count = 1,
						     .opcode = VERBS_WRITE,
						     .flags = 2};
	pair->context->post_send(pair, requests, &bad);
	NO_TAIL_CALL();
}

/* By the functions of an extended queue pair. */
KEPT static void read_two(void)
{
	const struct verbs_piece pieces[2] = {{1, 5, 1}, {2, 6000, 1}};

	pair->start(pair);
	pair->flags = 2;
	pair->id = new_id();
	pair->read(pair, 1, 0x1000);
	pair->set_piece(pair, 1, 0x2000, 70000);
	pair->id = new_id();
	pair->read(pair, 1, 0x1000);
	pair->set_pieces(pair, 2, pieces);
	pair->complete(pair);
	NO_TAIL_CALL();
}

KEPT static void a_round(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		receive(65536);
		send_pieces();
		write_chain();
		wait_for(5);
		read_two();
		wait_for(2);
	}
}

KEPT static struct verbs_region *keeper(struct verbs_domain *domain)
{
	return ibv_reg_mr(domain, memory, sizeof(memory), 7);
}

KEPT static void churner(struct verbs_domain *domain)
{
	ibv_dereg_mr(ibv_reg_mr(domain, memory, 8192, 7));
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	struct verbs_context *context = ibv_open_device(NULL);
	struct verbs_domain *domain = ibv_alloc_pd(context);
	const struct verbs_truth *truth = provider_truth();
	const uint32_t init = 1;
	struct verbs_region *kept;
	char line[64];

	if (argc > 1) {
		next_id = strtoull(argv[1], NULL, 10);
		next_step = 0;
	}
	queue = ibv_create_cq(context, 256);
	pair = ibv_qp_to_qp_ex(ibv_create_qp(domain, queue));
	ibv_modify_qp(pair, &init, 1);
	kept = keeper(domain);
	program_ready();
	while (fgets(line, sizeof(line), stdin)) {
		churner(domain);
		a_round();
		for (int i = 0; i <= VERBS_KINDS; i++)
			printf("%llu %llu ", (unsigned long long)truth->operations[i],
			       (unsigned long long)truth->bytes[i]);
		printf("%llu\n", (unsigned long long)truth->latency);
		fflush(stdout);
	}
	return kept->bytes != sizeof(memory);
}
