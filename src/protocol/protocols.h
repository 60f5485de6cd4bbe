/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTOCOL_PROTOCOLS_H
#define PROTOCOL_PROTOCOLS_H

/* The protocols, one file each. */
#include "protocol/protocol.h"

extern const struct protocol protocol_http1;
extern const struct protocol protocol_http2;
extern const struct protocol protocol_mysql;
extern const struct protocol protocol_redis;
extern const struct protocol protocol_postgresql;

#endif
