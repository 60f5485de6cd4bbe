// SPDX-License-Identifier: Apache-2.0
/* Records of calls as they come from a ring: whole, without what came before, and damaged. */
#include "../prelude.h"

#include <string.h>

#include "sources/requests/record.h"

struct in_ring {
	struct requests_wire wire;
	char data[2 * REQUESTS_COPY_MAX];
};

static struct in_ring one(void)
{
	struct in_ring ring = {
		.wire = {.head = {REQUESTS_DATA, 0, 5},
			 .comm = "a thread",
			 .own_port = 80,
			 .peer = {1},
			 .trace = {2},
			 .works = {.head = {REQUESTS_WORKS, 0, 6},
				   .task = 7,
				   .works_for = 8,
				   .more = {.head = {REQUESTS_MORE, 0, 9},
					    .connection = 10,
					    .offset = 11,
					    .pid = 12,
					    .tid = 13,
					    .thread_start = 14,
					    .exec_id = 15,
					    .length = 100,
					    .copied = 4,
					    .flags = REQUESTS_SENT | REQUESTS_HAS_TAIL,
					    .protocol = REQUESTS_HTTP,
					    .tail = "the end",
					    .turn = {16, 17, 18}}}},
		.data = "data",
	};

	ring.wire.head.size = sizeof(ring.wire) + 4;
	ring.wire.works.head.size = sizeof(ring.wire.works) + 4;
	ring.wire.works.more.head.size = sizeof(ring.wire.works.more) + 4;
	return ring;
}

static void check_more(const struct requests_read *read)
{
	const struct requests_record *record = &read->record;

	assert_int_equal(record->head.kind, REQUESTS_DATA);
	assert_int_equal(record->head.size, sizeof(*record) + 4);
	assert_int_equal(record->connection, 10);
	assert_int_equal(record->offset, 11);
	assert_int_equal(record->identity.pid, 12);
	assert_int_equal(record->identity.tid, 13);
	assert_int_equal(record->identity.thread_start, 14);
	assert_int_equal(record->identity.exec_id, 15);
	assert_int_equal(record->length, 100);
	assert_int_equal(record->copied, 4);
	assert_int_equal(record->flags, REQUESTS_SENT);
	assert_true(record->has_tail);
	assert_int_equal(record->protocol, REQUESTS_HTTP);
	assert_memory_equal(record->tail, "the end", 8);
	assert_int_equal(record->turn.waits, 18);
	assert_memory_equal(read->data, "data", 4);
}

static void test_three_ways(void **state)
{
	struct in_ring ring = one();
	struct requests_read read;

	(void)state;
	memset(&read, 0xff, sizeof(read));
	assert_true(requests_record_read(&read, &ring.wire.head));
	check_more(&read);
	assert_int_equal(read.record.head.time, 5);
	assert_string_equal(read.record.identity.comm, "a thread");
	assert_int_equal(read.record.own_port, 80);
	assert_int_equal(read.record.peer[0], 1);
	assert_int_equal(read.record.trace[0], 2);
	assert_int_equal(read.record.works_for, 8);

	assert_true(requests_record_read(&read, &ring.wire.works.head));
	check_more(&read);
	assert_int_equal(read.record.head.time, 6);
	assert_int_equal(read.record.task, 7);
	assert_int_equal(read.record.identity.comm[0], 0);
	assert_int_equal(read.record.own_port, 0);

	assert_true(requests_record_read(&read, &ring.wire.works.more.head));
	check_more(&read);
	assert_int_equal(read.record.head.time, 9);
	assert_int_equal(read.record.task, 0);
}

static void test_damaged(void **state)
{
	struct in_ring ring = one();
	struct requests_read read;
	struct capture_head *head = &ring.wire.head;

	(void)state;
	head->size = sizeof(ring.wire) - 1;
	assert_false(requests_record_read(&read, head));
	head->kind = REQUESTS_UNIX_NAME;
	head->size = sizeof(ring);
	assert_false(requests_record_read(&read, head));
	/* more than any has: it shows, and does not go beyond what there is room for */
	head->kind = REQUESTS_DATA;
	assert_true(requests_record_read(&read, head));
	assert_int_equal(read.record.head.size, sizeof(read.record) + sizeof(ring.data));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_three_ways),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
