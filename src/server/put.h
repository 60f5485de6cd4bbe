/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_PUT_H
#define SERVER_PUT_H

#include "base/json.h"
#include "query/flame.h"
#include "query/functions.h"
#include "query/request_sums.h"
#include "store/ask.h"

/* What several answers of the API have in common, as doc/openapi.json describes it. */

/* A time, ns since 1970, in seconds. */
void put_time(struct json *j, const char *key, uint64_t time);

void put_sum(struct json *j, const char *key, const struct store_sum *sum);

/* The members count, failed, open, total, p50, p90, p99, longest. */
void put_request_figures(struct json *j, const struct request_figures *figures);

/* The members labels, nodes, hidden of an object: at most that many nodes. Returns 0 or -ENOMEM. */
int put_flame(struct json *j, const struct flame *flame, uint32_t most);

/*
 * The member functions: at most that many, the first in that order. *others: the self of the rest.
 * Returns 0 or -ENOMEM.
 */
int put_functions(struct json *j, const struct functions *functions, enum function_order order,
		  size_t limit, bool is_diff, uint64_t *others);

#endif
