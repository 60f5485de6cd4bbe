/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_LANE_LIST_H
#define SERVER_LANE_LIST_H

#include "query/lanes.h"
#include "server/route.h"

/* Runs and lines are asked for of this many lanes at once. */
#define LANE_LIST_MAX 256

/*
 * Parses the parameter lanes, "PID.TID,PID.TID…": *of is to be freed, also after a failure; null:
 * nothing is given, which means all. Returns 0 or -EINVAL or -ENOMEM with *why filled.
 */
int parse_lane_list(const struct http_request *request, struct lane_id **of, size_t *count,
		    struct fail *why);

#endif
