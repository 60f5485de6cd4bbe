// SPDX-License-Identifier: Apache-2.0
/*
 * A BPF ring buffer as user space sees it (kernel/bpf/ringbuf.c, libbpf's ringbuf.c): one page with
 * the consumer's position, one with the producer's, then the data. A record has an 8-byte header:
 * its length with a busy and a discard bit. The kernel maps the data twice in a row if the mapping
 * is that long, and then counts them twice as resident memory: here they are mapped once, and the
 * one record in each turn that the end of the ring cuts is copied.
 *
 * libbpf's own reader hands each record to a callback, ring by ring; here the rings must be merged
 * by time, so the heads of all are looked at first.
 */
#include "attach/rings.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/thread.h"
#include "base/vec.h"
#include "attach/backlog.h"

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

/*
 * What may lie in memory because the reader is busy: as many times what the rings hold, within
 * reason.
 */
#define ASIDE_TIMES	8u
#define ASIDE_BYTES_MAX (64ull << 20)

/* As many bytes are copied out of a ring at a time, so that a record need not take the lock. */
#define LENT_BYTES (32u << 10)

struct ring {
	int fd;
	uint32_t cpu, bytes;
	unsigned long *consumer;
	const unsigned long *producer;
	const uint8_t *data;
	unsigned long done;   /* bytes that were taken, and that the kernel has not got back */
	uint8_t *cut;	      /* the last record that the end of the ring has cut; or null */
	unsigned long cut_at; /* and the position where it began */
	struct backlog aside; /* what came before what is in the ring */
};

/* Records that follow each other, copied from one ring, headers and all. */
struct lent {
	uint8_t *at;
	uint32_t room, used, read; /* of bytes */
	unsigned int ring;
};

struct rings {
	int map, epoll;
	uint32_t bytes; /* of each */
	vec(struct ring) all;
	struct lent lent;	   /* of the thread that reads */
	pthread_mutex_t lock;	   /* of all rings' positions, what is aside, and what follows */
	uint64_t aside, aside_max; /* bytes */
	/*
	 * Readable while something is aside: what asked for attention has left its ring, which
	 * would wake the reader no more.
	 */
	int attention;
	struct rings_aside counts;
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
	area = mmap(NULL, page + (size_t)bytes, PROT_READ, MAP_SHARED, ring->fd, (off_t)page);
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
		munmap((void *)(uintptr_t)ring->producer, page + (size_t)ring->bytes);
	if (ring->consumer)
		munmap(ring->consumer, page);
	if (ring->fd >= 0)
		close(ring->fd);
	free(ring->cut);
}

static int add_ring(void *context, unsigned int cpu, struct fail *why)
{
	/* edges only: most records ask for no attention, and must not wake anyone */
	struct epoll_event wanted = {.events = EPOLLIN | EPOLLET};
	struct rings *rings = context;
	struct ring ring = {.fd = -1};
	int err = ring_open(&ring, rings->bytes);

	ring.cpu = cpu;
	if (!err && epoll_ctl(rings->epoll, EPOLL_CTL_ADD, ring.fd, &wanted))
		err = -errno;
	if (!err && !vec_push(&rings->all, ring))
		err = -ENOMEM;
	if (!err)
		return 0;
	ring_close(&ring);
	return fail_errno(why, err, NULL, "cannot make a ring of %u bytes for each CPU",
			  rings->bytes);
}

/*
 * The kernel waits after each change of a map of maps, some 10 ms, until no program uses what was
 * there before: once for all rings, where it takes them at once.
 */
static int hand_over_all(struct rings *rings)
{
	uint32_t count = (uint32_t)rings->all.count, *cpus = calloc(count, sizeof(*cpus));
	int *fds = calloc(count, sizeof(*fds));
	int err = cpus && fds ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < count; i++) {
		cpus[i] = rings->all.at[i].cpu;
		fds[i] = rings->all.at[i].fd;
	}
	if (!err && bpf_map_update_batch(rings->map, cpus, fds, &count, NULL))
		for (uint32_t i = 0; !err && i < rings->all.count; i++)
			if (bpf_map_update_elem(rings->map, &cpus[i], &fds[i], BPF_ANY))
				err = -errno;
	free(cpus);
	free(fds);
	return err;
}

