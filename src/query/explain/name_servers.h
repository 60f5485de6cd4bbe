/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_NAME_SERVERS_H
#define QUERY_EXPLAIN_NAME_SERVERS_H

#include "query/histories.h"

/*
 * A resolver asks a name server and polls that one connection: to the kernel that looks like a wait
 * for new work. Port 53 at its other end says what it is.
 */

/* Marks waits for answers of name servers: HISTORY_NAMES. */
void explain_name_servers_mark(struct histories *histories);

/*
 * The other end of a connection to a name server, "127.0.0.53:53", in the name of an object, as
 * long as that; null: it is none.
 */
const char *explain_name_server(const char *object);

#endif
