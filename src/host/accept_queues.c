// SPDX-License-Identifier: Apache-2.0
#include "host/accept_queues.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "host/say.h"
#include "process/procfs.h"
#include "process/tcp_list.h"

enum {
	QUEUES_MAX = 64, /* that are full at the same time; the look leaves out more */
};

struct queue {
	uint32_t inode;
	uint64_t since; /* ns: the first look at which it was full */
	bool is_seen, is_told;
	struct inet_diag_msg last;
};

struct accept_queues {
	const struct selection *programs;
	uint64_t full;
	struct tcp_list *sockets;
	uint64_t now; /* of this look */
	struct queue queues[QUEUES_MAX];
	size_t count;
	size_t left_out; /* at this look */
	bool said_left_out;
};

int accept_queues_new(const struct selection *programs, uint64_t full,
		      struct accept_queues **result, struct fail *why)
{
	struct accept_queues *queues = calloc(1, sizeof(*queues));
	int err;

	*result = NULL;
	if (!queues)
		return fail_errno(why, -ENOMEM, NULL, "cannot look at accept queues");
	queues->programs = programs;
	queues->full = full;
	err = tcp_list_open("cannot look at accept queues", &queues->sockets, why);
	if (err) {
		accept_queues_free(queues);
		return err;
	}
	*result = queues;
	return 0;
}

void accept_queues_free(struct accept_queues *queues)
{
	if (!queues)
		return;
	tcp_list_close(queues->sockets);
	free(queues);
}

/* A listening socket: what its queue has is in rqueue, and what it takes in wqueue. */
static int check_socket(void *context, const struct inet_diag_msg *socket,
			const struct tcp_info *tcp)
{
	struct accept_queues *queues = context;
	struct queue *queue = queues->queues;
	const struct queue *end = queue + queues->count;

	(void)tcp;
	/* the kernel takes one more than the program's backlog, and drops the next one */
	if (socket->idiag_rqueue <= socket->idiag_wqueue)
		return 0;
	while (queue < end && queue->inode != socket->idiag_inode)
		queue++;
	if (queue == end) {
		if (queues->count == QUEUES_MAX) {
			queues->left_out++;
			return 0;
		}
		queues->count++;
		*queue = (struct queue){.inode = socket->idiag_inode, .since = queues->now};
	}
	queue->is_seen = true;
	queue->last = *socket;
	return 0;
}

/* Which process has a socket */

struct search {
	const struct selection *programs;
	char link[32]; /* of the socket: "socket:[123]" */
	pid_t pid, found;
};

static void try_descriptor(void *context, pid_t number)
{
	struct search *search = context;
	char name[32], link[64];

	if (search->found)
		return;
	snprintf(name, sizeof(name), "fd/%d", (int)number);
	if (procfs_link(search->pid, name, link, sizeof(link)) && !strcmp(link, search->link))
		search->found = search->pid;
}

static void try_process(void *context, pid_t pid)
{
	struct search *search = context;
	char path[32];

	if (search->found || !selection_means(search->programs, pid))
		return;
	search->pid = pid;
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	/* a process that is gone has no socket any more */
	(void)!procfs_each_number(path, try_descriptor, search);
}

/* 0: no process that is filmed. */
static pid_t find_owner(const struct accept_queues *queues, uint32_t inode)
{
	struct search search = {.programs = queues->programs};

	snprintf(search.link, sizeof(search.link), "socket:[%" PRIu32 "]", inode);
	(void)!procfs_each_number("/proc", try_process, &search);
	return search.found;
}

/* "127.0.0.1:80", "[::]:80" */
static void put_address(const struct inet_diag_msg *socket, char *to, size_t size)
{
	char host[INET6_ADDRSTRLEN] = "?";
	bool is_v6 = socket->idiag_family == AF_INET6;

	inet_ntop(is_v6 ? AF_INET6 : AF_INET, socket->id.idiag_src, host, sizeof(host));
	snprintf(to, size, is_v6 ? "[%s]:%u" : "%s:%u", host, ntohs(socket->id.idiag_sport));
}

static void notify_listener(const struct accept_queues *queues, const struct queue *queue,
			    uint64_t now, const struct happening_listener *listener)
{
	struct happening happening = {
		.kind = HAPPENING_QUEUE,
		.time = now,
		.pid = find_owner(queues, queue->inode),
		.waited = now - queue->since,
		.queued = queue->last.idiag_rqueue,
		.backlog = queue->last.idiag_wqueue,
	};
	struct procfs_stat stat;

	if (!happening.pid || !procfs_read_stat(happening.pid, "stat", &stat))
		return;
	happening.tid = happening.pid;
	snprintf(happening.process, sizeof(happening.process), "%s", stat.comm);
	put_address(&queue->last, happening.address_text, sizeof(happening.address_text));
	listener->happened(listener->context, &happening);
}

int accept_queues_look(struct accept_queues *queues, uint64_t now,
		       const struct happening_listener *listener, struct fail *why)
{
	size_t left = 0;
	int err;

	queues->left_out = 0;
	for (size_t i = 0; i < queues->count; i++)
		queues->queues[i].is_seen = false;
	queues->now = now;
	err = tcp_list_each(queues->sockets, 1u << TCP_LISTEN, false, check_socket, queues);
	if (err)
		return fail_errno(why, err, NULL, "cannot look at accept queues");
	if (queues->left_out && !queues->said_left_out)
		host_say("%zu accept queues are full: watches only %d of them",
			 queues->count + queues->left_out, QUEUES_MAX);
	queues->said_left_out = queues->left_out;
	for (size_t i = 0; i < queues->count; i++) {
		struct queue *queue = &queues->queues[i];

		if (!queue->is_seen)
			continue;
		if (!queue->is_told && now - queue->since >= queues->full) {
			queue->is_told = true;
			notify_listener(queues, queue, now, listener);
		}
		queues->queues[left++] = *queue;
	}
	queues->count = left;
	return 0;
}
