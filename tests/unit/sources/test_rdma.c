// SPDX-License-Identifier: Apache-2.0
/*
 * Which completion is of which request; where in a function that polls a completion has been
 * written; and what was made before.
 */
#include "../prelude.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/resident.h"
#include "sources/rdma/code.h"
#include "sources/rdma/queues.h"
#include "sources/rdma/scan.h"

enum {
	PID = 7,
	PAIR = 17,
};

static const struct rdma_queue_name sends = {PID, PAIR, RDMA_QUEUE_SEND};
static const struct rdma_queue_name shared = {PID, 0, RDMA_QUEUE_SHARED};

static int setup(void **state)
{
	return rdma_queues_new((struct rdma_queues **)state);
}

static int teardown(void **state)
{
	rdma_queues_free(*state);
	return 0;
}

static void post(struct rdma_queues *queues, struct rdma_queue_name name, uint64_t id,
		 uint64_t time, bool is_signaled)
{
	const struct rdma_waiting request = {.id = id, .time = time, .is_signaled = is_signaled};

	rdma_queues_post(queues, name, &request);
}

/* Time of the request that a completion is of; 0: of none. */
static uint64_t complete(struct rdma_queues *queues, struct rdma_queue_name name, uint64_t id,
			 bool is_certain)
{
	struct rdma_waiting request;

	if (!rdma_queues_complete(queues, name, id, &request))
		return 0;
	assert_int_equal(request.is_certain, is_certain);
	return request.time;
}

static void completions_are_in_order(void **state)
{
	struct rdma_queues *queues = *state;

	for (uint64_t i = 1; i <= 4; i++)
		post(queues, sends, i, 10 * i, false);
	assert_int_equal(complete(queues, sends, 1, true), 10);
	assert_int_equal(complete(queues, sends, 3, true), 30);
	assert_int_equal(complete(queues, sends, 2, true), 0);
	assert_int_equal(rdma_queues_counts(queues).silent, 1);
	assert_int_equal(complete(queues, sends, 4, true), 40);
	assert_int_equal(complete(queues, sends, 4, true), 0);
}

/* As perftest has it: one id, and a completion for each third. */
static void one_id_needs_a_whole_queue(void **state)
{
	struct rdma_queues *queues = *state;

	for (uint64_t i = 1; i <= 6; i++)
		post(queues, sends, 0, i, i % 3 == 0);
	assert_int_equal(complete(queues, sends, 0, false), 3);
	rdma_queues_open(queues, PID, PAIR);
	assert_int_equal(complete(queues, sends, 0, true), 0);
	for (uint64_t i = 1; i <= 6; i++)
		post(queues, sends, 0, i, i % 3 == 0);
	assert_int_equal(complete(queues, sends, 0, true), 3);
	assert_int_equal(complete(queues, sends, 0, true), 6);
	post(queues, sends, 0, 7, true);
	rdma_queues_doubt(queues, PID);
	assert_int_equal(complete(queues, sends, 0, true), 0);
	post(queues, sends, 0, 8, true);
	assert_int_equal(complete(queues, sends, 0, false), 8);
}

static void shared_queues_have_no_order(void **state)
{
	struct rdma_queues *queues = *state;

	for (uint64_t i = 1; i <= 200; i++)
		post(queues, shared, i, i, false);
	for (uint64_t i = 200; i > 0; i -= 2)
		assert_int_equal(complete(queues, shared, i, true), i);
	for (uint64_t i = 1; i < 200; i += 2)
		assert_int_equal(complete(queues, shared, i, true), i);
	assert_int_equal(rdma_queues_counts(queues).silent, 0);
}

