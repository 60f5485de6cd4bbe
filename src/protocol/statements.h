/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTOCOL_STATEMENTS_H
#define PROTOCOL_STATEMENTS_H

#include <stdint.h>

#include "base/vec.h"
#include "protocol/protocol.h"

/* Statements that a connection has prepared, by a number, or by the hash of a name. Bounded. */
struct statement {
	uint64_t name;
	char sql[PROTOCOL_ENDPOINT_MAX];
};

struct statements {
	vec(struct statement) all;
};

/* In place of what had that name; if there are too many, in place of another one. */
void statements_keep(struct statements *statements, uint64_t name, const char *sql);
void statements_forget(struct statements *statements, uint64_t name);

/* "<statement from before>" if it is not known. */
const char *statements_find(const struct statements *statements, uint64_t name);

void statements_free(struct statements *statements);

#endif
