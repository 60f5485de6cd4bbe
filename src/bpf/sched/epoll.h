/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_EPOLL_H
#define BPF_SCHED_EPOLL_H

/*
 * Which descriptor of an epoll has something to tell, as it wakes a thread: ep_poll_callback() in
 * fs/eventpoll.c puts it on the list of those that are ready, and wakes then. Read without the lock
 * that it may hold: what is found may be gone, as everywhere in object.h.
 */
#include "bpf/sched/ready.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head___epoll {
	struct list_head___epoll *next;
};

struct eventpoll___epoll {
	struct list_head___epoll rdllist;
};

struct epoll_filefd___epoll {
	void *file;
	int fd;
};

struct epitem___epoll {
	struct list_head___epoll rdllink;
	struct epoll_filefd___epoll ffd;
};

#pragma clang attribute pop

/*
 * The object of the descriptor that is first on the list of those that are ready; 0: none is, or it
 * is not known. file: of the epoll that a task waits for.
 */
static __always_inline __u32 epoll_ready(struct task_struct *task, __u64 file)
{
	struct eventpoll___epoll *epoll;
	struct list_head___epoll *first;
	struct epitem___epoll *item;
	struct ready_slot *slot;
	__u64 ready;

	epoll = BPF_CORE_READ((struct file___descriptor *)file, private_data);
	first = BPF_CORE_READ(epoll, rdllist.next);
	if (!first || (void *)first == (void *)epoll + bpf_core_field_offset(
							       struct eventpoll___epoll, rdllist))
		return 0;
	item = (void *)first - bpf_core_field_offset(struct epitem___epoll, rdllink);
	ready = (__u64)BPF_CORE_READ(item, ffd.file);
	if (!ready)
		return 0;
	slot = ready_slot(task, ready);
	if (!slot)
		return 0;
	object_look_at(&slot->seen, ready, BPF_CORE_READ(item, ffd.fd));
	return object_number_of(&slot->seen, task);
}

#endif
