/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_QUOTA_H
#define SERVER_QUOTA_H

#include <stdint.h>

/*
 * How much each sender may send, and ask: questions in a minute, and bytes and films in an hour. A
 * sender that was quiet may send an hour's worth at once, as an agent does whose server was away.
 * May be used from any thread.
 */
struct quota;

struct quota_limits {
	uint64_t bytes, films; /* in an hour; 0: no limit */
};

struct quota *quota_new(const struct quota_limits *limits); /* null: no memory */
void quota_free(struct quota *quota);			    /* null is allowed */

void quota_configure(struct quota *quota, const struct quota_limits *limits);

/*
 * 0: the sender may send; else how long it has to wait, in ns. now: ns of a clock that only rises.
 */
uint64_t quota_wait(struct quota *quota, uint64_t sender, uint64_t now);

/*
 * 0: a token may ask, and has asked now; else how long it has to wait, in ns. a_minute: the
 * questions that it may ask in a minute, at least 1, all at once if it was quiet.
 */
uint64_t quota_ask(struct quota *quota, uint64_t sender, uint32_t a_minute, uint64_t now);

/* What it sent, which may be more than was left: then it waits the longer. */
void quota_charge(struct quota *quota, uint64_t sender, uint64_t bytes, uint64_t now);

#endif
