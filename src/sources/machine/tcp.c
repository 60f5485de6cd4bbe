// SPDX-License-Identifier: Apache-2.0
#include "sources/machine/tcp.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define CONNECTIONS_MAX 65536
#define MICROSECOND_NS	1000u

/* Within the machine: such a connection says nothing of a network. */
static bool is_local(const struct inet_diag_msg *socket)
{
	static const uint8_t mapped[12] = {[10] = 0xff, 0xff};
	static const uint8_t own[16] = {[15] = 1};
	const uint8_t *peer = (const uint8_t *)socket->id.idiag_dst;

	if (!memcmp(socket->id.idiag_src, socket->id.idiag_dst, sizeof(socket->id.idiag_dst)))
		return true;
	if (socket->idiag_family == AF_INET)
		return peer[0] == 127;
	return !memcmp(peer, own, sizeof(own)) ||
	       (!memcmp(peer, mapped, sizeof(mapped)) && peer[12] == 127);
}

static int add_socket(void *context, const struct inet_diag_msg *socket, const struct tcp_info *tcp)
{
	struct machine_tcp *own = context;

	if (!tcp || !tcp->tcpi_rtt || is_local(socket))
		return 0;
	if (own->times.count >= CONNECTIONS_MAX || !vec_push(&own->times, tcp->tcpi_rtt))
		own->left_out++;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int machine_tcp_read(struct machine_tcp *tcp, const struct machine_to *to)
{
	struct machine_value value = {.kind = FILM_GAUGE_NET_RTT, .object = ""};
	struct fail ignored;
	int err = 0;

	tcp->times.count = 0;
	if (!tcp->list)
		err = tcp_list_open("cannot list connections", &tcp->list, &ignored);
	if (!err)
		err = tcp_list_each(tcp->list, 1u << TCP_ESTABLISHED, true, add_socket, tcp);
	if (err)
		return err;
	value.count = tcp->times.count;
	if (value.count) {
		qsort(tcp->times.at, tcp->times.count, sizeof(*tcp->times.at), compare);
		value.value = (uint64_t)tcp->times.at[value.count / 2] * MICROSECOND_NS;
		value.longest = (uint64_t)*vec_last(&tcp->times) * MICROSECOND_NS;
	}
	to->emit(to->context, &value);
	return 0;
}

void machine_tcp_free(struct machine_tcp *tcp)
{
	tcp_list_close(tcp->list);
	tcp->list = NULL;
	vec_free(&tcp->times);
}
