/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_TCP_LIST_H
#define PROCESS_TCP_LIST_H

#include <linux/inet_diag.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

/* The sockets of TCP of this network namespace, as sock_diag(7) lists them, of versions 4 and 6. */
struct tcp_list;

/* Returns 0, or a negative errno with *why filled, which begins with the caller's words. */
int tcp_list_open(const char *what, struct tcp_list **list, struct fail *why);
void tcp_list_close(struct tcp_list *list); /* null is allowed */

/*
 * Calls emit() with each socket in one of the states (bits, 1 << TCP_LISTEN), and, where they are
 * wanted, its figures; tcp is null where the kernel says none. A value of emit() other than 0 ends
 * the list and is returned. Returns 0 or a negative errno.
 */
int tcp_list_each(struct tcp_list *list, uint32_t states, bool wants_figures,
		  int (*emit)(void *context, const struct inet_diag_msg *socket,
			      const struct tcp_info *tcp),
		  void *context);

#endif
