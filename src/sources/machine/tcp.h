/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MACHINE_TCP_H
#define SOURCES_MACHINE_TCP_H

#include "base/vec.h"
#include "sources/machine/read.h"
#include "process/tcp_list.h"

/* Round-trip times of the machine's connections to others, as the kernel has measured them. */
struct machine_tcp {
	struct tcp_list *list;
	vec(uint32_t) times; /* us, of one reading */
	uint64_t left_out;   /* connections that there was no room for, in all readings */
};

/* Gives the gauge of all of them. 0 or a negative errno. */
int machine_tcp_read(struct machine_tcp *tcp, const struct machine_to *to);
void machine_tcp_free(struct machine_tcp *tcp);

#endif