static void a_full_queue_forgets_its_oldest(void **state)
{
	struct rdma_queues *queues = *state;

	for (uint64_t i = 1; i <= 40000; i++)
		post(queues, sends, i, i, false);
	assert_int_equal(rdma_queues_counts(queues).refused, 40000 - 32768);
	assert_int_equal(complete(queues, sends, 1, true), 0);
	assert_int_equal(complete(queues, sends, 40000, true), 40000);
	rdma_queues_forget(queues, PID);
	assert_int_equal(complete(queues, sends, 40000, true), 0);
}

/* -- code -------------------------------------------------------------------------------------- */

/*
 * 0: test edx; 2: jle 18; 4: cmp [rdi], rcx; 7: je 18; 9: mov [rbx], rcx; 12: add rbx, 48; 16: jmp
 * 4; 18: ret
 */
static const uint8_t loop[] = {0x85, 0xd2, 0x7e, 14,   0x48, 0x39, 0x0f, 0x74, 9,   0x48,
			       0x89, 0x0b, 0x48, 0x83, 0xc3, 0x30, 0xeb, 0xf2, 0xc3};

enum {
	BRANCH_EMPTY,
	BRANCH_NONE,
	BRANCH_NEXT, /* behind a completion */
	RBX = 3,
	RBP = 6,
};

/* A call that found two completions, and one that found none, as the kernel's side keeps them. */
static void watch(struct rdma_learning *learning, struct rdma_poll polls[2])
{
	*learning = (struct rdma_learning){.kept = 2, .empty = 2};
	learning->in_empty[BRANCH_EMPTY] = learning->in_empty[BRANCH_NONE] = 1;
	for (uint32_t i = 0; i < 2; i++) {
		struct rdma_site *site = &polls[i].sites[BRANCH_NEXT];

		memset(&polls[i], 0, sizeof(polls[i]));
		polls[i].call = i + 1;
		polls[i].found = i + 1;
		polls[i].after[0] = 100 + i;
		*site = (struct rdma_site){.call = i + 1, .hits = i + 1, .order = 3};
		site->completion[0] = 100 + i;
		for (int reg = 0; reg < ARCH_REGISTERS; reg++)
			site->distance[reg] = RDMA_FAR;
		/* that of the first completion stays there */
		site->distance[0] = 0;
		site->distance[RBX] = 48;
	}
}

static void place_of_completions_is_chosen(void **state)
{
	static struct rdma_code code;
	static struct rdma_learning learning;
	static struct rdma_poll polls[2];
	struct rdma_spot spot;

	(void)state;
	assert_true(rdma_code_read(&code, loop, sizeof(loop)));
	assert_int_equal(code.site_count, 3);
	watch(&learning, polls);
	assert_true(rdma_code_choose(&code, &learning, polls, &spot));
	assert_int_equal(spot.offset, 16);
	assert_int_equal(spot.reg, RBX);
	assert_int_equal(spot.distance, 48);

	/* once for two completions */
	polls[1].sites[BRANCH_NEXT].hits = 1;
	assert_false(rdma_code_choose(&code, &learning, polls, &spot));
	watch(&learning, polls);
	/* also by a call that found none */
	learning.in_empty[BRANCH_NEXT] = 1;
	assert_false(rdma_code_choose(&code, &learning, polls, &spot));
	watch(&learning, polls);
	/* before the completion is there */
	polls[0].sites[BRANCH_NEXT].completion[0] = 1;
	assert_false(rdma_code_choose(&code, &learning, polls, &spot));
	watch(&learning, polls);
	/* not by that call */
	polls[1].sites[BRANCH_NEXT].call = 1;
	assert_false(rdma_code_choose(&code, &learning, polls, &spot));
	watch(&learning, polls);
	/* in no register that goes on with the completions */
	polls[0].sites[BRANCH_NEXT].distance[RBX] = RDMA_FAR;
	assert_false(rdma_code_choose(&code, &learning, polls, &spot));
	learning.kept = RDMA_KEPT + 1;
	assert_false(rdma_code_choose(&code, &learning, polls, &spot));
}

