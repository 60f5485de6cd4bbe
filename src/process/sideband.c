// SPDX-License-Identifier: Apache-2.0
#include "process/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "base/vec.h"
#include "process/perf_records.h"

#define RING_PAGES_MAX 65536

/* What may lie in memory because the reader is busy. */
#define ASIDE_BYTES_MAX (32u << 20)
/* Of memory for records, this much is kept for those of the next time. */
#define RECORDS_KEPT (1u << 20)

struct ring {
	int fd;
	uint64_t lost; /* as the kernel counts it */
	struct perf_event_mmap_page *control;
	size_t bytes; /* of the mapping: control page and data */
};

/* A record that was copied out of its ring. */
struct pending {
	uint64_t time, arrival;
	size_t offset; /* in records */
	uint16_t size;
};

struct sideband {
	vec(struct ring) rings;
	vec(struct pending) pending;
	struct buf records;
	unsigned int ring_pages; /* data pages of each ring */
	uint64_t arrivals;
	uint64_t lost; /* of what had been written: no memory for it */
	int epoll;

	pthread_mutex_t lock; /* of the rings, their counts, and the next three */
	struct buf aside;     /* records that were taken out of them, and come first */
	uint64_t damaged;     /* times that a ring held something else */
	bool is_damaged;      /* since the last sideband_read() */
};

static int open_event(unsigned int cpu, unsigned int ring_bytes)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.read_format = PERF_FORMAT_LOST,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = ring_bytes / 4,
	};
	long fd = syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static int refuse(int err, struct fail *why)
{
	if (err == -EACCES || err == -EPERM)
		return fail(why, -EPERM,
			    "run as root, or with CAP_PERFMON (and CAP_SYS_ADMIN where "
			    "kernel.perf_event_paranoid is 3), or set that to -1",
			    "cannot follow processes: perf events of a whole CPU are not "
			    "permitted");
	return fail_errno(why, err, "'stackcam doctor' says what this kernel allows",
			  "cannot follow processes: perf_event_open");
}

static void close_ring(struct ring *ring)
{
	if (ring->control)
		munmap(ring->control, ring->bytes);
	close(ring->fd);
}

static int open_ring(void *context, unsigned int cpu, struct fail *why)
{
	struct sideband *s = context;
	unsigned int pages = s->ring_pages;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct ring ring = {.bytes = (pages + 1) * page};
	struct epoll_event interest = {.events = EPOLLIN};
	void *memory;
	int err;

	ring.fd = open_event(cpu, (unsigned int)(pages * page));
	/* it went offline since the list was read */
	if (ring.fd == -ENODEV)
		return 0;
	if (ring.fd < 0)
		return refuse(ring.fd, why);
	memory = mmap(NULL, ring.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, 0);
	if (memory == MAP_FAILED) {
		err = -errno;
		close_ring(&ring);
		if (err == -EPERM)
			return fail(why, err,
				    "run as root, or with CAP_IPC_LOCK, or raise "
				    "kernel.perf_event_mlock_kb",
				    "cannot follow processes: too much memory for rings");
		return refuse(err, why);
	}
	ring.control = memory;
	if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, ring.fd, &interest)) {
		err = -errno;
		close_ring(&ring);
		return refuse(err, why);
	}
	if (!vec_push(&s->rings, ring)) {
		close_ring(&ring);
		return fail_errno(why, -ENOMEM, NULL, "cannot follow processes");
	}
	return 0;
}

int sideband_open(unsigned int ring_pages, struct sideband **sideband, struct fail *why)
{
	struct sideband *s;
	int err;

	if (!ring_pages || ring_pages & (ring_pages - 1) || ring_pages > RING_PAGES_MAX)
		return fail(why, -EINVAL, NULL, "%u pages are no size of a ring", ring_pages);
	s = calloc(1, sizeof(*s));
	if (!s)
		return fail_errno(why, -ENOMEM, NULL, "cannot follow processes");
	pthread_mutex_init(&s->lock, NULL);
	s->ring_pages = ring_pages;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0)
		err = fail_errno(why, -errno, NULL, "cannot follow processes");
	else
		err = cpus_each_online(open_ring, s, why);
	if (!err && !s->rings.count)
		err = fail(why, -ENODEV, NULL, "cannot follow processes: no CPU is online");
	if (err)
		sideband_close(s);
	else
		*sideband = s;
	return err;
}

void sideband_close(struct sideband *sideband)
{
	if (!sideband)
		return;
	vec_foreach (&sideband->rings, ring)
		close_ring(ring);
	vec_free(&sideband->rings);
	vec_free(&sideband->pending);
	buf_free(&sideband->records);
	buf_free(&sideband->aside);
	if (sideband->epoll >= 0)
		close(sideband->epoll);
	pthread_mutex_destroy(&sideband->lock);
	free(sideband);
}

/*
 * Handles the records that stand in s->records from offset on. False: some are lost, for memory.
 */
static bool handle_records(struct sideband *s, size_t offset)
{
	bool all = true;

	while (offset < s->records.count) {
		struct perf_event_header header;
		struct target_event event;

		memcpy(&header, s->records.at + offset, sizeof(header));
		if (perf_record_parse(s->records.at + offset, header.size, &event) &&
		    !vec_push(&s->pending,
			      (struct pending){event.time, s->arrivals++, offset, header.size})) {
			s->lost++;
			all = false;
		}
		offset += header.size;
	}
	return all;
}