int rings_new(int rings_map, uint32_t bytes, struct rings **result, struct fail *why)
{
	struct rings *rings = calloc(1, sizeof(*rings));
	struct epoll_event wanted = {.events = EPOLLIN};
	int err;

	if (!rings)
		return fail_errno(why, -ENOMEM, NULL, "cannot make rings");
	rings->map = rings_map;
	rings->bytes = bytes;
	pthread_mutex_init(&rings->lock, NULL);
	rings->epoll = epoll_create1(EPOLL_CLOEXEC);
	rings->attention = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (rings->epoll < 0 || rings->attention < 0 ||
	    epoll_ctl(rings->epoll, EPOLL_CTL_ADD, rings->attention, &wanted))
		err = fail_errno(why, -errno, NULL, "cannot make rings");
	else
		err = cpus_each_online(add_ring, rings, why);
	if (!err) {
		err = hand_over_all(rings);
		if (err)
			fail_errno(why, err, NULL, "cannot give rings to the probes");
	}
	if (err) {
		rings_free(rings);
		return err;
	}
	rings->aside_max = ASIDE_TIMES * rings_bytes(rings);
	if (rings->aside_max > ASIDE_BYTES_MAX)
		rings->aside_max = ASIDE_BYTES_MAX;
	*result = rings;
	return 0;
}

void rings_free(struct rings *rings)
{
	if (!rings)
		return;
	vec_foreach (&rings->all, ring) {
		backlog_free(&ring->aside);
		ring_close(ring);
	}
	if (rings->epoll >= 0)
		close(rings->epoll);
	if (rings->attention >= 0)
		close(rings->attention);
	vec_free(&rings->all);
	free(rings->lent.at);
	pthread_mutex_destroy(&rings->lock);
	free(rings);
}

int rings_fd(const struct rings *rings)
{
	return rings->epoll;
}

/*
 * Releases what was read to the kernel, of many records at once: each probe looks at the
 * position, which has to come from this CPU's cache if it has changed.
 */
static void release(struct ring *ring)
{
	if (ring->done)
		__atomic_store_n(ring->consumer, *ring->consumer + ring->done, __ATOMIC_RELEASE);
	ring->done = 0;
}

/* Bytes that a record takes whose header begins with that length. */
static uint32_t whole_of(uint32_t length)
{
	return (length + BPF_RINGBUF_HDR_SZ + 7) & ~7u;
}

/*
 * The record of that many bytes at a position, in one piece; null: no memory for one that is cut,
 * which stays where it is.
 */
static const uint32_t *in_one_piece(struct ring *ring, unsigned long position, uint32_t whole)
{
	uint32_t at = (uint32_t)(position & (ring->bytes - 1)), first = ring->bytes - at;

	if (whole <= first)
		return (const void *)(ring->data + at);
	if (ring->cut && ring->cut_at == position)
		return (const void *)ring->cut;
	free(ring->cut);
	ring->cut = malloc(whole);
	if (!ring->cut)
		return NULL;
	ring->cut_at = position;
	memcpy(ring->cut, ring->data + at, first);
	memcpy(ring->cut + first, ring->data, whole - first);
	return (const void *)ring->cut;
}

/* The header of the first finished record in a ring, or null. */
static const uint32_t *first_in_ring(struct ring *ring)
{
	for (;;) {
		unsigned long consumer = *ring->consumer + ring->done;
		unsigned long producer = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
		/* 8 bytes at a multiple of 8: no header is cut */
		const uint32_t *at = (const void *)(ring->data + (consumer & (ring->bytes - 1)));
		uint32_t length;

		if (consumer >= producer)
			return NULL;
		length = __atomic_load_n(at, __ATOMIC_ACQUIRE);
		if (length & BPF_RINGBUF_BUSY_BIT)
			return NULL;
		if (!(length & BPF_RINGBUF_DISCARD_BIT))
			return in_one_piece(ring, consumer, whole_of(length));
		ring->done += whole_of(length & ~BPF_RINGBUF_DISCARD_BIT);
	}
}

static const struct capture_head *head_behind(const uint32_t *header)
{
	return (const void *)((const uint8_t *)header + BPF_RINGBUF_HDR_SZ);
}

/* The header of the first record of a ring, wherever it is, or null. */
static const uint32_t *first_of(struct ring *ring)
{
	const uint32_t *aside = backlog_head(&ring->aside);

	return aside ? aside : first_in_ring(ring);
}