static void what_is_no_code_is_refused(void **state)
{
	static const uint8_t bad[] = {0x7e, 1, 0x06, 0x06};
	static const uint8_t plain[] = {0x90, 0xc3};
	/* 0: jne 3, which is within 2: xor ebx, eax; 4: ret */
	static const uint8_t within[] = {0x75, 1, 0x31, 0xc3, 0xc3};
	static uint8_t large[RDMA_CODE_MAX + 1];
	static struct rdma_code code;

	(void)state;
	assert_false(rdma_code_read(&code, bad, sizeof(bad)));
	assert_false(rdma_code_read(&code, plain, sizeof(plain)));
	assert_false(rdma_code_read(&code, within, sizeof(within)));
	assert_false(rdma_code_read(&code, large, sizeof(large)));
}

enum {
	PAGE = 4096,
	SPAN = 3 << 20, /* several pieces */
	POST = 0x5757575757575750,
};

static void write_word(uint8_t *at, uint64_t word)
{
	memcpy(at, &word, sizeof(word));
}

struct found {
	unsigned int contexts, pairs;
};

static bool count_found(void *context, const struct rdma_table *table)
{
	struct found *found = context;

	if (table->is_pair)
		found->pairs += table->functions[0] == POST + 1;
	else
		found->contexts += table->functions[RDMA_TABLE_POST_SEND] == POST;
	return table->functions[RDMA_TABLE_POST_SEND] == POST;
}

/* More than is looked at. */
#define VAST (2 * RDMA_SCAN_LOOKS * RESIDENT_PAGE)

/* Memory for which nothing answers yet: a reader would wait. False: there is no userfaultfd. */
static bool nobody_answers(void *at, size_t size, int *fd)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.range = {(uintptr_t)at, size},
					.mode = UFFDIO_REGISTER_MODE_MISSING};

	*fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	return *fd >= 0 && !ioctl(*fd, UFFDIO_API, &api) && !ioctl(*fd, UFFDIO_REGISTER, &range);
}

/*
 * A context as libraries have it, and one of its queue pairs, both across the pieces that are read
 * at once; and the scan ends where reading would not.
 */
static void what_was_made_before_is_found(void **state)
{
	uint8_t *memory =
		mmap(NULL, SPAN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *context = memory + (1 << 20) - 200, *pair = memory + (2 << 20) - 96;
	uint8_t *missing =
		mmap(NULL, SPAN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* as sanitizers have it for their shadow, which is hardly anywhere */
	void *vast = mmap(NULL, VAST, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct found found = {0};
	int fd;

	(void)state;
	assert_true(memory != MAP_FAILED && missing != MAP_FAILED && vast != MAP_FAILED);
	write_word(context, (uintptr_t)memory); /* its device */
	write_word(context + VERBS_OPS_POST_SEND, POST);
	write_word(context + VERBS_CONTEXT_ABI, ~0ull);
	write_word(pair, (uintptr_t)context);
	write_word(pair + VERBS_PAIR_FUNCTIONS, POST + 1);
	if (!nobody_answers(missing, SPAN, &fd))
		print_message("no userfaultfd here: a scan of it is not tried\n");
	alarm(60);
	assert_false(rdma_scan(getpid(), count_found, &found));
	alarm(0);
	/* what was read has them, too */
	assert_true(found.contexts >= 1);
	assert_true(found.pairs >= 1);
	if (fd >= 0)
		close(fd);
	munmap(vast, VAST);
	munmap(missing, SPAN);
	munmap(memory, SPAN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(completions_are_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(one_id_needs_a_whole_queue, setup, teardown),
		cmocka_unit_test_setup_teardown(shared_queues_have_no_order, setup, teardown),
		cmocka_unit_test_setup_teardown(a_full_queue_forgets_its_oldest, setup, teardown),
		cmocka_unit_test(place_of_completions_is_chosen),
		cmocka_unit_test(what_is_no_code_is_refused),
		cmocka_unit_test(what_was_made_before_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
