// SPDX-License-Identifier: Apache-2.0
/*
 * A BPF ring buffer as user space sees it (kernel/bpf/ringbuf.c, libbpf's ringbuf.c): one page with
 * the consumer's position, one with the producer's, then the data, mapped twice in a row so that no
 * record is cut. A record has an 8-byte header: its length with a busy and a discard bit.
 *
 * libbpf's own reader hands each record to a callback, ring by ring; here the rings must be merged
 * by time, so the heads of all are looked at first.
 */
#include "camera/rings.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/cpus.h"
#include "base/vec.h"

#define RING_BYTES_MAX (32u << 20)
/*
 * Bytes of a usual sample; a ring holds what comes in a second, so that a slow moment loses
 * nothing.
 */
#define SAMPLE_BYTES 800u
/*
 * A burst of new processes hands over some dozen stacks of up to 64 KiB; so does, at a high
 * frequency, one process until its rules are there. Room in half a ring for those of 50 ms, within
 * reason.
 */
#define HANDOVER_BYTES	 (64u << 10)
#define HANDOVERS_SECOND 20u
#define RINGS_BYTES_SUM	 (32u << 20)
#define RING_BYTES_LEAST (128u << 10)
#define RING_BYTES_USUAL (2u << 20)
/* Calls come in thick: a million a second on one CPU is 14 MB between two drains. */
#define CALL_RINGS_BYTES (128u << 20)

struct ring {
	int fd;
	uint32_t bytes;
	unsigned long *consumer;
	const unsigned long *producer;
	const uint8_t *data;
	unsigned long taken; /* handed out with the last record: to be given back first */
};

struct rings {
	int map, epoll;
	uint32_t bytes; /* of each */
	vec(struct ring) all;
	struct ring *lent; /* the one whose record the caller is reading */
	uint64_t
		others; /* the earliest time at the heads of all other rings, when last looked at */
};

static long page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

static int ring_open(struct ring *ring, uint32_t bytes)
{
	size_t page = (size_t)page_size();
	void *area;

	ring->bytes = bytes;
	ring->fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "capture_ring", 0, 0, bytes, NULL);
	if (ring->fd < 0)
		return -errno;
	area = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (area == MAP_FAILED)
		return -errno;
	ring->consumer = area;
	area = mmap(NULL, page + 2 * (size_t)bytes, PROT_READ, MAP_SHARED, ring->fd, (off_t)page);
	if (area == MAP_FAILED)
		return -errno;
	ring->producer = area;
	ring->data = (const uint8_t *)area + page;
	return 0;
}

static void ring_close(struct ring *ring)
{
	size_t page = (size_t)page_size();

	if (ring->producer)
		munmap((void *)(uintptr_t)ring->producer, page + 2 * (size_t)ring->bytes);
	if (ring->consumer)
		munmap(ring->consumer, page);
	if (ring->fd >= 0)
		close(ring->fd);
}

static int add_ring(void *context, unsigned int cpu, struct fail *why)
{
	/* edges only: most records ask for no attention, and must not wake anyone */
	struct epoll_event wanted = {.events = EPOLLIN | EPOLLET};
	struct rings *rings = context;
	struct ring ring = {.fd = -1};
	int err = ring_open(&ring, rings->bytes);

	if (!err && (bpf_map_update_elem(rings->map, &cpu, &ring.fd, BPF_ANY) ||
		     epoll_ctl(rings->epoll, EPOLL_CTL_ADD, ring.fd, &wanted)))
		err = -errno;
	if (!err && !vec_push(&rings->all, ring))
		err = -ENOMEM;
	if (!err)
		return 0;
	ring_close(&ring);
	return fail_errno(why, err, NULL, "cannot make a ring of %u bytes for each CPU",
			  rings->bytes);
}

