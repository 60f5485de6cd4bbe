// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "process/perf_records.h"

static void put_u32(struct buf *b, uint32_t v)
{
	buf_put(b, &v, sizeof(v));
}

static void put_u64(struct buf *b, uint64_t v)
{
	buf_put(b, &v, sizeof(v));
}

/* A record as the kernel writes it, with the fields of sample_id_all behind. */
static void put_record(struct buf *to, uint32_t type, uint16_t misc, const struct buf *body,
		       uint64_t time)
{
	struct perf_event_header header = {
		.type = type, .misc = misc, .size = (uint16_t)(sizeof(header) + body->count + 24)};

	buf_put(to, &header, sizeof(header));
	buf_put(to, body->at, body->count);
	put_u32(to, 10);
	put_u32(to, 11);
	put_u64(to, time);
	put_u32(to, 1);
	put_u32(to, 0);
}

static void put_mmap(struct buf *to, uint32_t prot, const char *path, uint64_t time)
{
	struct buf body = {0};
	char padded[128] = {0};

	put_u32(&body, 10);
	put_u32(&body, 11);
	put_u64(&body, 0x7f0000001000);
	put_u64(&body, 0x2000);
	put_u64(&body, 0x3000);
	put_u32(&body, 8);
	put_u32(&body, 2);
	put_u64(&body, 77);
	put_u64(&body, 5);
	put_u32(&body, prot);
	put_u32(&body, 2);
	strcpy(padded, path);
	buf_put(&body, padded, (strlen(path) + 8) & ~7ul);
	put_record(to, PERF_RECORD_MMAP2, 0, &body, time);
	buf_free(&body);
}

static void put_task(struct buf *to, uint32_t type, uint64_t time)
{
	struct buf body = {0};

	put_u32(&body, 20);
	put_u32(&body, 10);
	put_u32(&body, 21);
	put_u32(&body, 11);
	put_u64(&body, time);
	put_record(to, type, 0, &body, time + 1);
	buf_free(&body);
}

static void put_comm(struct buf *to, uint16_t misc, const char *comm)
{
	struct buf body = {0};
	char padded[16] = {0};

	put_u32(&body, 10);
	put_u32(&body, 11);
	strcpy(padded, comm);
	buf_put(&body, padded, sizeof(padded));
	put_record(to, PERF_RECORD_COMM, misc, &body, 99);
	buf_free(&body);
}

static void put_lost(struct buf *to)
{
	struct buf body = {0};

	put_u64(&body, 3);
	put_u64(&body, 7);
	put_record(to, PERF_RECORD_LOST, 0, &body, 99);
	buf_free(&body);
}

static void all_kinds(void **state)
{
	struct target_event e;
	struct buf r = {0};

	(void)state;
	put_mmap(&r, PROT_READ | PROT_EXEC, "/usr/bin/x", 123);
	assert_true(perf_record_parse(r.at, r.count, &e));
	assert_int_equal(e.kind, TARGET_MMAP);
	assert_int_equal(e.pid, 10);
	assert_int_equal(e.tid, 11);
	assert_int_equal(e.time, 123);
	assert_int_equal(e.start, 0x7f0000001000);
	assert_int_equal(e.length, 0x2000);
	assert_int_equal(e.offset, 0x3000);
	assert_int_equal(e.device, makedev(8, 2));
	assert_int_equal(e.inode, 77);
	assert_string_equal(e.path, "/usr/bin/x");

	r.count = 0;
	put_task(&r, PERF_RECORD_FORK, 500);
	assert_true(perf_record_parse(r.at, r.count, &e));
	assert_int_equal(e.kind, TARGET_FORK);
	assert_int_equal(e.pid, 20);
	assert_int_equal(e.tid, 21);
	assert_int_equal(e.parent_pid, 10);
	assert_int_equal(e.parent_tid, 11);
	assert_int_equal(e.time, 500);

	r.count = 0;
	put_task(&r, PERF_RECORD_EXIT, 600);
	assert_true(perf_record_parse(r.at, r.count, &e));
	assert_int_equal(e.kind, TARGET_EXIT);

	r.count = 0;
	put_comm(&r, 0, "name");
	assert_true(perf_record_parse(r.at, r.count, &e));
	assert_int_equal(e.kind, TARGET_COMM);
	assert_string_equal(e.comm, "name");
	assert_int_equal(e.time, 99);

	r.count = 0;
	put_comm(&r, PERF_RECORD_MISC_COMM_EXEC, "fifteen-letters");
	assert_true(perf_record_parse(r.at, r.count, &e));
	assert_int_equal(e.kind, TARGET_EXEC);
	assert_string_equal(e.comm, "fifteen-letters");

	r.count = 0;
	put_lost(&r);
	assert_false(perf_record_parse(r.at, r.count, &e));

	r.count = 0;
	put_mmap(&r, PROT_READ, "/usr/share/data", 1);
	assert_false(perf_record_parse(r.at, r.count, &e));
	buf_free(&r);
}

static void cut_records(void **state)
{
	struct target_event e;
	struct buf r = {0};

	(void)state;
	put_mmap(&r, PROT_EXEC, "/usr/bin/x", 123);
	for (size_t size = 0; size < r.count - 8; size++)
		assert_false(perf_record_parse(r.at, size, &e));
	r.count = 0;
	put_task(&r, PERF_RECORD_FORK, 500);
	for (size_t size = 0; size < r.count; size++)
		assert_false(perf_record_parse(r.at, size, &e));
	buf_free(&r);
}

/* Records at each possible place of a small ring come out as they went in. */
static void ring_wraps(void **state)
{
	struct buf in = {0}, out = {0};
	uint8_t ring[256];
	bool damaged = false;

	(void)state;
	put_comm(&in, 0, "first");
	put_task(&in, PERF_RECORD_EXIT, 5);
	assert_true(in.count < sizeof(ring));
	for (uint64_t tail = 0; tail < 2 * sizeof(ring); tail += 8) {
		for (size_t i = 0; i < in.count; i++)
			ring[(tail + i) % sizeof(ring)] = in.at[i];
		out.count = 0;
		assert_int_equal(
			perf_ring_copy(ring, sizeof(ring), tail, tail + in.count, &out, &damaged),
			tail + in.count);
		assert_false(damaged);
		assert_int_equal(out.count, in.count);
		assert_memory_equal(out.at, in.at, in.count);
	}
	buf_free(&in);
	buf_free(&out);
}

static void ring_with_damage(void **state)
{
	struct buf in = {0}, out = {0};
	uint8_t ring[256] = {0};
	bool damaged = false;

	(void)state;
	put_comm(&in, 0, "first");
	memcpy(ring, in.at, in.count);
	/* a record of size 0 follows */
	assert_int_equal(perf_ring_copy(ring, sizeof(ring), 0, in.count + 16, &out, &damaged),
			 in.count + 16);
	assert_true(damaged);
	assert_int_equal(out.count, in.count);
	/* a head that cannot be */
	damaged = false;
	out.count = 0;
	assert_int_equal(perf_ring_copy(ring, sizeof(ring), 0, 1000, &out, &damaged), 1000);
	assert_true(damaged);
	assert_int_equal(out.count, 0);
	/* a record that goes on behind the head */
	damaged = false;
	assert_int_equal(perf_ring_copy(ring, sizeof(ring), 0, in.count - 8, &out, &damaged),
			 in.count - 8);
	assert_true(damaged);
	assert_int_equal(out.count, 0);
	buf_free(&in);
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_kinds),
		cmocka_unit_test(cut_records),
		cmocka_unit_test(ring_wraps),
		cmocka_unit_test(ring_with_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
