/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_ACCEPT_QUEUES_H
#define HOST_ACCEPT_QUEUES_H

#include <stdint.h>

#include "base/fail.h"
#include "sources/happening.h"
#include "process/select.h"

/*
 * Accept queues of TCP that stay full: the kernel drops connections that clients make meanwhile.
 * The sockets are those of our network namespace; the kernel lists them (sock_diag(7)).
 */
struct accept_queues;

/*
 * programs: whose queues count, borrowed. full: ns that a queue is to be full for. *result is null
 * after an error.
 */
int accept_queues_new(const struct selection *programs, uint64_t full,
		      struct accept_queues **result, struct fail *why);

/*
 * Looks at all queues, and tells of each that was full at every look for that long, once until it
 * is no longer full. now: ns of the monotonic clock.
 */
int accept_queues_look(struct accept_queues *queues, uint64_t now,
		       const struct happening_listener *listener, struct fail *why);

/* Takes null, too. */
void accept_queues_free(struct accept_queues *queues);

#endif