int rings_new(int rings_map, uint32_t bytes, struct rings **result, struct fail *why)
{
	struct rings *rings = calloc(1, sizeof(*rings));
	int err;

	if (!rings)
		return fail_errno(why, -ENOMEM, NULL, "cannot make rings");
	rings->map = rings_map;
	rings->bytes = bytes;
	rings->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (rings->epoll < 0)
		err = fail_errno(why, -errno, NULL, "cannot make rings");
	else
		err = cpus_each_online(add_ring, rings, why);
	if (err)
		rings_free(rings);
	else
		*result = rings;
	return err;
}

void rings_free(struct rings *rings)
{
	if (!rings)
		return;
	vec_foreach (&rings->all, ring)
		ring_close(ring);
	if (rings->epoll >= 0)
		close(rings->epoll);
	vec_free(&rings->all);
	free(rings);
}

int rings_fd(const struct rings *rings)
{
	return rings->epoll;
}

static void give_back(struct ring *ring, unsigned long bytes)
{
	__atomic_store_n(ring->consumer, *ring->consumer + bytes, __ATOMIC_RELEASE);
}

/* The first finished record of a ring, or null. */
static const struct capture_head *ring_head(struct ring *ring)
{
	for (;;) {
		unsigned long consumer = *ring->consumer;
		unsigned long producer = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
		const uint8_t *at = ring->data + (consumer & (ring->bytes - 1));
		uint32_t length, whole;

		if (consumer >= producer)
			return NULL;
		length = __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_ACQUIRE);
		if (length & BPF_RINGBUF_BUSY_BIT)
			return NULL;
		whole = ((length & ~BPF_RINGBUF_DISCARD_BIT) + BPF_RINGBUF_HDR_SZ + 7) & ~7u;
		if (length & BPF_RINGBUF_DISCARD_BIT) {
			give_back(ring, whole);
			continue;
		}
		ring->taken = whole;
		return (const struct capture_head *)(const void *)(at + BPF_RINGBUF_HDR_SZ);
	}
}

const struct capture_head *rings_next(struct rings *rings, uint64_t until, unsigned int *number)
{
	const struct capture_head *first = NULL;
	unsigned int i;

	if (rings->lent) {
		give_back(rings->lent, rings->lent->taken);
		/*
		 * a burst comes from one CPU: the others need not be looked at for each record of
		 * it
		 */
		first = ring_head(rings->lent);
		if (first && first->time <= until && first->time < rings->others) {
			*number = (unsigned int)(rings->lent - rings->all.at);
			return first;
		}
		first = NULL;
	}
	rings->lent = NULL;
	rings->others = UINT64_MAX;
	for (i = 0; i < rings->all.count; i++) {
		const struct capture_head *head = ring_head(&rings->all.at[i]);

		if (!head)
			continue;
		if (head->time > until || (first && first->time <= head->time)) {
			if (head->time < rings->others)
				rings->others = head->time;
			continue;
		}
		if (first && first->time < rings->others)
			rings->others = first->time;
		first = head;
		rings->lent = &rings->all.at[i];
		*number = i;
	}
	return first;
}

unsigned int rings_count(const struct rings *rings)
{
	return (unsigned int)rings->all.count;
}

uint64_t rings_bytes(const struct rings *rings)
{
	return (uint64_t)rings->all.count * rings->bytes;
}

uint32_t rings_bytes_for_calls(unsigned int cpus)
{
	uint32_t bytes = RING_BYTES_MAX;

	while (bytes > RING_BYTES_LEAST && (uint64_t)bytes * cpus > CALL_RINGS_BYTES)
		bytes /= 2;
	return bytes;
}

uint32_t rings_bytes_for_samples(unsigned int frequency, unsigned int cpus)
{
	uint32_t bytes = RING_BYTES_USUAL;

	while (bytes > RING_BYTES_LEAST && (uint64_t)bytes * cpus > RINGS_BYTES_SUM)
		bytes /= 2;
	while (bytes / 2 < frequency / HANDOVERS_SECOND * HANDOVER_BYTES &&
	       (uint64_t)bytes * 2 * cpus <= RINGS_BYTES_SUM)
		bytes *= 2;
	while (bytes < frequency * SAMPLE_BYTES && bytes < RING_BYTES_MAX)
		bytes *= 2;
	return bytes;
}
