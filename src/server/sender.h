/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_SENDER_H
#define SERVER_SENDER_H

#include "server/route.h"

/*
 * As store_add_film(), of what a request sent, if its token may send films of that machine:
 *
 * - a token that is bound to a machine sends films of that one, and of no other;
 * - films of the machine that is filmed here come from its recorder, unless a token is bound to it;
 * - a machine belongs to the token that sent its first film, as long as the server has that token:
 *   so no other sender adds to what it is said to have done, or uses up its part of the store.
 *
 * sender->owner is filled here. -EPERM: it may not.
 */
int sender_add_film(const struct http_request *request, const char *path,
		    struct store_sender *sender, bool *again, struct fail *why);

#endif
