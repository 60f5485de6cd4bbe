/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTOCOL_PROTOCOLS_H
#define PROTOCOL_PROTOCOLS_H

/* The protocols, one file each. */
#include "protocol/protocol.h"

/* All there are, null-terminated. */
extern const struct protocol *const protocol_types[];

extern const struct protocol protocol_http1;
extern const struct protocol protocol_http2;
/*
 * The state of a connection that began with HTTP/1: the answer to what was asked there comes in
 * that stream (RFC 7540, 3.2). Null: no memory.
 */
#define HTTP2_UPGRADED 1
void *http2_of_upgrade(void);

extern const struct protocol protocol_fastcgi;
extern const struct protocol protocol_mysql;
extern const struct protocol protocol_redis;
extern const struct protocol protocol_postgresql;

#endif