/* The records that tell of a loss come with the next event that finds room: too late, or never. */
static void read_lost(struct ring *ring)
{
	struct {
		uint64_t value, lost;
	} count;

	if (read(ring->fd, &count, sizeof(count)) == sizeof(count))
		ring->lost = count.lost;
}

/* Appends what a ring holds to records. False: some is still there, for want of memory. */
static bool empty_ring(struct sideband *s, struct ring *ring, struct buf *records)
{
	uint64_t head = __atomic_load_n(&ring->control->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->control->data_tail, next;
	const uint8_t *data = (const uint8_t *)ring->control + ring->control->data_offset;
	bool damaged = false, full;

	if (head == tail)
		return true;
	next = perf_ring_copy(data, ring->control->data_size, tail, head, records, &damaged);
	__atomic_store_n(&ring->control->data_tail, next, __ATOMIC_RELEASE);
	/*
	 * asking costs an interrupt on that CPU: only if the ring may have been full since last
	 * time
	 */
	head = __atomic_load_n(&ring->control->data_head, __ATOMIC_ACQUIRE);
	if (head - tail + UINT16_MAX > ring->control->data_size)
		read_lost(ring);
	s->damaged += damaged;
	s->is_damaged |= damaged;
	full = records->failed;
	records->failed = false;
	return !full;
}

void sideband_relieve(struct sideband *sideband)
{
	pthread_mutex_lock(&sideband->lock);
	vec_foreach (&sideband->rings, ring)
		if (sideband->aside.count < ASIDE_BYTES_MAX)
			empty_ring(sideband, ring, &sideband->aside);
	pthread_mutex_unlock(&sideband->lock);
}

/* Steals what was set aside. False: it is still there, for want of memory. */
static bool steal_aside(struct sideband *s)
{
	bool is_full;

	if (!s->records.count) {
		struct buf empty = s->records;

		s->records = s->aside;
		s->aside = empty;
		return true;
	}
	buf_put(&s->records, s->aside.at, s->aside.count);
	is_full = s->records.failed;
	s->records.failed = false;
	if (!is_full)
		buf_free(&s->aside);
	return !is_full;
}

/* Takes in all that there is. */
static int read_all(struct sideband *s)
{
	size_t before = s->records.count;
	bool all, damaged;

	pthread_mutex_lock(&s->lock);
	all = !s->aside.count || steal_aside(s);
	/* those behind what could not be taken over would come too early */
	vec_foreach (&s->rings, ring)
		all = all && empty_ring(s, ring, &s->records);
	damaged = s->is_damaged;
	s->is_damaged = false;
	pthread_mutex_unlock(&s->lock);
	if (!handle_records(s, before) || !all)
		return -ENOMEM;
	return damaged ? -EIO : 0;
}

static int by_time(const void *a, const void *b)
{
	const struct pending *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->arrival < y->arrival ? -1 : 1;
}

/* Drops the first done records of pending, and the bytes that no other needs. */
static bool drop_done(struct sideband *s, size_t done)
{
	struct buf left = {0};

	if (!done && s->pending.count)
		return true;
	memmove(s->pending.at, s->pending.at + done,
		(s->pending.count - done) * sizeof(*s->pending.at));
	s->pending.count -= done;
	if (!s->pending.count) {
		s->records.count = 0;
		if (s->records.room > RECORDS_KEPT)
			buf_free(&s->records);
		return true;
	}
	vec_foreach (&s->pending, p) {
		size_t offset = left.count;

		buf_put(&left, s->records.at + p->offset, p->size);
		p->offset = offset;
	}
	buf_free(&s->records);
	s->records = left;
	if (!left.failed)
		return true;
	s->lost += s->pending.count;
	s->pending.count = 0;
	buf_free(&s->records);
	return false;
}

int sideband_read(struct sideband *sideband, uint64_t until,
		  void (*emit)(void *context, const struct target_event *event), void *context,
		  struct fail *why)
{
	size_t done = 0;
	int err = read_all(sideband);

	if (sideband->pending.count)
		qsort(sideband->pending.at, sideband->pending.count, sizeof(*sideband->pending.at),
		      by_time);
	for (; done < sideband->pending.count && sideband->pending.at[done].time <= until; done++) {
		const struct pending *p = &sideband->pending.at[done];
		struct target_event event;

		if (perf_record_parse(sideband->records.at + p->offset, p->size, &event))
			emit(context, &event);
	}
	if (!drop_done(sideband, done))
		err = -ENOMEM;
	return err ? fail_errno(why, err, NULL, "cannot read what the kernel says of processes")
		   : 0;
}

uint64_t sideband_lost(struct sideband *sideband)
{
	uint64_t lost = sideband->lost;

	pthread_mutex_lock(&sideband->lock);
	lost += sideband->damaged;
	vec_foreach (&sideband->rings, ring)
		lost += ring->lost;
	pthread_mutex_unlock(&sideband->lock);
	return lost;
}

int sideband_poll_fd(const struct sideband *sideband)
{
	return sideband->epoll;
}
