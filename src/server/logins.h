/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_LOGINS_H
#define SERVER_LOGINS_H

#include <stdbool.h>
#include <stdint.h>

#include "server/peer.h"

/*
 * Requests that were refused for what they showed of who sent them: said in the log, once a minute
 * for an address and a few times a minute in all, with how many there were. May be used from any
 * thread.
 */
struct logins;

struct logins *logins_new(void);	 /* null: no memory */
void logins_free(struct logins *logins); /* null is allowed */

/*
 * One was refused, in these words. Whether that is to be said, and then in *count how many from
 * that address since it was said last, with this one. now: ns of a clock that only rises.
 */
bool logins_failed(struct logins *logins, struct peer peer, uint64_t now, uint64_t *count);

#endif
