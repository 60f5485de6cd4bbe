// SPDX-License-Identifier: Apache-2.0
#include "process/tcp_list.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
	ANSWER_BYTES = 32 << 10,
	ANSWER_SECONDS = 2,
};

struct tcp_list {
	int fd;
	uint32_t number; /* of the question: an answer to an earlier one may still come */
	_Alignas(struct nlmsghdr) uint8_t answer[ANSWER_BYTES];
};

int tcp_list_open(const char *what, struct tcp_list **result, struct fail *why)
{
	struct tcp_list *list = calloc(1, sizeof(*list));
	const struct timeval patience = {.tv_sec = ANSWER_SECONDS};

	*result = NULL;
	if (!list)
		return fail_errno(why, -ENOMEM, NULL, "%s", what);
	list->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (list->fd < 0 ||
	    setsockopt(list->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience))) {
		int err = -errno;

		tcp_list_close(list);
		return fail_errno(why, err, NULL, "%s", what);
	}
	*result = list;
	return 0;
}

void tcp_list_close(struct tcp_list *list)
{
	if (!list)
		return;
	if (list->fd >= 0)
		close(list->fd);
	free(list);
}

struct listener {
	int (*emit)(void *context, const struct inet_diag_msg *socket, const struct tcp_info *tcp);
	void *context;
};

/* The figures of a socket, as many as this kernel has; the others are 0. False: there are none. */
static bool figures_of(const struct nlmsghdr *message, struct tcp_info *tcp)
{
	const struct inet_diag_msg *socket = NLMSG_DATA(message);
	const struct rtattr *attribute = (const struct rtattr *)(socket + 1);
	size_t left = message->nlmsg_len - NLMSG_LENGTH(sizeof(*socket));

	memset(tcp, 0, sizeof(*tcp));
	for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
		size_t size = RTA_PAYLOAD(attribute);

		if (attribute->rta_type != INET_DIAG_INFO)
			continue;
		memcpy(tcp, RTA_DATA(attribute), size < sizeof(*tcp) ? size : sizeof(*tcp));
		return true;
	}
	return false;
}

static int read_error(const struct nlmsghdr *message)
{
	const struct nlmsgerr *error = NLMSG_DATA(message);

	return message->nlmsg_len >= NLMSG_LENGTH(sizeof(*error)) && error->error ? error->error
										  : -EPROTO;
}

/* *more: another answer is to come. Returns 0, what emit() did, or a negative errno. */
static int read_answer(struct tcp_list *list, size_t length, const struct listener *to, bool *more)
{
	const struct nlmsghdr *message = (const struct nlmsghdr *)list->answer;
	struct tcp_info tcp;
	int err = 0;

	for (; !err && NLMSG_OK(message, length); message = NLMSG_NEXT(message, length)) {
		if (message->nlmsg_seq != list->number)
			continue;
		if (message->nlmsg_type == NLMSG_DONE) {
			*more = false;
			return 0;
		}
		if (message->nlmsg_type == NLMSG_ERROR)
			return read_error(message);
		if (message->nlmsg_type == SOCK_DIAG_BY_FAMILY &&
		    message->nlmsg_len >= NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
			err = to->emit(to->context, NLMSG_DATA(message),
				       figures_of(message, &tcp) ? &tcp : NULL);
	}
	return err;
}

static int list_family(struct tcp_list *list, uint8_t family, uint32_t states, bool wants_figures,
		       const struct listener *to)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 question;
	} request = {
		.head = {.nlmsg_len = sizeof(request),
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
			 .nlmsg_seq = ++list->number},
		.question = {.sdiag_family = family,
			     .sdiag_protocol = IPPROTO_TCP,
			     .idiag_ext = wants_figures ? 1u << (INET_DIAG_INFO - 1) : 0,
			     .idiag_states = states},
	};
	bool more = true;
	int err = 0;

	if (send(list->fd, &request, sizeof(request), 0) < 0)
		return -errno;
	while (!err && more) {
		ssize_t length = recv(list->fd, list->answer, sizeof(list->answer), 0);

		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0)
			return -errno;
		err = read_answer(list, (size_t)length, to, &more);
	}
	return err;
}

int tcp_list_each(struct tcp_list *list, uint32_t states, bool wants_figures,
		  int (*emit)(void *context, const struct inet_diag_msg *socket,
			      const struct tcp_info *tcp),
		  void *context)
{
	static const uint8_t families[] = {AF_INET, AF_INET6};
	const struct listener to = {emit, context};

	for (size_t i = 0; i < sizeof(families); i++) {
		int err = list_family(list, families[i], states, wants_figures, &to);

		/* a kernel without version 6 */
		if (err && (err != -ENOENT || families[i] == AF_INET))
			return err;
	}
	return 0;
}
