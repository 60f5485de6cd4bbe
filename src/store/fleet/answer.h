/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_FLEET_ANSWER_H
#define STORE_FLEET_ANSWER_H

#include "store/fleet/fleet.h"
#include "store/sums.h"

/* Answers from ClickHouse, over all collectors. Each view is a connection of its own. */
extern const struct sums_verbs fleet_sums;

/*
 * Whether ClickHouse answers: lists and totals over time of an hour or more; stacks of whole hours,
 * over all hosts of a service or of all. exact: no hour around the time may be counted with it;
 * else the time of a long question is widened to whole hours.
 */
bool fleet_answers(const struct asked *asked, enum sums_what what, bool exact);

#endif