/* Copies the first record of a ring behind those that are lent. False: there is no room. */
static bool lend(struct rings *rings, struct ring *ring, const uint32_t *header)
{
	struct lent *lent = &rings->lent;
	uint32_t whole = whole_of(*header);

	if (lent->room - lent->used < whole) {
		uint32_t room = whole < LENT_BYTES ? LENT_BYTES : whole;

		if (lent->used)
			return false;
		free(lent->at);
		lent->at = malloc(room);
		lent->room = lent->at ? room : 0;
		if (!lent->at)
			return false;
	}
	memcpy(lent->at + lent->used, header, whole);
	lent->used += whole;
	if (backlog_head(&ring->aside)) {
		backlog_drop(&ring->aside, whole);
		rings->aside -= whole;
		if (!rings->aside)
			eventfd_read(rings->attention, &(eventfd_t){0});
	} else {
		ring->done += whole;
	}
	return true;
}

/*
 * Lends the earliest records. A burst comes from one CPU: the others need not be looked at for each
 * of its records.
 */
static void lend_more(struct rings *rings, uint64_t until)
{
	uint64_t first = UINT64_MAX, others = UINT64_MAX;
	struct ring *ring = NULL;
	const uint32_t *header;

	rings->lent.used = rings->lent.read = 0;
	vec_foreach (&rings->all, candidate) {
		uint64_t time;

		header = first_of(candidate);
		if (!header)
			continue;
		time = head_behind(header)->time;
		if (time > until || time >= first) {
			others = time < others ? time : others;
			continue;
		}
		others = first < others ? first : others;
		first = time;
		ring = candidate;
	}
	if (!ring)
		return;
	rings->lent.ring = (unsigned int)(ring - rings->all.at);
	for (header = first_of(ring); header && lend(rings, ring, header);) {
		header = first_of(ring);
		if (header &&
		    (head_behind(header)->time > until || head_behind(header)->time >= others))
			return;
	}
}

const struct capture_head *rings_next(struct rings *rings, uint64_t until, unsigned int *number)
{
	struct lent *lent = &rings->lent;
	const uint32_t *header;

	if (lent->read == lent->used) {
		pthread_mutex_lock(&rings->lock);
		lend_more(rings, until);
		vec_foreach (&rings->all, ring)
			release(ring);
		pthread_mutex_unlock(&rings->lock);
		if (!lent->used)
			return NULL;
	}
	header = (const void *)(lent->at + lent->read);
	if (head_behind(header)->time > until)
		return NULL;
	lent->read += whole_of(*header);
	*number = lent->ring;
	return head_behind(header);
}

/*
 * Whether a record goes aside. Stacks that are handed over are large, and each only completes a
 * sample: samples alone have the last half of the room.
 */
static bool is_kept(struct rings *rings, const struct capture_head *head, uint32_t whole)
{
	if (head->kind != CAPTURE_HANDOVER || rings->aside + whole <= rings->aside_max / 2)
		return true;
	rings->counts.handovers_dropped++;
	return false;
}

static void relieve(struct rings *rings, struct ring *ring)
{
	const uint32_t *header;

	while ((header = first_in_ring(ring))) {
		uint32_t whole = whole_of(*header);

		if (is_kept(rings, head_behind(header), whole)) {
			if (rings->aside + whole > rings->aside_max ||
			    !backlog_put(&ring->aside, header, whole))
				break;
			if (!rings->aside)
				eventfd_write(rings->attention, 1);
			rings->aside += whole;
			rings->counts.records++;
		}
		ring->done += whole;
		if (ring->done >= LENT_BYTES)
			release(ring);
	}
	release(ring);
}

void rings_relieve(struct rings *rings)
{
	pthread_mutex_lock(&rings->lock);
	vec_foreach (&rings->all, ring)
		relieve(rings, ring);
	if (rings->aside > rings->counts.most)
		rings->counts.most = rings->aside;
	pthread_mutex_unlock(&rings->lock);
}

struct rings_aside rings_aside(struct rings *rings)
{
	struct rings_aside counts;

	pthread_mutex_lock(&rings->lock);
	counts = rings->counts;
	pthread_mutex_unlock(&rings->lock);
	return counts;
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
