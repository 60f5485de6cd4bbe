// SPDX-License-Identifier: Apache-2.0
#include "process/executing.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/vec.h"
#include "process/perf_records.h"
#include "process/procfs.h"

#define THREADS_MAX 64
#define RATE	    997 /* samples a second of a thread that runs */
#define CODE_PAGE   4096

struct watched {
	pid_t pid;
	int fd;
	uint8_t *memory; /* the control page, and the ring */
};

struct executing {
	pid_t pid; /* whose threads are being added */
	size_t page;
	vec(struct watched) threads;
	vec(struct executed) places;
};

static void add_thread(void *context, pid_t tid)
{
	struct executing *e = context;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_type = PERF_SAMPLE_IP,
		.sample_freq = RATE,
		.freq = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	struct watched w = {e->pid, -1, MAP_FAILED};

	if (e->threads.count >= THREADS_MAX)
		return;
	w.fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (w.fd < 0)
		return;
	w.memory = mmap(NULL, 2 * e->page, PROT_READ | PROT_WRITE, MAP_SHARED, w.fd, 0);
	if (w.memory != MAP_FAILED && vec_push(&e->threads, w))
		return;
	if (w.memory != MAP_FAILED)
		munmap(w.memory, 2 * e->page);
	close(w.fd);
}

struct executing *executing_begin(const pid_t *pids, size_t count)
{
	struct executing *e = calloc(1, sizeof(*e));
	char folder[64];

	if (!e)
		return NULL;
	e->page = (size_t)sysconf(_SC_PAGESIZE);
	for (size_t i = 0; i < count && e->threads.count < THREADS_MAX; i++) {
		e->pid = pids[i];
		snprintf(folder, sizeof(folder), "/proc/%d/task", (int)pids[i]);
		procfs_each_number(folder, add_thread, e);
	}
	return e;
}

static void count(struct executing *e, pid_t pid, uint64_t address)
{
	vec_foreach (&e->places, place) {
		if (place->pid != pid || place->address / CODE_PAGE != address / CODE_PAGE)
			continue;
		place->count++;
		return;
	}
	vec_push(&e->places, (struct executed){pid, address, 1});
}

/* The ring holds some hundred samples; what came later is not in it. */
static void read_ring(struct executing *e, const struct watched *w)
{
	struct perf_event_mmap_page *control = (void *)w->memory;
	uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
	struct buf records = {0};
	bool damaged = false;
	struct {
		struct perf_event_header head;
		uint64_t address;
	} sample;

	perf_ring_copy(w->memory + e->page, e->page, control->data_tail, head, &records, &damaged);
	for (size_t at = 0; !damaged && records.count - at >= sizeof(sample);
	     at += sample.head.size) {
		memcpy(&sample, records.at + at, sizeof(sample));
		if (sample.head.size < sizeof(sample.head))
			break;
		if (sample.head.type == PERF_RECORD_SAMPLE && sample.head.size == sizeof(sample))
			count(e, w->pid, sample.address);
	}
	buf_free(&records);
}

static int by_count(const void *a, const void *b)
{
	const struct executed *x = a, *y = b;

	return (x->count < y->count) - (x->count > y->count);
}

size_t executing_end(struct executing *e, struct executed *places, size_t max)
{
	size_t found;

	if (!e)
		return 0;
	vec_foreach (&e->threads, w) {
		read_ring(e, w);
		munmap(w->memory, 2 * e->page);
		close(w->fd);
	}
	if (e->places.count)
		qsort(e->places.at, e->places.count, sizeof(*e->places.at), by_count);
	found = e->places.count < max ? e->places.count : max;
	for (size_t i = 0; i < found; i++)
		places[i] = e->places.at[i];
	vec_free(&e->threads);
	vec_free(&e->places);
	free(e);
	return found;
}
