// SPDX-License-Identifier: Apache-2.0
#include "host/accept_queues.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "host/say.h"
#include "process/procfs.h"

enum {
	QUEUES_MAX = 64, /* that are full at the same time; the look leaves out more */
	ANSWER_BYTES = 32 << 10,
	ANSWER_SECONDS = 2,
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
	int fd;
	struct queue queues[QUEUES_MAX];
	size_t count;
	size_t left_out; /* at this look */
	bool said_left_out;
};

int accept_queues_new(const struct selection *programs, uint64_t full,
		      struct accept_queues **result, struct fail *why)
{
	struct accept_queues *queues = calloc(1, sizeof(*queues));
	const struct timeval patience = {.tv_sec = ANSWER_SECONDS};

	*result = NULL;
	if (!queues)
		return fail_errno(why, -ENOMEM, NULL, "cannot look at accept queues");
	queues->programs = programs;
	queues->full = full;
	queues->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (queues->fd < 0 ||
	    setsockopt(queues->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience))) {
		int err = -errno;

		accept_queues_free(queues);
		return fail_errno(why, err, NULL, "cannot look at accept queues");
	}
	*result = queues;
	return 0;
}

void accept_queues_free(struct accept_queues *queues)
{
	if (!queues)
		return;
	if (queues->fd >= 0)
		close(queues->fd);
	free(queues);
}

/* A listening socket: what its queue has is in rqueue, and what it takes in wqueue. */
static void take_socket(struct accept_queues *queues, const struct inet_diag_msg *socket,
			uint64_t now)
{
	struct queue *queue = queues->queues;
	const struct queue *end = queue + queues->count;

	/* the kernel takes one more than the program's backlog, and drops the next one */
	if (socket->idiag_rqueue <= socket->idiag_wqueue)
		return;
	while (queue < end && queue->inode != socket->idiag_inode)
		queue++;
	if (queue == end) {
		if (queues->count == QUEUES_MAX) {
			queues->left_out++;
			return;
		}
		queues->count++;
		*queue = (struct queue){.inode = socket->idiag_inode, .since = now};
	}
	queue->is_seen = true;
	queue->last = *socket;
}

/* Returns 1: more is to come; 0: that was the end; or a negative errno. */
static int take_answer(struct accept_queues *queues, const struct nlmsghdr *message, size_t length,
		       uint64_t now)
{
	for (; NLMSG_OK(message, length); message = NLMSG_NEXT(message, length)) {
		if (message->nlmsg_type == NLMSG_DONE)
			return 0;
		if (message->nlmsg_type == NLMSG_ERROR) {
			const struct nlmsgerr *error = NLMSG_DATA(message);

			return message->nlmsg_len >= NLMSG_LENGTH(sizeof(*error)) && error->error
				       ? error->error
				       : -EPROTO;
		}
		if (message->nlmsg_type == SOCK_DIAG_BY_FAMILY &&
		    message->nlmsg_len >= NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
			take_socket(queues, NLMSG_DATA(message), now);
	}
	return 1;
}

static int list(struct accept_queues *queues, uint8_t family, uint64_t now)
{
	_Alignas(struct nlmsghdr) uint8_t answer[ANSWER_BYTES];
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 question;
	} request = {
		.head = {.nlmsg_len = sizeof(request),
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.question = {.sdiag_family = family,
			     .sdiag_protocol = IPPROTO_TCP,
			     .idiag_states = 1u << TCP_LISTEN},
	};
	int more = 1;

	if (send(queues->fd, &request, sizeof(request), 0) < 0)
		return -errno;
	while (more > 0) {
		ssize_t length = recv(queues->fd, answer, sizeof(answer), 0);

		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0)
			return -errno;
		more = take_answer(queues, (const struct nlmsghdr *)answer, (size_t)length, now);
	}
	return more;
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

	if (search->found || !selection_wants(search->programs, pid))
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

static void tell(const struct accept_queues *queues, const struct queue *queue, uint64_t now,
		 const struct happening_listener *listener)
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
	static const uint8_t families[] = {AF_INET, AF_INET6};
	size_t left = 0;

	queues->left_out = 0;
	for (size_t i = 0; i < queues->count; i++)
		queues->queues[i].is_seen = false;
	for (size_t i = 0; i < sizeof(families); i++) {
		int err = list(queues, families[i], now);

		/* a kernel without version 6 */
		if (err && (err != -ENOENT || families[i] == AF_INET))
			return fail_errno(why, err, NULL, "cannot look at accept queues");
	}
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
			tell(queues, queue, now, listener);
		}
		queues->queues[left++] = *queue;
	}
	queues->count = left;
	return 0;
}
