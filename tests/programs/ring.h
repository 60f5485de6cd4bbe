/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RING_H
#define RING_H

/* An io_uring by its system calls alone, for the programs that use one. */

#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "program.h"

#define ENTRIES 1024

static struct ring {
	int fd, is_registered;
	unsigned int setup, entry_flags;
	unsigned int *sq_tail, *sq_flags, *sq_array, *cq_head, *cq_tail;
	unsigned int sq_mask, cq_mask;
	struct io_uring_sqe *entries;
	struct io_uring_cqe *done;
} ring;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int enter(unsigned int submit, unsigned int wait, unsigned int flags, void *argument,
		 size_t size)
{
	return (int)syscall(SYS_io_uring_enter, ring.is_registered ? 0 : ring.fd, submit, wait,
			    flags | (ring.is_registered ? IORING_ENTER_REGISTERED_RING : 0),
			    argument, size);
}

static void open_ring(void)
{
	struct io_uring_params params = {.flags = ring.setup, .sq_thread_idle = 1};
	struct io_uring_rsrc_update place = {.offset = 0};
	uint8_t *at;
	size_t size;

	ring.fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &params);
	if (ring.fd < 0) {
		perror("io_uring_setup");
		exit(77);
	}
	size = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
	if (size < params.sq_off.array + params.sq_entries * sizeof(unsigned int))
		size = params.sq_off.array + params.sq_entries * sizeof(unsigned int);
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, IORING_OFF_SQ_RING);
	ring.entries = mmap(NULL, params.sq_entries * sizeof(struct io_uring_sqe),
			    PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, IORING_OFF_SQES);
	if (at == MAP_FAILED || ring.entries == MAP_FAILED)
		fail("mmap");
	ring.sq_tail = (unsigned int *)(at + params.sq_off.tail);
	ring.sq_flags = (unsigned int *)(at + params.sq_off.flags);
	ring.sq_array = (unsigned int *)(at + params.sq_off.array);
	ring.sq_mask = params.sq_entries - 1;
	ring.cq_head = (unsigned int *)(at + params.cq_off.head);
	ring.cq_tail = (unsigned int *)(at + params.cq_off.tail);
	ring.cq_mask = params.cq_entries - 1;
	ring.done = (struct io_uring_cqe *)(at + params.cq_off.cqes);
	place.data = (uint64_t)ring.fd;
	if (ring.is_registered &&
	    syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_RING_FDS, &place, 1) != 1)
		fail("io_uring_register");
}

static struct io_uring_sqe *new_entry(uint8_t operation, int fd)
{
	unsigned int at = *ring.sq_tail & ring.sq_mask;
	struct io_uring_sqe *entry = &ring.entries[at];

	memset(entry, 0, sizeof(*entry));
	entry->opcode = operation;
	entry->fd = fd;
	entry->user_data = operation;
	ring.sq_array[at] = at;
	return entry;
}

static void submit(void)
{
	__atomic_store_n(ring.sq_tail, *ring.sq_tail + 1, __ATOMIC_SEQ_CST);
	if (!(ring.setup & IORING_SETUP_SQPOLL)) {
		if (enter(1, 0, 0, NULL, 0) != 1)
			fail("io_uring_enter");
	} else if (__atomic_load_n(ring.sq_flags, __ATOMIC_SEQ_CST) & IORING_SQ_NEED_WAKEUP) {
		enter(0, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0);
	}
}

/* The next one that is completed; waits for it. */
static KEPT struct io_uring_cqe wait_for_completion(void)
{
	struct io_uring_cqe done;

	while (*ring.cq_head == __atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE))
		enter(0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
	done = ring.done[*ring.cq_head & ring.cq_mask];
	__atomic_store_n(ring.cq_head, *ring.cq_head + 1, __ATOMIC_RELEASE);
	return done;
}

static void set_way(const char *way)
{
	if (!strcmp(way, "registered"))
		ring.is_registered = 1;
	else if (!strcmp(way, "defer"))
		ring.setup = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
	else if (!strcmp(way, "sqpoll"))
		ring.setup = IORING_SETUP_SQPOLL;
	else if (!strcmp(way, "async"))
		ring.entry_flags = IOSQE_ASYNC;
}

#endif
